import BrumeLock
import BrumeTestKit
import Testing

@Suite("The simulation")
struct SimulationTests {
    /// Seeds of each test case.
    private static let seedsAtOnce: UInt64 = 40

    @Test(
        "every promise is kept under crashes, faults of the disk and cut connections",
        arguments: 1...5 as ClosedRange<UInt64>)
    func promises(part: UInt64) {
        var total = SimulationReport(seed: 0)
        for seed in part * Self.seedsAtOnce..<(part + 1) * Self.seedsAtOnce {
            let report = Simulation.run(seed: seed)
            #expect(report.violation == nil, "\(SimulationOptions(seed: seed))")
            total.add(report)
        }
        // A run in which nothing happens proves nothing.
        #expect(total.crashes > 10 && total.cutConnections > 10, "\(total.figures)")
        #expect(total.acknowledgedChecked > 1_000 && total.pagesChecked > 500, "\(total.figures)")
        #expect(total.pushesReceived > 150 && total.repeatedOperations > 200, "\(total.figures)")
        #expect(total.fetchHints > 50 && total.oldTokensTried > 50, "\(total.figures)")
        #expect(total.queryPages > 100 && total.queriesFinished > 50, "\(total.figures)")
        #expect(total.recordPushes > 50, "\(total.figures)")
        #expect(total.tokensExpired > 20 && total.audits > 1_000, "\(total.figures)")
        #expect(total.writesRefused > 0 && total.answeredWhileFull > 0, "\(total.figures)")
        #expect(
            total.statementsKept > 10 && total.statementsReplaced > 0 && total.statementPages > 40, "\(total.figures)")
        #expect(total.ringEntriesKept > 20 && total.ringPages > 50, "\(total.figures)")
        #expect(total.ringsJoined > 3 && total.joinsRefused > 0 && total.ringGuestsTakenIn > 0, "\(total.figures)")
        // That some of these pages have records the promise to hide none shows, when it is broken.
        #expect(total.misplacedPages > 10 && total.ringRootsFound > 0, "\(total.figures)")
        #expect(total.encryptedChecked > 30 && total.keysRefused > 20, "\(total.figures)")
        #expect(total.encryptedAssetHolders > 2 && total.plainAssetsRefused > 2, "\(total.figures)")
        #expect(total.enrolmentMessages > 50 && total.enrolmentsShown > 50, "\(total.figures)")
        #expect(total.backups + total.restores > 3 && total.revocations > 1, "\(total.figures)")
        #expect(
            total.assetsUploaded > 20 && total.assetsDownloaded > 0 && total.assetsChecked > 5, "\(total.figures)")
        // Every flipped bit that means something is found, and named with its place.
        #expect(
            total.flipsDetected > 10 && total.flipsDetected + total.flipsHarmless == total.flipsInjected,
            "\(total.figures)")
    }

    @Test("a seed is the same run each time", arguments: [3, 17, 92] as [UInt64])
    func replay(seed: UInt64) {
        let first = Simulation.run(seed: seed)
        let second = Simulation.run(seed: seed)
        #expect(first.trace == second.trace, "seed \(seed)")
        #expect(first.events == second.events && first.figures == second.figures, "seed \(seed)")
        #expect(first.trace != Simulation.run(seed: seed + 1).trace)
    }

    @Test("seeds that run side by side do what each does alone")
    func sideBySide() {
        let seeds = 40..<48 as Range<UInt64>
        let begun = Lock<[UInt64: Int]>([:])
        let traces = Lock<[UInt64: UInt64]>([:])
        let total = SimulationSeries.run(seeds, threads: 3) { seed, thread in
            begun.withLock { $0[seed] = thread }
        } ended: { report, done in
            traces.withLock {
                $0[report.seed] = report.trace
                #expect($0.count == done)
            }
        }
        var expected = SimulationReport(seed: seeds.lowerBound)
        for seed in seeds {
            let report = Simulation.run(seed: seed)
            #expect(traces.withLock { $0[seed] } == report.trace, "seed \(seed)")
            expected.add(report)
        }
        #expect(total.figures == expected.figures && total.trace == expected.trace)
        #expect(begun.withLock { Set($0.values) } == [0, 1, 2])
    }

    @Test("a run ends, also where copies of the folder take longer than the time between them")
    func manyBackups() {
        var total = SimulationReport(seed: 0)
        for seed in [3, 17, 40, 53] as [UInt64] {
            var options = SimulationOptions(seed: seed)
            options.backupSeconds = 1
            let simulation = Simulation(options)
            simulation.run()
            #expect(simulation.report.violation == nil, "\(options)")
            total.add(simulation.report)
        }
        #expect(total.backups > 10, "\(total.figures)")
    }

    @Test("a promise that is broken on purpose is noticed within 100 seeds", arguments: BrokenPromise.allCases)
    func brokenPromises(promise: BrokenPromise) throws {
        let seed = (0..<100 as Range<UInt64>).first { Simulation.run(seed: $0, breaking: promise).violation != nil }
        let caught = try #require(seed, "\(promise) was broken, and nobody noticed")
        // What was found is found again.
        let first = Simulation.run(seed: caught, breaking: promise)
        let second = Simulation.run(seed: caught, breaking: promise)
        #expect(
            first.violation == second.violation && first.trace == second.trace,
            "seed \(caught): \(first.violation ?? ""), \(second.violation ?? "")")
        #expect(first.violation.map { promise.isNamed(in: $0) } == true, "seed \(caught): \(first.violation ?? "")")
    }
}

extension BrokenPromise {
    /// Whether a violation is one that this promise's breaking leads to.
    fileprivate func isNamed(in violation: String) -> Bool {
        let invariants =
            switch self {
            case .acknowledgesBeforeSync, .publishesBeforeDurable, .cutsGoodTails, .skipsDirectorySync:
                ["I1", "I2", "A1"]
            case .swallowsFullDisk: ["I1", "I2", "F21", "A1"]
            case .losesAssets: ["A1"]
            case .ignoresReceipts: ["A5"]
            case .takesPlainAssets: ["A6"]
            case .takesEncrypted: ["I21"]
            case .repairsByCutting: ["I1", "F4"]
            case .mixesReads, .losesMatches, .hidesStatements, .hidesGuests, .hidesMisplaced, .forgetsGuests: ["I1"]
            case .ignoresMembers, .takesZoneKeys: ["I17"]
            case .takesOldKeys, .takesReadersEntries: ["I19"]
            // The answer may be looked at before the commit.
            case .takesForeignStatements, .takesAnyProof: ["I1", "I19"]
            // The past, or the page before, may be one that a restored backup does not hold.
            case .queriesThePast, .repeatsMatches: ["I1", "I7"]
            case .ignoresAtomicity: ["I2"]
            case .skipsTombstones: ["I3"]
            case .expiresGoodTokens, .reusesRuns: ["I4"]
            case .dropsEventsOnOverflow, .dropsQueryEvents: ["I5"]
            case .hidesRetryTime: ["F5"]
            case .ignoresTags: ["I6"]
            case .showsOthersMatches: ["I7"]
            case .keepsRevokedSessions: ["I7", "I18"]
            case .actsWithoutNote: ["I20"]
            case .showsOldEnrolments: ["I18"]
            case .miscountsDeletions: ["I9"]
            case .keepsAllHistory, .keepsAllEvents, .keepsSegments, .keepsEndedServers: ["I10"]
            case .forgetsOperationIDs: ["I11"]
            case .backsUpOldSnapshots: ["F21"]
            }
        return invariants.contains { violation.hasPrefix($0 + ":") }
    }
}
