import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What every commit log promises to its host, whatever it stands on.
@Suite("A commit log")
struct CommitLogTests {
    private let ada = LogScene.id("_ada")
    private let bob = LogScene.id("_bob")

    @Test(
        "counts its commits from 1, and they are durable in that order, not before they were submitted",
        arguments: LogKind.allCases)
    func order(_ kind: LogKind) throws {
        let scene = try LogScene(kind)
        let (adas, bobs) = (try scene.opened(ada).database, try scene.opened(bob).database)
        #expect(scene.log.durablePosition == 0 && scene.log.takeRecovered().isEmpty)
        #expect(try scene.makeZone("one", in: adas) == 1)
        #expect(try scene.makeZone("one", in: bobs) == 2)
        scene.step()
        #expect(scene.host.durable.isEmpty && scene.log.durablePosition == 0)
        scene.settle()
        #expect(scene.host.durable == [2] && scene.log.durablePosition == 2)
        #expect(try scene.makeZone("two", in: adas) == 3)
        scene.settle()
        #expect(scene.host.durable == [2, 3] && scene.logs.undurableByteCount == 0)
    }

    @Test("gives the next server what was durable, and nothing else", arguments: LogKind.allCases)
    func restart(_ kind: LogKind) throws {
        let ground = LogGround()
        var scene = try LogScene(kind, on: ground)
        #expect(scene.logs.isNew && !scene.logs.holds(ada))
        let epoch = scene.logs.epoch
        let database = try scene.opened(ada).database
        for name in ["one", "two"] { try scene.makeZone(name, in: database) }
        scene.settle()
        try scene.makeZone("three", in: database)
        scene.log.submit()

        scene = try LogScene(kind, on: ground)
        #expect(!scene.logs.isNew && scene.logs.epoch == epoch)
        #expect(scene.logs.holds(ada) && !scene.logs.holds(bob))
        #expect(try scene.logs.containers() == ["iCloud.log"])
        let recovered = scene.log.takeRecovered()
        #expect(recovered.map(\.database.id) == [ada] && scene.log.takeRecovered().isEmpty)
        let found = try #require(recovered.first)
        #expect(found.database.zones.map(\.id.name).sorted() == ["_defaultZone", "one", "two"])
        #expect(found.database.sequence == 2 && found.savedSequence < 2, "nobody has saved it")
        // It goes on where it stands.
        #expect(try scene.makeZone("three", in: found.database) == 1)
        scene.settle()
        #expect(scene.host.durable == [1])
    }

    @Test(
        "saves a database that is to be dropped, once its commits are durable, and opens it again from there",
        arguments: LogKind.allCases)
    func saving(_ kind: LogKind) throws {
        let ground = LogGround()
        var scene = try LogScene(kind, on: ground)
        let database = try scene.opened(ada).database
        for name in ["one", "two"] { try scene.makeZone(name, in: database) }
        let flag = Flag()
        scene.log.save([ada]) { flag.outcomes.append($0) }
        scene.step()
        #expect(flag.outcomes.isEmpty && scene.host.saved.isEmpty, "nothing is saved that is not durable")
        scene.settle()
        #expect(flag.outcomes == [true] && scene.host.saved == [ada: 2])
        scene.close(ada)
        let again = try scene.opened(ada)
        #expect(again.database !== database && again.database.sequence == 2 && again.savedSequence == 2)
        #expect(again.database.zones.count == 3)
        try scene.makeZone("three", in: again.database)
        scene.settle()
        #expect(scene.host.durable.last == 3)

        // A later server has to save the last commit itself.
        scene = try LogScene(kind, on: ground)
        let recovered = try #require(scene.log.takeRecovered().first)
        #expect(recovered.database.sequence == 3 && recovered.savedSequence < 3)
    }

