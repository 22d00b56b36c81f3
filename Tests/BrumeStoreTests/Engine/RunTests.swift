import BrumeTestKit
import BrumeRandom
import BrumeModel
import BrumeStore
import Testing

@Suite("Tokens and tags of a lost future")
struct RunTests {
    private static func code(_ token: ChangeToken, of desk: Desk) -> ErrorCode? {
        do {
            _ = try desk.changes(since: token)
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test("after an older folder was copied back, tokens of what is lost expire though new commits have passed them")
    func copiedFolder() throws {
        let folder = try Folder(run: 11)
        try folder.makeZone()
        try folder.save("shared")
        let early = try folder.desk.changes(since: nil).token
        let copy = folder.disk.copy()
        for index in 0..<5 { try folder.save("lost\(index)") }
        let lost = try folder.desk.changes(since: nil).token
        let lostTag = try #require(folder.desk.record("lost0")).system.changeTag

        let restored = try Folder(on: copy, run: 12)
        #expect(RunTests.code(lost, of: restored.desk) == .changeTokenExpired)
        for index in 0..<9 { try restored.save("lost\(index)") }
        #expect(RunTests.code(lost, of: restored.desk) == .changeTokenExpired)
        #expect(try restored.desk.changes(since: early).live == (0..<9).map { "lost\($0)" })
        let result = restored.desk.modify(saves: [.of("lost0", ["n": .int64(1)], tag: lostTag)]).result
        #expect(result.saveCodes == [.serverRecordChanged])
        // The same holds when it was started again, and when it is read from a snapshot.
        try restored.log.writeSnapshot(restored.desk.database.capture())
        try restored.log.trim()
        let again = try Folder(on: restored.disk.copy(), run: 13)
        #expect(again.log.report.entriesApplied == 0)
        #expect(RunTests.code(lost, of: again.desk) == .changeTokenExpired)
        #expect(try again.desk.changes(since: early).live.count == 9)
    }

    @Test("a token from the midst of a fetch expires with the future that it was made in")
    func midstOfAFetch() throws {
        let folder = try Folder(run: 11)
        try folder.makeZone()
        let start = try folder.desk.changes(since: nil).token
        for name in ["a", "b", "c"] { try folder.save(name) }
        let copy = folder.disk.copy()
        let good = try folder.desk.changes(since: start, limit: 1).token
        try folder.save("a", bytes: 20)
        // Here "a" stands behind "b" and "c"; in the copy it stands before them, and would never be told of.
        let page = try folder.desk.changes(since: start, limit: 1)
        #expect(page.live == ["b"] && page.moreComing)

        let restored = try Folder(on: copy, run: 12)
        #expect(RunTests.code(page.token, of: restored.desk) == .changeTokenExpired)
        try restored.save("d")
        #expect(RunTests.code(page.token, of: restored.desk) == .changeTokenExpired)
        #expect(try restored.desk.changes(since: good).live == ["b", "c", "d"])
        #expect(try folder.desk.changes(since: page.token).live == ["c", "a"])
    }

    @Test("tokens of earlier runs stay good over restarts without commits and with them")
    func restarts() throws {
        var folder = try Folder(run: 20)
        try folder.makeZone()
        var tokens: [ChangeToken] = []
        for run in UInt32(21)..<30 {
            folder = try Folder(on: folder.disk.copy(), run: run)
            for token in tokens { #expect(RunTests.code(token, of: folder.desk) == nil) }
            tokens.append(try folder.desk.changes(since: nil).token)
            if run % 3 == 0 { continue }
            try folder.save("r\(run)")
            tokens.append(try folder.desk.changes(since: nil).token)
            if run % 4 == 0 { try folder.log.writeSnapshot(folder.desk.database.capture()) }
        }
        #expect(Set(tokens.map(\.epoch)).count > 4)
    }

    @Test("the list of runs is bounded: what the oldest wrote stays reachable, and their tokens expire")
    func bounded() throws {
        let database = Database(
            id: Desk.privateID, epoch: 1, history: HistoryLimits(tombstonesPerZone: 10, deletedZones: 10, runs: 3))
        let desk = Desk(database, caller: Caller(user: Desk.owner, isOwner: true))
        desk.makeZone("notes")
        var tokens: [ChangeToken] = []
        for run in UInt32(2)..<8 {
            database.begin(run: run)
            try desk.save("r\(run)")
            tokens.append(try desk.changes(since: nil).token)
        }
        let codes = tokens.map { RunTests.code($0, of: desk) }
        #expect(codes == [.changeTokenExpired, .changeTokenExpired, .changeTokenExpired, nil, nil, nil])
        // A first fetch begins among the records of runs that are forgotten.
        var page = try desk.changes(since: nil, limit: 1)
        var live = page.live
        while page.moreComing {
            page = try desk.changes(since: page.token, limit: 1)
            live += page.live
        }
        #expect(live == (2..<8).map { "r\($0)" })
    }

    @Test(
        "of two histories with one beginning, each refuses the other's tokens and takes those of the beginning",
        arguments: 0..<30)
    func forks(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var journal: [JournalEntry] = []
        let caller = Caller(user: Desk.owner, isOwner: true)
        var desk = Desk(Database(id: Desk.privateID, epoch: 5), caller: caller)
        var nextRun: UInt32 = 100
        /// Names saved by each commit, and the tokens given at its end.
        var saved: [UInt64: String] = [:]
        var shared: [ChangeToken] = []
        func live(_ steps: Int, _ tokens: inout [ChangeToken], _ names: inout [UInt64: String]) throws {
            for _ in 0..<steps {
                if generator.oneIn(6) {
                    nextRun += 1
                    desk.database.begin(run: nextRun)
                }
                let name = "r\(nextRun)-\(desk.database.sequence)"
                let commit = try #require(desk.modify(policy: .allKeys, saves: [.of(name)]).commit)
                journal.append(commit.entry)
                names[commit.sequence] = name
                tokens.append(try desk.changes(since: nil, limit: generator.pick([1, 1000])).token)
            }
        }
        if let commit = desk.makeZone("notes") { journal.append(commit.entry) }
        try live(20, &shared, &saved)
        let beginning = journal
        var lost: [ChangeToken] = []
        var lostNames = saved
        try live(Int.random(in: 1...20, using: &generator), &lost, &lostNames)
        desk = Desk(Database(id: Desk.privateID, epoch: 5), caller: caller)
        for entry in beginning { try desk.database.apply(entry) }
        nextRun += 1
        desk.database.begin(run: nextRun)
        var own: [ChangeToken] = []
        try live(Int.random(in: 1...40, using: &generator), &own, &saved)
        for token in shared + own {
            let expected = saved.filter { $0.key > token.position.sequence }.sorted { $0.key < $1.key }.map(\.value)
            #expect(try desk.changes(since: token, limit: 1000).live == expected, "seed \(seed)")
        }
        let head = UInt64(beginning.count)
        for token in lost where token.historyStart.sequence > head {
            #expect(RunTests.code(token, of: desk) == .changeTokenExpired, "seed \(seed)")
        }
    }
}
