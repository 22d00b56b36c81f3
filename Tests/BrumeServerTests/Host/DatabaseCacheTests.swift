import BrumeModel
import BrumeRecord
import BrumeStore
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// The cache alone, with a host that writes down what it is asked, on a loop that the test steps.
@Suite("The databases of a loop")
struct DatabaseCacheTests {
    private final class Host: DatabaseCacheHost {
        var ran: [String] = []
        var held: Set<ClientShare.Key> = []
        var arrivals = 0
        var damages: [Bool] = []
        var entered: [DatabaseID] = []
        var left: [DatabaseID] = []
        var lost: [DatabaseID] = []

        func makeLoaded(
            _ database: Database, storage: DatabaseStorage?, savedSequence: UInt64
        ) -> LoadedDatabase {
            LoadedDatabase(
                database: database,
                hub: NotificationHub(database: database, head: .start, coder: EventCoder()), storage: storage,
                savedSequence: savedSequence)
        }
        func databaseEnters(_ loaded: LoadedDatabase) { entered.append(loaded.database.id) }
        func databaseArrived(_ loaded: LoadedDatabase, clients: [Client], users: [Identity]) { arrivals += 1 }
        func databaseFailed(isDamaged: Bool) { damages.append(isDamaged) }
        func databaseLeaves(_ loaded: LoadedDatabase) { left.append(loaded.database.id) }
        func databaseLost(_ loaded: LoadedDatabase) { lost.append(loaded.database.id) }
        func mayRunCall(of account: ClientShare.Key) -> Bool { !held.contains(account) }
        func mayRunCallSoon(of account: ClientShare.Key) -> Bool { !held.contains(account) }
        func runCall(of account: ClientShare.Key, _ body: () -> Void) {
            ran.append("\(account)")
            body()
        }
    }

    private let disk = SimulatedDisk()
    private let host = Host()
    private let loop: EventLoop
    private let loader: EventLoop
    private let journal: JournalLogs
    private let cache: DatabaseCache
    private let id = DatabaseID(
        container: "iCloud.test", environment: .development, scope: .private, owner: "_ada")
    private let ada = ClientShare.Key.account("ada")
    private let bob = ClientShare.Key.account("bob")

    /// - Parameters: Of the cache; the database `id` has one record in a snapshot, unless it is not there.
    private init(shortLoadBytes: Int = 0, budget: Int = 0, callsPerLoad: Int = 8, exists: Bool = true) throws {
        let loops = try ServerLoops(shards: 1)
        (loop, loader) = (loops.shards[0], loops.loader)
        let log = try ManualJournal(opening: disk, options: JournalWriter.Options(salt: 1), newEpoch: 1)
        if exists {
            let database = try log.open(id)
            let commit = try #require(database.ensureUserRecord(named: "_ada", nowMilliseconds: 1))
            _ = try log.append(commit.entry)
            try log.flush()
            try log.writeSnapshot(database.capture())
            try log.trim()
        }
        cache = DatabaseCache(
            loop: loop,
            limits: DatabaseCache.Limits(memoryBudgetBytes: budget, callsPerLoad: callsPerLoad),
            memory: MemoryUse(), ledger: StorageLedger(), log: .none, host: host)
        var configuration = ServerConfiguration(dataFolder: "", certificatePath: "", keyPath: "")
        configuration.shortLoadBytes = shortLoadBytes
        configuration.log = .none
        journal = JournalLogs(
            of: try Recovery(opening: disk, options: JournalWriter.Options(salt: 1), newEpoch: 2), on: disk,
            configuration: configuration, loops: loops, failStop: { Issue.record("the journal stopped: \($0)") })
        cache.source = DatabaseCache.Source(log: journal.log(ofShard: 0), loading: FairWork(on: loader))
    }

    private func step(_ times: Int = 20) {
        for _ in 0..<times {
            for loop in [loop, loader] { loop.step(nowNanoseconds: 1_000_000_000, wallClockMilliseconds: 0) }
        }
    }

    private func outcomes(_ ask: (@escaping (DatabaseCache.Outcome) -> Void) -> Void) -> () -> [String] {
        var outcomes: [String] = []
        ask {
            switch $0 {
            case .success(let loaded): outcomes.append("commit \(loaded.database.sequence)")
            case .failure(let error): outcomes.append("error \(error.code.rawValue)")
            }
        }
        return { outcomes }
    }

