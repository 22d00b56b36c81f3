import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A whole server on a log that loses databases to another owner, or does not take a commit.
@Suite("A database that the log has lost")
struct LostDatabaseTests {
    private let coder = MessageCoder()
    private let storage = ScriptedLogStorage()
    private let server: SteppedServer
    private let log: ScriptedCommitLogs
    private let ada: FramePeer

    private init() throws {
        try self.init(loops: 1)
    }

    private init(loops: Int) throws {
        server = try SteppedServer(log: storage) { $0.loopCount = loops }
        log = try #require(server.log)
        ada = try server.connect(account: "a")
        try ada.save(["one"])
    }

    private var adas: DatabaseID { id(1) }

    private func id(_ account: Int) -> DatabaseID {
        DatabaseID(
            container: SteppedServer.container, environment: .development, scope: .private,
            owner: server.userRecordName(ofAccount: account))
    }

    private var publicID: DatabaseID {
        DatabaseID(container: SteppedServer.container, environment: .development, scope: .public, owner: "")
    }

    private func save(
        _ name: String, operation: UInt8? = nil, database: DatabaseScope = .private
    ) -> [UInt8] {
        coder.encodeModifyRecordsRequest(
            ModifyRecordsRequest<DecodedFields>(
                database: database,
                operationID: operation.map { [UInt8](repeating: $0, count: 16) } ?? [],
                zones: [
                    ZoneModification(zone: .defaultZone, saves: [RecordSave(name: name, type: "Note", fields: [:])])
                ]))
    }

    private func names(_ peer: FramePeer, _ database: DatabaseScope = .private) throws -> [String] {
        let query = Query(recordType: "Note", predicate: .constant(true))
        return try peer.query(QueryRequest(database: database, zone: nil, query: query)).matches
            .map(\.record.system.name).sorted()
    }

    private func changedRecords(_ events: [NotificationEvent]) -> [String] {
        events.compactMap { if case .recordChanged(let change) = $0.kind { change.recordName } else { nil } }
    }

    /// Whether a call was refused with a time to come back.
    private func isSentAway(_ peer: FramePeer, _ stream: UInt32) -> Bool {
        guard case .failure(let error)? = peer.outcome(stream) else { return false }
        return error.code == .serviceUnavailable && error.retryAfterMilliseconds > 0
    }

    /// How the log loses the database.
    enum Loss: CaseIterable {
        /// The next commit is not taken, because the database has another owner.
        case fenced
        /// It is not taken, because there is no room.
        case full
        /// The log says so.
        case told
        /// It says so of all databases.
        case toldOfAll
    }

    private func lose(by loss: Loss) {
        switch loss {
        case .fenced: log.fence(adas)
        case .full: log.takesNoMore = true
        case .told: log.lose(adas)
        case .toldOfAll: log.loseAll()
        }
        // The log takes a commit or doesn't: only then is it noticed.
        if loss == .fenced || loss == .full { ada.start(.recordsModify, save("refused")) }
        server.settle()
        log.takesNoMore = false
    }

    @Test(
        "refuses what is on its way with a time to come back, and shows nothing of it; the next call opens it again",
        arguments: Loss.allCases)
    func inFlight(_ loss: Loss) throws {
        server.isDurabilityHeld = true
        let saving = ada.start(.recordsModify, save("two"))
        let reading = ada.start(
            .recordsFetch,
            coder.encodeFetchRecordsRequest(
                FetchRecordsRequest(database: .private, zones: [.init(zone: .defaultZone, names: ["two"])])))
        server.settle()
        #expect(!ada.isAnswered(saving) && !ada.isAnswered(reading), "both would show what is not durable")
        let before = storage.sequence(of: adas)
        lose(by: loss)
        #expect(isSentAway(ada, saving) && isSentAway(ada, reading) && !server.loadedIDs.contains(adas))
        server.isDurabilityHeld = false
        server.settle()
        #expect(storage.sequence(of: adas) == before && log.undurableCount == 0)
        #expect(try names(ada) == ["one"])
        try ada.save(["two"])
        #expect(try names(ada) == ["one", "two"] && server.loadedIDs.contains(adas))
    }

