import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Requests of one account wait for its turn, those of the others don't.
@Suite("Turns of accounts")
struct TurnTests {
    private let coder = MessageCoder()

    private var fetch: [UInt8] {
        coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .private, zones: [.init(zone: .defaultZone, names: ["r"])]))
    }

    @Test("of a flood over many connections a few are answered in each turn, and another account's call in its own")
    func flood() throws {
        let server = try SteppedServer { $0.accountTurnCount = 4 }
        let eves = try (0..<10).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        let ada = try server.connect(account: "b", device: 99)
        server.settle()
        server.turn()
        let calls = eves.map { eve in (0..<5).map { _ in eve.start(.recordsFetch, fetch) } }
        let other = ada.start(.recordsFetch, fetch)
        #expect(ada.isAnswered(other), "nothing of its own waits")
        func answered() -> Int { zip(eves, calls).reduce(0) { $0 + $1.1.count(where: $1.0.isAnswered) } }
        #expect(answered() < 10)
        var turns = 0
        while answered() < 50, turns < 1_000 {
            let other = ada.start(.recordsFetch, fetch)
            #expect(ada.isAnswered(other))
            server.turn()
            turns += 1
        }
        #expect(answered() == 50, "each is answered in the end")
        #expect(turns >= 12, "\(turns) turns for 100 frames, four a turn")
    }

    @Test("calls that waited for a database take turns by account, in order for each, and take of their account's turn")
    func afterLoad() throws {
        let disk = SimulatedDisk()
        var server = try SteppedServer(disk: disk)
        let writer = try server.connect(account: "a")
        try writer.save(["r"], database: .public)
        // A first call makes the user's record, and a read would wait until that is durable.
        let known = try server.connect(account: "b")
        try known.save(["s"], database: .public)
        server.snapshot()
        writer.disconnect()
        known.disconnect()
        server.settle()
        disk.endProcess()
        server = try SteppedServer(disk: disk) {
            $0.shortLoadBytes = 0
            $0.accountTurnCount = 8
        }
        server.isLoaderHeld = true
        let eve = try server.connect(account: "a")
        let ada = try server.connect(account: "b")
        let request = coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .public, zones: [.init(zone: .defaultZone, names: ["r"])]))
        let calls = (0..<30).map { _ in eve.start(.recordsFetch, request) }
        server.settle()
        let other = ada.start(.recordsFetch, request)
        server.settle()
        #expect(!ada.isAnswered(other))
        server.isLoaderHeld = false
        var counts: [Int] = []
        while !calls.allSatisfy(eve.isAnswered) {
            server.turn()
            let answered = calls.map(eve.isAnswered)
            counts.append(answered.count { $0 })
            #expect(answered == answered.sorted { $0 && !$1 }, "a call overtook another one of its account")
            if counts.last! > 0 { #expect(ada.isAnswered(other), "it waits for all of another account's calls") }
            try #require(counts.count < 1_000)
        }
        #expect(zip(counts, [0] + counts).allSatisfy { $0 - $1 <= 8 }, "answered in turns: \(counts)")
    }

    @Test("a session that waits for its turn ends like any other")
    func ending() throws {
        let server = try SteppedServer { $0.accountTurnCount = 1 }
        let eves = try (0..<4).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        server.settle()
        for eve in eves { for _ in 0..<5 { _ = eve.start(.recordsFetch, fetch) } }
        for eve in eves.dropLast() { eve.disconnect() }
        server.settle()
        let last = eves[3].start(.recordsFetch, fetch)
        server.settle()
        #expect(eves[3].isAnswered(last))
    }

    @Test("a call to the public database waits for its account's turn on that database's loop")
    func publicDatabase() throws {
        let server = try SteppedServer {
            $0.accountTurnCount = 2
            $0.loopCount = 4
        }
        let eves = try (0..<8).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        server.settle()
        let request = coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: .public, zones: [.init(zone: .defaultZone, names: ["r"])]))
        let calls = eves.map { $0.start(.recordsFetch, request) }
        server.settle()
        #expect(zip(eves, calls).allSatisfy { $0.isAnswered($1) })
    }

    @Test("calls whose connections are gone wait on another loop up to a limit, and run when their turn comes")
    func closedConnections() throws {
        let server = try SteppedServer {
            $0.loopCount = 4
            $0.callsPerAccount = 8
            $0.accountTurnUndurableBytes = 1
        }
        try #require(
            server.loopOfPrivateDatabase(ofAccount: 1) != server.loopOfPublicDatabase, "the databases are on one loop")
        let peers = try (1...5).map { try server.connect(account: "a", device: UInt8($0)) }
        func save(_ name: String) -> [UInt8] {
            coder.encodeModifyRecordsRequest(
                ModifyRecordsRequest<DecodedFields>(
                    database: .public,
                    zones: [
                        ZoneModification(zone: .defaultZone, saves: [RecordSave(name: name, type: "Note", fields: [:])])
                    ]))
        }
        // The journal stands still, so that none but the first begins.
        for (index, peer) in peers.dropLast().enumerated() {
            for call in 0..<6 { peer.start(.recordsModify, save("r\(index)-\(call)")) }
            for _ in 0..<3 { server.turn() }
            peer.disconnect()
            server.turn()
        }
        let last = peers[4].start(.recordsModify, save("last"))
        for _ in 0..<3 { server.turn() }
        guard case .failure(let error)? = peers[4].outcome(last) else {
            Issue.record("a call waits behind more than an account may have open: \(peers[4].outcome(last) as Any)")
            return
        }
        #expect(error.code == .requestRateLimited && error.retryAfterMilliseconds > 0)
        server.settle()
        try peers[4].save(["last"], database: .public)
        let there = QueryRequest(
            database: .public, zone: nil, query: Query(recordType: "Note", predicate: .constant(true)))
        let count = try peers[4].query(there).matches.count
        #expect((9...10).contains(count), "one ran at once, eight waited, and one came later: \(count)")
    }

    @Test("queries that waited for what records tell of their type go on a few in each turn")
    func afterScan() throws {
        let server = try SteppedServer { $0.accountTurnCount = 8 }
        let peers = try (0..<2).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        try peers[0].save((0..<12_000).map { "r\($0)" })
        let unknown = QueryRequest(
            database: .private, zone: nil, query: Query(recordType: "Unknown", predicate: .constant(true)))
        let calls = peers.map { peer in (0..<14).map { _ in peer.startQuery(unknown) } }
        func answered() -> Int { zip(peers, calls).reduce(0) { $0 + $1.1.count(where: $1.0.isAnswered) } }
        var most = 0
        for _ in 0..<200 {
            let before = answered()
            server.turn()
            most = max(most, answered() - before)
        }
        #expect(answered() == 28, "each is answered in the end")
        #expect(most <= 8, "\(most) went on in one turn")
    }

    @Test("lessons of many connections leave room for another account's, and for the operator, between two of them")
    func lessons() throws {
        let server = try SteppedServer()
        let eves = try (0..<20).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        let ada = try server.connect(account: "b", device: 99)
        func teach(_ peer: FramePeer, _ field: String) -> UInt32 {
            let save = RecordSave<DecodedFields>(name: "r", type: "Note", fields: [field: .string("x")])
            let request = ModifyRecordsRequest<DecodedFields>(
                database: .private, zones: [ZoneModification(zone: .defaultZone, saves: [save])])
            return peer.start(.recordsModify, coder.encodeModifyRecordsRequest(request))
        }
        let lessons = eves.indices.map { teach(eves[$0], "field\($0)") }
        let other = teach(ada, "other")
        let command = server.beginChangingSchemas { _ in }
        func step() {
            server.turn()
            server.stepJournal()
        }
        func answered() -> Int { zip(eves, lessons).count { $0.isAnswered($1) } }
        while !command.isCalled { step() }
        #expect(answered() < 10, "\(answered()) lessons came before the operator's command")
        while !ada.isAnswered(other) { step() }
        #expect(answered() < 10, "\(answered()) lessons came before the one of another account")
        server.settle()
        #expect(answered() == 20, "each is learned in the end")
    }

    /// Account a's databases in five containers and the public database of the first, none of them in memory.
    private func coldDisk() throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk)
        let writers = try (0..<5).map { try server.connect(account: "a", container: "iCloud.test\($0)") }
        for writer in writers { try writer.save(["r"]) }
        try writers[0].save(["r"], database: .public)
        let ada = try server.connect(account: "b", container: "iCloud.test0")
        try ada.save(["r"])
        server.snapshot()
        for peer in writers + [ada] { peer.disconnect() }
        server.settle()
        disk.endProcess()
        return disk
    }

    @Test(
        "an account's database is loaded after one of another account's many, also when the other asked for the same one last",
        arguments: [DatabaseScope.private, .public])
    func loads(_ database: DatabaseScope) throws {
        let server = try SteppedServer(disk: try coldDisk()) { $0.shortLoadBytes = 0 }
        server.isLoaderHeld = true
        let eves = try (0..<5).map { try server.connect(account: "a", container: "iCloud.test\($0)") }
        let calls = eves.map { $0.start(.recordsFetch, fetch) }
        let request = coder.encodeFetchRecordsRequest(
            FetchRecordsRequest(database: database, zones: [.init(zone: .defaultZone, names: ["r"])]))
        if database == .public { _ = eves[0].start(.recordsFetch, request) }
        server.settle()
        let ada = try server.connect(account: "b", container: "iCloud.test0")
        let other = ada.start(.recordsFetch, request)
        server.settle()
        server.isLoaderHeld = false
        func answered() -> Int { zip(eves, calls).count { $0.isAnswered($1) } }
        var turns = 0
        while !ada.isAnswered(other) {
            server.turn()
            turns += 1
            try #require(turns < 1_000)
        }
        #expect(answered() <= 3, "\(answered()) of the other account's databases were loaded first")
        server.settle()
        #expect(answered() == 5)
    }

    @Test("what comes in over many connections is not even read beyond the account's share of the turn")
    func reading() throws {
        let server = try SteppedServer { $0.accountTurnCount = 4 }
        let eves = try (0..<12).map { try server.connect(account: "a", device: UInt8($0 + 1)) }
        let ada = try server.connect(account: "b", device: 99)
        for eve in eves { eve.start(.recordsFetch, fetch) }
        server.settle()
        server.turn()
        for eve in eves {
            eve.waitsWhilePaused = true
            // Of a call that has ended: ignored.
            eve.send(.message, stream: 1, payload: [UInt8](repeating: 7, count: 60_000))
        }
        #expect(eves.count { !$0.holdsInput } == 4)
        ada.waitsWhilePaused = true
        ada.send(.ping, payload: [1])
        #expect(!ada.holdsInput)
        server.turn()
        #expect((1..<12).contains(eves.count { $0.holdsInput }), "a few in each turn")
        for _ in 0..<20 { server.turn() }
        #expect(eves.allSatisfy { !$0.holdsInput }, "each is read in the end")
    }
}