    private func ask(_ account: ClientShare.Key, bytes: Int = 10) -> () -> [String] {
        outcomes { cache.withDatabase(id, of: account, byteCount: bytes, keepsEmpty: true, $0) }
    }

    @Test("a small one is there at once, and in memory from then on")
    func short() throws {
        let scene = try DatabaseCacheTests(shortLoadBytes: 100_000)
        #expect(scene.ask(scene.ada)() == ["commit 1"])
        #expect(scene.cache.known(scene.id) != nil && scene.cache.loadCount == 1 && scene.cache.loadingCount == 0)
        #expect(scene.ask(scene.bob)() == ["commit 1"] && scene.cache.loadCount == 1)
    }

    @Test("for a large one calls wait: each account's in their order, and nobody's behind all of somebody else's")
    func waiting() throws {
        let scene = try DatabaseCacheTests()
        let answers = [scene.ada, scene.ada, scene.ada, scene.bob].map { scene.ask($0) }
        #expect(answers.allSatisfy { $0().isEmpty } && scene.cache.waitingCallBytes > 0)
        scene.step()
        #expect(answers.allSatisfy { $0() == ["commit 1"] })
        #expect(scene.host.ran == [scene.ada, scene.bob, scene.ada, scene.ada].map { "\($0)" })
        #expect(scene.host.arrivals == 1 && scene.cache.waitingCallBytes == 0 && scene.cache.loadingCount == 0)
    }

    @Test("an account whose turn has not come lets others go on, and its call is not lost")
    func held() throws {
        let scene = try DatabaseCacheTests()
        scene.host.held = [scene.ada]
        let (first, second) = (scene.ask(scene.ada), scene.ask(scene.bob))
        scene.step()
        #expect(first().isEmpty && second() == ["commit 1"])
        // A call that comes now waits behind the one that came before.
        let third = scene.ask(scene.ada)
        #expect(third().isEmpty)
        scene.host.held = []
        scene.loop.step(nowNanoseconds: 9_000_000_000, wallClockMilliseconds: 0)
        scene.step()
        #expect(first() == ["commit 1"] && third() == ["commit 1"])
    }

    @Test("an account may have as many calls waiting as are left free, and is told to come back beyond that")
    func full() throws {
        let scene = try DatabaseCacheTests(callsPerLoad: 4)
        let answers = (0..<4).map { _ in scene.ask(scene.ada) }
        #expect(answers.map { $0() } == [[], [], ["error 6"], ["error 6"]])
        let other = scene.ask(scene.bob)
        #expect(other().isEmpty)
        scene.step()
        #expect(other() == ["commit 1"] && scene.cache.waitingCallBytes == 0)
    }

    @Test("a damaged one is refused each time, and told of once")
    func damaged() throws {
        let scene = try DatabaseCacheTests(shortLoadBytes: 100_000)
        let path = SnapshotFormat.path(of: scene.id, on: scene.disk)
        var bytes = try #require(scene.disk.contents(of: path))
        bytes[bytes.count / 2] ^= 1
        scene.disk.replace(path, with: bytes)
        for _ in 0..<2 { #expect(scene.ask(scene.ada)() == ["error 1"]) }
        #expect(scene.host.damages == [true] && scene.cache.isUnloadable(scene.id))
    }

    @Test("one that nobody uses leaves above the budget, and an empty one with the last who used it")
    func leaving() throws {
        let scene = try DatabaseCacheTests(shortLoadBytes: 100_000, budget: 1)
        _ = scene.ask(scene.ada)
        let loaded = try #require(scene.cache.known(scene.id))
        loaded.clientCount = 1
        scene.cache.dropIdleDatabases()
        #expect(scene.host.left.isEmpty)
        loaded.clientCount = 0
        scene.cache.mayDrop = true
        scene.cache.dropIdleDatabases()
        #expect(scene.host.left == [scene.id] && scene.cache.count == 0 && scene.cache.dropCount == 1)
        #expect(scene.cache.memory.bytes == 0)
        let empty = try DatabaseCacheTests(shortLoadBytes: 100_000, exists: false)
        _ = empty.ask(empty.ada)
        empty.cache.dropIfEmpty(try #require(empty.cache.known(empty.id)))
        #expect(empty.host.left == [empty.id] && empty.cache.count == 0)
    }
}
