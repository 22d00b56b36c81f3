import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A participant who is removed while something is under way for them: nothing of the zone is given afterwards.
@Suite("A participant who is removed meanwhile")
struct RemovalMeanwhileTests {
    private struct Players {
        let server: SteppedServer
        let a: FramePeer
        let b: FramePeer
        let zone: ZoneID

        init(_ loops: Int = 2) throws {
            server = try SteppedServer { $0.loopCount = loops }
            a = try server.connect(account: "a")
            b = try server.connect(account: "b")
            zone = ZoneID(name: "list", owner: a.user)
            try b.accept(try a.shareZone("list", with: [b.user]))
        }

        func remove() throws { try a.changeShare(of: "list", .removing([b.user])) }
    }

    private static func code<Value>(_ body: () throws -> Value) -> ErrorCode? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    @Test("gets no second page of a zone's changes, and no page from an old token when they come back")
    func pages() throws {
        let players = try Players()
        try players.a.save((0..<6).map { "r\($0)" }, zone: ZoneID(name: "list"))
        let first = try players.b.changes(of: players.zone, limit: 2)
        #expect(first.moreComing && first.records.count == 2)
        try players.remove()
        #expect(Self.code { try players.b.changes(of: players.zone, since: first.token) } == .zoneNotFound)
        try players.b.accept(try players.a.changeShare(of: "list", .inviting([players.b.user])))
        #expect(Self.code { try players.b.changes(of: players.zone, since: first.token) } == .changeTokenExpired)
        #expect(try players.b.changes(of: players.zone).records.count == 7)
    }

    @Test("is not answered by a query that runs", arguments: [1, 2])
    func query(loops: Int) throws {
        let players = try Players(loops)
        try players.a.save((0..<20_000).map { "r\($0)" }, zone: ZoneID(name: "list")) { _ in ["text": .string("y")] }
        try players.a.save(["x"], zone: ZoneID(name: "list")) { _ in ["text": .string("x")] }
        let query = QueryRequest(
            database: .shared, zone: players.zone,
            query: Query(recordType: "Note", predicate: .not(.comparison(.field("text"), .equal, .string("y")))))
        let tag = try players.a.shareTag(of: "list")
        let stream = players.b.startQuery(query)
        for _ in 0..<2 { players.server.turn() }
        try #require(!players.b.isAnswered(stream), "the query has to be longer")
        players.a.startChangingShare(of: "list", .removing([players.b.user]), tag: tag)
        players.server.settle()
        guard case .failure(let error)? = players.b.outcome(stream) else {
            Issue.record("the query was answered")
            return
        }
        #expect(error.code == .zoneNotFound)
    }

    @Test("has a batch done whole or not at all, and no events of what comes after", arguments: 0..<6)
    func batch(turns: Int) throws {
        let players = try Players()
        try players.b.subscribe(Subscription(id: "all", kind: .database(recordType: "")), in: .shared)
        let stream = players.b.openNotifications()
        let batch = players.b.startSaving((0..<50).map { "r\($0)" }, in: players.zone)
        for _ in 0..<turns { players.server.turn() }
        try players.remove()
        let codes = try players.b.saveCodes(batch)
        #expect(Set(codes) == [nil] || Set(codes) == [.zoneNotFound])
        let isThere = try players.a.fetch(["r0", "r49"], in: ZoneID(name: "list")).texts == ["r0", "r49"]
        #expect(isThere == (Set(codes) == [nil]))
        _ = try players.b.takeEvents(stream)
        try players.a.save(["later"], zone: ZoneID(name: "list"))
        #expect(try players.b.takeEvents(stream).isEmpty)
        #expect(try players.b.sharedZones() == [])
    }
}
