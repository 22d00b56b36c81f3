/// A promise that the simulation can break on purpose, on the disk or on the way between client and server: proof that its
/// validators see it.
package enum BrokenPromise: String, CaseIterable, Sendable {
    /// A sync of the journal returns before anything is on the disk.
    case acknowledgesBeforeSync
    /// Pushes and reads leave before the sync; answers to writes wait for it.
    case publishesBeforeDurable
    /// A page of changes leaves out a deletion.
    case skipsTombstones
    /// A save is done whatever tag it carries.
    case ignoresTags
    /// "Fetch from your token" does not arrive.
    case dropsEventsOnOverflow
    /// An operation that comes a second time is taken for a new one.
    case forgetsOperationIDs
    /// A start takes the last whole batch of the journal for torn.
    case cutsGoodTails
    /// Names are never synced.
    case skipsDirectorySync
}

/// What a seed means, spelled out.
package struct SimulationOptions: Sendable, CustomStringConvertible {
    package var seed: UInt64
    package var brokenPromise: BrokenPromise?
    package var accounts: Int
    package var devicesPerAccount: Int
    /// Virtual time in which clients work and things go wrong.
    package var activeSeconds: UInt64
    /// Average pause of a device between two operations.
    package var thinkMilliseconds: UInt64
    package var loops: Int
    package var segmentBytes: Int
    package var backlogEvents: Int
    /// Average time between crashes; 0: none.
    package var crashSeconds: UInt64
    /// Average time between snapshots that are asked for.
    package var snapshotSeconds: UInt64
    /// Segments that the journal may have before snapshots come by themselves.
    package var journalSegments: Int
    /// 0: no bound on the databases in memory.
    package var memoryBudgetBytes: Int
    package var syncMicrosecondsMax: UInt64
    /// One sync in this many takes seconds.
    package var slowSyncOneIn: Int
    package var latencyMicrosecondsMax: UInt64
    /// One connection in this many is cut behind some bytes; 0: none.
    package var cutOneIn: Int
    /// One connection in this many falls silent without an end; 0: none.
    package var blackHoleOneIn: Int
    /// One delivery in this many stalls for seconds.
    package var stallOneIn: Int

    package init(seed: UInt64, brokenPromise: BrokenPromise? = nil) {
        self.seed = seed
        self.brokenPromise = brokenPromise
        var generator = SeededGenerator(seed: seed ^ 0x5EED)
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
        accounts = number(1...2)
        devicesPerAccount = number(2...3)
        activeSeconds = UInt64(number(15...40))
        thinkMilliseconds = UInt64(number(50...400))
        loops = number(1...3)
        segmentBytes = [2_048, 8_192, 65_536][number(0...2)]
        backlogEvents = [2, 6, 30, 1_024][number(0...3)]
        crashSeconds = UInt64([2, 4, 8, 15][number(0...3)])
        snapshotSeconds = UInt64(number(1...6))
        syncMicrosecondsMax = UInt64([200, 5_000, 50_000][number(0...2)])
        slowSyncOneIn = [20, 200, 100_000][number(0...2)]
        latencyMicrosecondsMax = UInt64([100, 5_000, 60_000][number(0...2)])
        cutOneIn = [2, 4, 20][number(0...2)]
        blackHoleOneIn = [4, 15, 60][number(0...2)]
        journalSegments = number(2...8)
        memoryBudgetBytes = [0, 1, 20_000][number(0...2)]
        stallOneIn = [40, 400, 10_000][number(0...2)]
    }

    package var description: String {
        "seed=\(seed) promise=\(brokenPromise?.rawValue ?? "kept") accounts=\(accounts) devices=\(devicesPerAccount) "
            + "active=\(activeSeconds)s think=\(thinkMilliseconds)ms loops=\(loops) segment=\(segmentBytes)B "
            + "backlog=\(backlogEvents) crash=\(crashSeconds)s snapshot=\(snapshotSeconds)s journal=\(journalSegments) memory=\(memoryBudgetBytes)B "
            + "sync<=\(syncMicrosecondsMax)us slow=1/\(slowSyncOneIn) latency<=\(latencyMicrosecondsMax)us "
            + "cut=1/\(cutOneIn) blackhole=1/\(blackHoleOneIn) stall=1/\(stallOneIn)"
    }
}
