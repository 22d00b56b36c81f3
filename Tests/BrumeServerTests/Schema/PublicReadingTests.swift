import BrumeModel
import BrumeProtocol
import BrumeRandom
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What a caller may not read shows in nothing that the server tells, and what they may no longer read is not delivered
/// either.
@Suite("Reading the public database")
struct PublicReadingTests {
    private static let schema = """
        DEFINE SCHEMA
        CREATE ROLE Reader;
        RECORD TYPE Open (text STRING QUERYABLE, GRANT READ TO "_world", GRANT CREATE TO "_icloud");
        RECORD TYPE Secret (text STRING QUERYABLE, GRANT READ TO Reader, GRANT CREATE TO "_icloud");
        RECORD TYPE Own (text STRING QUERYABLE, GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
        """

    private static func query(_ type: String) -> QueryRequest {
        QueryRequest(
            database: .public, zone: nil,
            query: Query(
                recordType: type, predicate: .comparison(.field("text"), .equal, .string("x"))))
    }

    private func server(loops: Int = 2) throws -> SteppedServer {
        let server = try SteppedServer(adjust: { $0.loopCount = loops })
        let schema = try SchemaParser.parse(Self.schema)
        try server.changeSchemas { $0.development.schema = schema }
        return server
    }

    private func setReader(_ account: Int, _ isMember: Bool, on server: SteppedServer) throws {
        let user = server.userRecordName(ofAccount: account)
        try server.changeSchemas { (schemas) throws(ServiceError) in
            try schemas.development.setMember(user, of: "Reader", isMember)
        }
    }

    @Test(
        "how a query is run is told only where all of its type may be read, and the query itself shows the caller's own"
    )
    func explaining() throws {
        let server = try server()
        let (writer, reader) = (try server.connect(account: "a"), try server.connect(account: "b", device: 8))
        for type in ["Open", "Own"] {
            try writer.save(["\(type)1"], type: type, database: .public) { _ in ["text": .string("x")] }
            try reader.save(["\(type)2"], type: type, database: .public) { _ in ["text": .string("x")] }
        }
        _ = try reader.explain(Self.query("Open"))
        let error = #expect(throws: ServiceError.self) { _ = try reader.explain(Self.query("Own")) }
        #expect(error?.code == .permissionFailure)
        #expect(try reader.query(Self.query("Open")).matches.map(\.record.system.name) == ["Open1", "Open2"])
        #expect(try reader.query(Self.query("Own")).matches.map(\.record.system.name) == ["Own2"])
    }

    @Test("an event of a record that may no longer be read is not delivered, and later ones are")
    func rolesAtDelivery() throws {
        let server = try server()
        try setReader(2, true, on: server)
        let writer = try server.connect(account: "a")
        func write(_ name: String) throws {
            try writer.save([name], type: "Secret", database: .public) { _ in ["text": .string("about " + name)] }
        }
        var info = NotificationInfo()
        info.desiredKeys = ["text"]
        let subscription = Subscription(
            id: "s",
            kind: .query(QuerySubscription(recordType: "Secret", predicate: .constant(true), options: .reasons)),
            notificationInfo: info)

        let reader = try server.connect(account: "b", device: 8)
        try reader.subscribe(subscription, in: .public)
        let first = reader.openNotifications()
        try write("before")
        #expect(try names(reader.events(first)) == ["before"])
        let place = try #require(reader.events(first).last).position
        reader.disconnect()
        server.settle()

        try write("backlog")
        try setReader(2, false, on: server)
        let again = try server.connect(account: "b", device: 8)
        let second = again.openNotifications(position: place)
        #expect(try names(again.events(second)) == [], "what was kept for the device may no longer be read")
        try write("hidden")
        #expect(try names(again.events(second)) == [])
        try setReader(2, true, on: server)
        try write("after")
        #expect(try names(again.events(second)) == ["after"])
    }

    private func names(_ events: [NotificationEvent]) -> [String] {
        events.compactMap {
            if case .recordChanged(let change) = $0.kind { change.recordName } else { nil }
        }
    }

    @Test("a query that runs while a role is taken away is not answered by what the role allowed")
    func rolesWhileAQueryRuns() throws {
        let server = try server()
        try setReader(2, true, on: server)
        let (writer, reader) = (try server.connect(account: "a"), try server.connect(account: "b", device: 8))
        try writer.save((0..<20_000).map { "r\($0)" }, type: "Secret", database: .public) { _ in ["text": .string("y")]
        }
        try writer.save(["x"], type: "Secret", database: .public) { _ in ["text": .string("x")] }
        var asked = Self.query("Secret")
        asked.query.predicate = .not(.comparison(.field("text"), .equal, .string("y")))
        let stream = reader.startQuery(asked)
        server.turn()
        try #require(!reader.isAnswered(stream), "the query has to be longer")
        try setReader(2, false, on: server)
        guard case .failure(let error)? = reader.outcome(stream) else {
            Issue.record("the query was answered")
            return
        }
        #expect(error.code == .permissionFailure)
    }

    @Test("nothing that a role allowed reaches its reader once the operator is told that the role is gone")
    func answersOnTheirWay() throws {
        var answersBefore = 0
        for seed in 0..<120 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let server = try server(loops: 7)
            // Changes come to the loops in order, so answers that go to an earlier one are told last.
            try #require(server.loopOfPrivateDatabase(ofAccount: 2) < server.loopOfPublicDatabase)
            try setReader(2, true, on: server)
            let (writer, reader) = (try server.connect(account: "a"), try server.connect(account: "b", device: 8))
            try writer.save(["x"], type: "Secret", database: .public) { _ in ["text": .string("x")] }
            let stream = reader.startQuery(Self.query("Secret"))
            let user = server.userRecordName(ofAccount: 2)
            let taken = server.beginChangingSchemas { (schemas) throws(ServiceError) in
                try schemas.development.setMember(user, of: "Reader", false)
            }
            while !taken.isCalled { server.turn(of: server.loops.randomElement(using: &random)!) }
            let wasAnswered = reader.isAnswered(stream)
            server.settle()
            if case .success = reader.outcome(stream) {
                #expect(wasAnswered, "seed \(seed)")
                answersBefore += 1
            }
        }
        #expect(answersBefore > 0, "some of the queries are earlier than the change")
    }

    @Test("the operator is answered when every loop knows")
    func allLoopsKnow() throws {
        let server = try server()
        var turns = 0
        let schema = try SchemaParser.parse("DEFINE SCHEMA")
        let done = server.beginChangingSchemas { $0.development.schema = schema }
        while !done.isCalled {
            #expect(turns < 10)
            server.turn()
            turns += 1
        }
        let peer = try server.connect(account: "a")
        #expect(throws: ServiceError.self) { _ = try peer.query(Self.query("Open")) }
    }
}