    @Test("refuses the save that the log does not take, and makes nothing of it", arguments: [Loss.fenced, .full])
    func refused(_ loss: Loss) throws {
        lose(by: loss)
        #expect(try names(ada) == ["one"])
        let stream = ada.start(.recordsModify, save("refused"))
        server.settle()
        _ = try #require(ada.outcome(stream)).get()
        #expect(try names(ada) == ["one", "refused"])
    }

    @Test(
        "has one effect for an operation that is sent again after the loss, whether it stayed or not",
        arguments: [false, true])
    func repeated(stayed: Bool) throws {
        server.isDurabilityHeld = true
        let before = storage.sequence(of: adas)
        let first = ada.start(.recordsModify, save("two", operation: 7))
        server.settle()
        if stayed { log.makeDurableUntold() }
        log.lose(adas)
        server.isDurabilityHeld = false
        server.settle()
        #expect(isSentAway(ada, first) && (storage.sequence(of: adas) > before) == stayed)
        let again = ada.start(.recordsModify, save("two", operation: 7))
        server.settle()
        let answer = try #require(ada.outcome(again)).get().decoded(coder.decodeModifyRecordsResponse)
        guard case .record? = answer.first?.saves.first?.outcome else {
            Issue.record("the operation has another answer the second time: \(answer)")
            return
        }
        #expect(try names(ada) == ["one", "two"])
    }

    @Test(
        "ends its notification streams with a time to come back; a new stream gets the events of what comes then",
        arguments: Loss.allCases)
    func streams(_ loss: Loss) throws {
        try ada.subscribe(
            Subscription(
                id: "notes",
                kind: .query(QuerySubscription(recordType: "Note", predicate: .constant(true), options: .reasons))))
        let stream = ada.openNotifications()
        try server.connect(account: "a", device: 8).save(["two"])
        #expect(try ada.events(stream).count == 2 && ada.end(stream) == nil)
        lose(by: loss)
        let end = try #require(try ada.end(stream))
        #expect(end.code == ErrorCode.serviceUnavailable.rawValue && end.retryAfterMilliseconds > 0)
        let again = ada.openNotifications()
        try server.connect(account: "a", device: 8).save(["three"])
        guard case .fetchFromToken? = try ada.events(again).dropFirst().first?.kind else {
            Issue.record("the device is not told to fetch what it may have missed: \(try ada.events(again))")
            return
        }
        #expect(try changedRecords(ada.events(again)) == ["three"] && ada.end(again) == nil)
    }

    @Test("touches no other database: what waits there is answered when it is durable")
    func others() throws {
        let bob = try server.connect(account: "b")
        let stream = bob.openNotifications()
        server.isDurabilityHeld = true
        let adas = ada.start(.recordsModify, save("two"))
        let bobs = bob.start(.recordsModify, save("two"))
        server.settle()
        log.lose(self.adas)
        server.settle()
        #expect(isSentAway(ada, adas) && !bob.isAnswered(bobs))
        server.isDurabilityHeld = false
        server.settle()
        _ = try #require(bob.outcome(bobs)).get()
        #expect(try bob.end(stream) == nil && names(bob) == ["two"] && names(ada) == ["one"])
    }

