internal import BrumeRandom
internal import BrumeStore

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
    /// Average time between crashes; 0 for none.
    package var crashSeconds: UInt64
    /// Average time between snapshots that are asked for.
    package var snapshotSeconds: UInt64
    /// Segments that the journal may have before snapshots come by themselves.
    package var journalSegments: Int
    /// The budget for databases in memory; 0 for no bound.
    package var memoryBudgetBytes: Int
    package var syncMicrosecondsMax: UInt64
    /// One sync in this many takes seconds.
    package var slowSyncOneIn: Int
    package var latencyMicrosecondsMax: UInt64
    /// One connection in this many is cut after some bytes; 0 for none.
    package var cutOneIn: Int
    /// One connection in this many falls silent without an end; 0 for none.
    package var blackHoleOneIn: Int
    /// One delivery in this many stalls for seconds.
    package var stallOneIn: Int
    /// Snapshots up to this size are loaded on the loop.
    package var shortLoadBytes: Int
    /// The loader begins within this time.
    package var loadMillisecondsMax: UInt64
    /// Once in this many times the loader reads a damaged file; 0 for never.
    package var damagedLoadOneIn: Int
    /// Calls that may wait for one load.
    package var callsPerLoad: Int
    /// Once in this many times the disk gives the loader nothing; 0 for never.
    package var failedLoadOneIn: Int
    /// The number of records from which on a zone has indexes.
    package var indexedZoneMinimum: Int
    /// Whether accounts share zones as a whole more often than all else.
    package var sharesMuch: Bool
    /// Whether these then mostly share single records instead.
    package var sharesRecords: Bool
    /// Whether these mostly deal with the keys of what is shared.
    package var sharesKeys: Bool
    /// The records below a new root from which on its tree is made ready before its request is decided, and how many
    /// of them one turn looks at.
    package var sharedRecordsAtOnce: Int
    package var treeUnitsPerTurn: Int
    /// Custom zones that devices use.
    package var zones: Int
    /// Zones in one request, at most.
    package var zonesPerRequest: Int
    /// How much of its past a database keeps: deleted records of a zone, deleted zones, runs of the server; 0 for the
    /// standard.
    package var tombstones: Int
    /// The deleted records that all zones of a database keep together.
    package var allTombstones: Int
    package var deletedZones: Int
    package var runs: Int
    /// One start in this many finds a flipped bit; 0 for none.
    package var flipOneIn: Int
    /// Average time between stretches with a full disk; 0 for none.
    package var fullDiskSeconds: UInt64
    /// Average time between backups; 0 for none.
    package var backupSeconds: UInt64
    /// One crash in this many ends with the restore of a backup.
    package var restoreOneIn: Int
    /// Average time between revocations of an account's tokens; 0 for none.
    package var revocationSeconds: UInt64
    /// Bytes of an account's changes that may wait for the disk before nothing more of it begins.
    package var undurableBytes: Int
    /// Events that a loop makes in one turn, and those of a database that may wait to be made.
    package var eventsPerTurn: Int
    package var waitingEvents: Int
    /// Whether a loop tells one user's devices, and sends on one stream, in each turn.
    package var tellsOneByOne: Bool
    /// Assets that nothing needs of which a loop remembers since when, of databases that are not in memory.
    package var departedBlobs: Int
    /// The same of one database, which stays in memory with more.
    package var departedBlobsPerDatabase: Int

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
        shortLoadBytes = [0, 600, 65_536][number(0...2)]
        loadMillisecondsMax = UInt64([1, 50, 2_000][number(0...2)])
        damagedLoadOneIn = [0, 10, 100][number(0...2)]
        zones = number(2...4)
        zonesPerRequest = number(1...3)
        let isForgetful = number(0...1) == 0 || brokenPromise == .keepsAllHistory
        tombstones = isForgetful ? number(2...5) : 0
        deletedZones = isForgetful ? 2 : 0
        runs = isForgetful ? [1, 2, 4][number(0...2)] : 0
        flipOneIn = [0, 1, 3][number(0...2)]
        fullDiskSeconds = UInt64([0, 5, 12][number(0...2)])
        backupSeconds = UInt64([0, 4, 10][number(0...2)])
        restoreOneIn = number(2...4)
        revocationSeconds = UInt64([0, 8, 20][number(0...2)])
        indexedZoneMinimum = [1, 4, 256][number(0...2)]
        callsPerLoad = [1, 4, 1_024][number(0...2)]
        failedLoadOneIn = [0, 4, 20][number(0...2)]
        allTombstones = tombstones + number(0...6)
        undurableBytes = [1, 1_000, 1024 * 1024][number(0...2)]
        eventsPerTurn = [1, 4, 1_024][number(0...2)]
        waitingEvents = [1, 6, 65_536][number(0...2)]
        tellsOneByOne = number(0...1) == 0
        departedBlobs = [0, 2, 262_144][number(0...2)]
        departedBlobsPerDatabase = [1, 4, 4_096][number(0...2)]
        sharesMuch = brokenPromise == nil && number(0...2) == 0
        sharesRecords = sharesMuch && number(0...1) == 0
        if sharesMuch { accounts = number(2...3) }
        // Few zones, so that much stands below what is shared.
        if sharesRecords { (zones, zonesPerRequest) = (number(1...2), 1) }
        sharedRecordsAtOnce = sharesRecords ? [0, 1, 1_000][number(0...2)] : 1_000
        treeUnitsPerTurn = sharesRecords ? [1, 3, 4_000][number(0...2)] : 4_000
        sharesKeys = sharesMuch && number(0...1) == 0
        // Much has to happen to one ring before somebody who was taken in is dropped.
        if sharesKeys { (zones, zonesPerRequest, thinkMilliseconds) = (1, 1, UInt64(number(30...100))) }
        if let brokenPromise { show(brokenPromise) }
    }

    /// Makes sure that a promise that is broken is put to the test.
    private mutating func show(_ promise: BrokenPromise) {
        flipOneIn = promise == .repairsByCutting ? 1 : 0
        switch promise {
        case .expiresGoodTokens: (tombstones, deletedZones, runs) = (0, 0, 0)
        case .swallowsFullDisk, .hidesRetryTime: (fullDiskSeconds, segmentBytes) = (4, 2_048)
        case .reusesRuns, .backsUpOldSnapshots: (backupSeconds, restoreOneIn, tombstones) = (4, 2, 0)
        case .keepsRevokedSessions, .actsWithoutNote: revocationSeconds = 6
        case .mixesReads: zonesPerRequest = 3
        case .showsOthersMatches: accounts = 2
        case .keepsAllEvents: backlogEvents = 2
        case .ignoresMembers, .takesForeignStatements, .takesAnyProof, .takesOldKeys, .takesReadersEntries,
            .takesZoneKeys, .hidesGuests, .hidesMisplaced, .forgetsGuests:
            let isOfTrees = promise == .takesZoneKeys || seed.isMultiple(of: 2)
            (sharesMuch, sharesKeys, sharesRecords) = (true, true, isOfTrees)
            (accounts, zones, zonesPerRequest, thinkMilliseconds) = (3, 1, 1, 60)
        default: break
        }
    }

    package var description: String {
        "seed=\(seed) promise=\(brokenPromise?.rawValue ?? "kept") accounts=\(accounts) devices=\(devicesPerAccount) "
            + "active=\(activeSeconds)s think=\(thinkMilliseconds)ms loops=\(loops) segment=\(segmentBytes)B "
            + "backlog=\(backlogEvents) crash=\(crashSeconds)s snapshot=\(snapshotSeconds)s journal=\(journalSegments) memory=\(memoryBudgetBytes)B "
            + "sync<=\(syncMicrosecondsMax)us slow=1/\(slowSyncOneIn) latency<=\(latencyMicrosecondsMax)us "
            + "cut=1/\(cutOneIn) blackhole=1/\(blackHoleOneIn) stall=1/\(stallOneIn) "
            + "shortload=\(shortLoadBytes)B load<=\(loadMillisecondsMax)ms damagedload=1/\(damagedLoadOneIn) "
            + "failedload=1/\(failedLoadOneIn) waiting=\(callsPerLoad) "
            + "zones=\(zones) together=\(zonesPerRequest) history=\(tombstones)/\(allTombstones)/\(deletedZones)/\(runs) flip=1/\(flipOneIn) "
            + "indexes=\(indexedZoneMinimum) full=\(fullDiskSeconds)s backup=\(backupSeconds)s restore=1/\(restoreOneIn) revoke=\(revocationSeconds)s "
            + "undurable=\(undurableBytes)B events=\(eventsPerTurn)/\(waitingEvents)\(tellsOneByOne ? "/1" : "") departed=\(departedBlobs)/\(departedBlobsPerDatabase)"
            + (sharesKeys ? " keys" : "") + (sharesRecords ? " trees=\(sharedRecordsAtOnce)/\(treeUnitsPerTurn)" : "")
    }
}

extension SimulationOptions {
    /// What a database may keep.
    var history: HistoryLimits {
        tombstones == 0
            ? .standard
            : HistoryLimits(
                tombstonesPerZone: tombstones, tombstones: allTombstones, deletedZones: deletedZones, runs: runs)
    }
}