    @Test(
        "saves all that changed when it is asked to, and then needs their commits no longer",
        arguments: LogKind.allCases)
    func savingAll(_ kind: LogKind) throws {
        let ground = LogGround()
        var scene = try LogScene(kind, on: ground)
        for id in [ada, bob] { try scene.makeZone("one", in: try scene.opened(id).database) }
        scene.settle()
        let flag = Flag()
        scene.logs.saveAll {
            if case .success(let summary) = $0 { flag.outcomes.append(summary.databases == 2) }
        }
        for _ in 0..<5 { scene.settle() }
        #expect(flag.outcomes == [true] && scene.host.saved == [ada: 1, bob: 1] && scene.host.unsaved.isEmpty)
        #expect(try scene.logs.databases(of: "iCloud.log", .development).map(\.owner).sorted() == ["_ada", "_bob"])

        scene = try LogScene(kind, on: ground)
        for opened in scene.log.takeRecovered() { #expect(opened.savedSequence == opened.database.sequence) }
        #expect(scene.logs.holds(ada) && scene.logs.holds(bob))
    }

    @Test("of a journal saves what changed when its commits moved so many records that a start would take seconds")
    func movedRecords() throws {
        let scene = try LogScene(.journal)
        let database = try scene.opened(ada).database
        try scene.makeZone("one", in: database, movedRecords: SnapshotSchedule.movedRecordsMax - 1)
        for _ in 0..<5 { scene.settle() }
        #expect(scene.host.saved == [:])
        try scene.makeZone("two", in: database, movedRecords: 1)
        for _ in 0..<5 { scene.settle() }
        #expect(scene.host.saved == [ada: 2])
    }

    @Test("opens within the call what is quick to open: what it never had, too", arguments: LogKind.allCases)
    func short(_ kind: LogKind) throws {
        let ground = LogGround()
        let scene = try LogScene(kind, on: ground)
        try saveOne(in: scene)
        for (id, sequence) in [(ada, 1), (bob, 0)] {
            let opening = scene.open(id)
            #expect(opening.work == nil)
            #expect(try #require(opening.result).get().database.sequence == UInt64(sequence))
        }
    }

    @Test(
        "saves several databases that are to be dropped, however few its host captures at a time",
        arguments: LogKind.allCases)
    func savingSeveral(_ kind: LogKind) throws {
        let scene = try LogScene(kind)
        for id in [ada, bob] { try scene.makeZone("one", in: try scene.opened(id).database) }
        scene.settle()
        let flag = Flag()
        scene.log.save([ada, bob]) { flag.outcomes.append($0) }
        scene.settle()
        #expect(flag.outcomes == [true] && scene.host.saved == [ada: 1, bob: 1])
    }

    @Test("has its host do what takes long, and gives the database on the loop", arguments: LogKind.allCases)
    func long(_ kind: LogKind) throws {
        let ground = LogGround()
        try saveOne(in: try LogScene(kind, on: ground))
        let scene = try LogScene(kind, on: ground, opensAtOnce: false)
        // Work that nobody does is forgotten.
        #expect(scene.open(ada).work != nil)
        let opening = scene.open(ada)
        scene.settle()
        #expect(opening.result == nil)
        let work = try #require(opening.work)
        work()
        #expect(opening.result == nil, "not on the thread that did the work")
        scene.step()
        let opened = try #require(opening.result).get()
        #expect(opened.database.sequence == 1 && opened.savedSequence == 1)
    }

    @Test(
        "tells of a database that it can't read, and opens it when it can again", arguments: LogKind.allCases,
        [true, false])
    func failing(_ kind: LogKind, opensAtOnce: Bool) throws {
        let ground = LogGround()
        try saveOne(in: try LogScene(kind, on: ground))
        let scene = try LogScene(kind, on: ground, opensAtOnce: opensAtOnce)
        scene.failReading()
        let error = #expect(throws: StoreError.self) { try scene.opened(ada) }
        guard case .disk? = error else {
            Issue.record("what can't be read is taken for damage: \(String(describing: error))")
            return
        }
        scene.stopFailing()
        #expect(try scene.opened(ada).database.sequence == 1)
    }

    @Test(
        "says that it is full, keeps what it has taken, and makes it durable when there is room",
        arguments: LogKind.allCases)
    func full(_ kind: LogKind) throws {
        let scene = try LogScene(kind)
        let database = try scene.opened(ada).database
        try scene.makeZone("one", in: database)
        scene.settle()
        #expect(scene.log.refusal == nil && !scene.logs.isFull)
        scene.fill()
        for number in 0..<50 {
            try scene.makeZone("zone \(number) \(String(repeating: "x", count: 200))", in: database)
        }
        scene.settle()
        #expect(scene.log.refusal == .full && scene.logs.isFull)
        #expect(scene.logs.undurableByteCount > 50 * 64, "50 commits wait")
        #expect(scene.host.durable == [1])
        scene.makeRoom()
        scene.settle()
        #expect(scene.log.refusal == nil && !scene.logs.isFull && scene.host.durable.last == 51)
    }

    /// A database with one commit, which is saved and closed.
    private func saveOne(in scene: LogScene) throws {
        try scene.makeZone("one", in: try scene.opened(ada).database)
        scene.settle()
        let flag = Flag()
        scene.logs.saveAll { _ in flag.outcomes.append(true) }
        for _ in 0..<5 { scene.settle() }
        try #require(flag.outcomes == [true] && scene.host.saved == [ada: 1])
        scene.close(ada)
    }
}