    @Test("is the public one as well, whose streams and callers are on other loops")
    func publicDatabase() throws {
        let scene = try LostDatabaseTests(loops: 3)
        let (server, log) = (scene.server, scene.log)
        let peers = try ["a", "b", "c", "d"].map { try server.connect(account: $0, device: 7) }
        try peers[0].save(["one"], database: .public)
        let streams = peers.map { $0.openNotifications() }
        for (peer, stream) in zip(peers, streams) { #expect(try peer.events(stream).count == 1) }
        server.isDurabilityHeld = true
        let saves = peers.enumerated().map {
            $0.element.start(.recordsModify, scene.save("two \($0.offset)", database: .public))
        }
        server.settle()
        for (peer, save) in zip(peers, saves) { #expect(!peer.isAnswered(save)) }
        log.lose(scene.publicID)
        server.settle()
        for (index, peer) in peers.enumerated() {
            #expect(scene.isSentAway(peer, saves[index]))
            let end = try #require(try peer.end(streams[index]))
            #expect(end.code == ErrorCode.serviceUnavailable.rawValue && end.retryAfterMilliseconds > 0)
        }
        server.isDurabilityHeld = false
        server.settle()
        #expect(try scene.names(peers[3], .public) == ["one"])
        let again = peers[2].openNotifications()
        try peers[1].save(["three"], database: .public)
        #expect(try scene.names(peers[3], .public) == ["one", "three"] && peers[2].end(again) == nil)
        #expect(try scene.names(scene.ada) == ["one"])
    }

    @Test("ends a query that was under way, and the emptying of the database for the operator")
    func slicedWork() throws {
        try ada.save((0..<20_000).map { "r\($0)" }) { $0 == "r0" ? ["rare": .string("y")] : [:] }
        let scan = Query(recordType: "Note", predicate: .comparison(.field("rare"), .equal, .string("x")))
        let query = ada.startQuery(QueryRequest(database: .private, zone: nil, query: scan))
        try #require(!ada.isAnswered(query))
        log.lose(adas)
        server.settle()
        #expect(isSentAway(ada, query))
        #expect(try ada.query(QueryRequest(database: .private, zone: nil, query: scan)).matches.isEmpty)

        let removal = server.beginRemoving(account: "a")
        let count = server.recordCount(ofAccount: 1)
        try #require(count ?? 0 > 20_000)
        for _ in 0..<1_000 where server.recordCount(ofAccount: 1) == count {
            server.turn()
            server.stepJournal()
        }
        try #require(server.recordCount(ofAccount: 1) != count, "the removal goes on")
        #expect(removal.summary == nil && removal.error == nil)
        log.lose(adas)
        server.settle()
        #expect(removal.error?.code == .serviceUnavailable && removal.summary == nil)
        let second = server.beginRemoving(account: "a")
        server.settle()
        #expect(second.summary != nil && storage.open(adas, run: 9).database.recordCount <= 1)
    }

    @Test("is opened by work that others do not wait for, and by another try after one that failed")
    func opening() throws {
        let bob = try server.connect(account: "b")
        log.opening = .held
        log.openingErrors = [.disk(DiskError(call: "read", path: "log", message: "the test wants it so"))]
        log.lose(adas)
        server.settle()
        let (first, second) = (ada.start(.recordsModify, save("two")), ada.start(.recordsModify, save("three")))
        try bob.save(["two"])
        #expect(!ada.isAnswered(first) && !ada.isAnswered(second))
        log.finishOpenings()
        server.settle()
        for stream in [first, second] {
            guard case .failure(let error)? = ada.outcome(stream) else {
                Issue.record("a call was answered by a database that could not be opened")
                return
            }
            #expect(error.code == .internalError)
        }
        let third = ada.start(.recordsModify, save("four"))
        server.settle()
        log.finishOpenings()
        server.settle()
        _ = try #require(ada.outcome(third)).get()
        // It is lost once more, while calls wait for it.
        log.lose(adas)
        server.settle()
        let fourth = ada.start(.recordsModify, save("five"))
        server.settle()
        log.finishOpenings()
        server.turn()
        log.lose(adas)
        server.settle()
        #expect(ada.isAnswered(fourth))
        log.opening = .atOnce
        let isDone = if case .success? = ada.outcome(fourth) { true } else { false }
        #expect(try names(ada) == (isDone ? ["five", "four", "one"] : ["four", "one"]))
    }

    @Test("is not saved as it was in memory")
    func capture() throws {
        log.savesAtOnce = false
        server.isDurabilityHeld = true
        ada.start(.recordsModify, save("two"))
        server.settle()
        server.snapshot()
        log.lose(adas)
        server.isDurabilityHeld = false
        server.settle()
        #expect(try names(ada) == ["one"])
        try ada.save(["two"])
        server.snapshot()
        #expect(storage.savedSequence(of: adas) == storage.sequence(of: adas))
    }

    @Test("goes on with what another owner has committed meanwhile")
    func otherOwner() throws {
        let other = storage.open(adas, run: 77).database
        let decision = other.modifyZones(
            ModifyZonesRequest(database: .private, saves: [ZoneID(name: "theirs")]),
            caller: Caller(user: adas.owner, isOwner: true), nowMilliseconds: 1)
        log.lose(adas)
        storage.commit(try #require(decision.commit).entry)
        server.settle()
        try ada.save(["r"], zone: ZoneID(name: "theirs"))
        #expect(try names(ada) == ["one", "r"])
    }
}
