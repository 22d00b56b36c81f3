import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeServer

/// The shared database as a second account sees it, with the two accounts' databases on one loop and on two.
@Suite("The shared database")
struct SharedDatabaseTests {
    private static func server(_ loops: Int = 2) throws -> SteppedServer {
        try SteppedServer { $0.loopCount = loops }
    }

    @Test("lists a zone once its share is accepted, with its records and the share", arguments: [1, 2, 3])
    func accepting(loops: Int) throws {
        let server = try Self.server(loops)
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let url = try a.shareZone("list", with: [b.user])
        try a.save(["milk"], zone: ZoneID(name: "list"))
        #expect(try b.sharedZones() == [])
        let accepted = try b.accept(url)
        let zone = ZoneID(name: "list", owner: a.user)
        #expect(accepted.zone == zone)
        #expect(accepted.share.shareDetails?.participants.map(\.user) == [a.user, b.user])
        #expect(try b.sharedZones() == [zone])
        #expect(try b.sharedChanges().changed == [zone])
        #expect(try b.fetch(["milk", "bread"], in: zone, of: .shared).texts == ["milk", "unknownItem"])
        #expect(try Set(b.changes(of: zone).records.map(\.system.name)) == ["milk", Names.zoneShare])
        let all = Query(recordType: "Note", predicate: .constant(true))
        let matches = try b.query(QueryRequest(database: .shared, zone: zone, query: all)).matches
        #expect(matches.map(\.record.system.name) == ["milk"] && matches.map(\.zone) == [zone])
        #expect(try b.accept(url).zone == zone, "accepting again gives the share")
        #expect(try b.sharedZones() == [zone])
        #expect(try a.sharedZones() == [], "the owner's zones are in the private database")
    }

    @Test("is written by who may write, and its owner sees who it was")
    func writing() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let zone = ZoneID(name: "list", owner: a.user)
        try b.accept(try a.shareZone("list", with: [b.user]))
        #expect(try b.modify(zone, saving: ["milk"]).saves.codes == [nil])
        guard case .record(let milk) = try a.fetch(["milk"], in: ZoneID(name: "list"))[0] else {
            throw TestFailure("the record is not there")
        }
        #expect(milk.system.creator == b.user && milk.system.modifier == b.user)
        #expect(try b.modify(zone, deleting: ["milk"]).deletions == [nil])
        #expect(try a.fetch(["milk"], in: ZoneID(name: "list")).texts == ["unknownItem"])
    }

    @Test("is not written by who may read alone")
    func readingOnly() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let zone = ZoneID(name: "list", owner: a.user)
        try b.accept(try a.shareZone("list", with: [b.user], permission: .readOnly))
        try a.save(["milk"], zone: ZoneID(name: "list"))
        #expect(try b.modify(zone, saving: ["milk", "bread"]).saves.codes == [.permissionFailure, .permissionFailure])
        #expect(try b.modify(zone, deleting: ["milk"]).deletions.map { $0?.code } == [.permissionFailure])
        #expect(try a.fetch(["milk", "bread"], in: ZoneID(name: "list")).texts == ["milk", "unknownItem"])
    }

    @Test("tells of zones that changed and went, since a token")
    func changes() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let (list, plans) = (ZoneID(name: "list", owner: a.user), ZoneID(name: "plans", owner: a.user))
        try b.accept(try a.shareZone("list", with: [b.user]))
        var token = try b.sharedChanges().token
        try b.accept(try a.shareZone("plans", with: [b.user]))
        try a.save(["milk"], zone: ZoneID(name: "list"))
        let page = try b.sharedChanges(since: token)
        #expect(page.changed == [plans, list] && !page.moreComing)
        token = page.token
        #expect(try b.sharedChanges(since: token).changed == [])
        #expect(try b.modify(list, saving: ["bread"]).saves.codes == [nil])
        #expect(try b.sharedChanges(since: token).changed == [list], "its own changes, too")
        try a.deleteZone("list")
        let after = try b.sharedChanges(since: token)
        #expect(after.deletions == [.init(zone: list, reason: .deleted)] && after.changed == [])
        #expect(try b.sharedZones() == [plans])
        #expect(throws: ServiceError.self) { try b.changes(of: list) }
    }

    @Test("comes in pages of one zone each, and misses none that changes meanwhile")
    func paging() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        for name in ["one", "two", "three"] { try b.accept(try a.shareZone(name, with: [b.user])) }
        var (token, seen, round) = ([UInt8](), [String](), 0)
        while true {
            let page = try b.sharedChanges(since: token, limit: 1)
            seen += page.changed.map(\.name)
            token = page.token
            round += 1
            if round < 4 { try a.save(["r\(round)"], zone: ZoneID(name: "one")) }
            if !page.moreComing { break }
        }
        #expect(seen == ["one", "two", "three", "one"])
    }

    @Test("is left by deleting a zone, and by deleting its share")
    func leaving() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let zone = ZoneID(name: "list", owner: a.user)
        let url = try a.shareZone("list", publicPermission: .readWrite)
        try a.save(["milk"], zone: ZoneID(name: "list"))
        try b.accept(url)
        let token = try b.changes(of: zone).token
        #expect(try b.leave([zone]) == [nil])
        #expect(try b.sharedZones() == [])
        #expect(try b.fetch(["milk"], in: zone, of: .shared).texts == ["zoneNotFound"])
        #expect(try b.leave([zone]) == [nil], "leaving again succeeds")
        #expect(try a.fetch(["milk"], in: ZoneID(name: "list")).texts == ["milk"], "the owner keeps the zone")
        try b.accept(url)
        #expect(throws: ServiceError.self) { try b.changes(of: zone, since: token) }
        let result = try b.modify(zone, saving: ["bread"], deleting: [Names.zoneShare])
        #expect(result.saves.codes == [.permissionFailure] && result.deletions == [nil])
        #expect(try b.sharedZones() == [])
        #expect(try a.fetch(["bread"], in: ZoneID(name: "list")).texts == ["unknownItem"])
    }

    @Test("is left again by the same request, and by another one, where nothing else of the zone was shared")
    func leavingAgain() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let (zone, plans) = (ZoneID(name: "list", owner: a.user), ZoneID(name: "plans", owner: a.user))
        let operation = [UInt8](repeating: 1, count: 16)
        try b.accept(try a.shareZone("list", publicPermission: .readWrite))
        for _ in 0..<2 {
            #expect(try b.modify(zone, deleting: [Names.zoneShare], operation: operation).deletions == [nil])
        }
        #expect(try b.modify(zone, deleting: [Names.zoneShare, "milk"]).deletions == [nil, nil])
        let result = try b.modify(zone, saving: ["bread"], deleting: [Names.zoneShare])
        #expect(result.saves.codes == [.zoneNotFound] && result.deletions.map(\.?.code) == [.zoneNotFound])
        // The user never took part in this one.
        #expect(try b.modify(plans, deleting: [Names.zoneShare]).deletions.map(\.?.code) == [.zoneNotFound])
    }

    @Test("loses a zone when its owner removes the participant, and gets it back with another acceptance")
    func removal() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let zone = ZoneID(name: "list", owner: a.user)
        let url = try a.shareZone("list", with: [b.user])
        try b.accept(url)
        let token = try b.sharedChanges().token
        try a.changeShare(of: "list", .removing([b.user]))
        #expect(try b.sharedChanges(since: token).deletions.map(\.zone) == [zone])
        #expect(try b.modify(zone, saving: ["milk"]).saves.codes == [.zoneNotFound])
        #expect(throws: ServiceError.self) { try b.accept(url) }
        try a.changeShare(of: "list", .inviting([b.user], permission: .readOnly))
        try b.accept(url)
        let page = try b.sharedChanges(since: token)
        #expect(page.changed == [zone] && page.deletions == [])
        #expect(page.earlierDeletions.map(\.zone) == [zone], "what the device has of the earlier part goes first")
        #expect(try b.sharedChanges(since: page.token).earlierDeletions.isEmpty)
        #expect(try b.sharedChanges().earlierDeletions.isEmpty)
    }

    @Test("says to nobody but their owner how queries of its zones run")
    func explanations() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        try b.accept(try a.shareZone("list", with: [b.user]))
        try a.makeZone("trees")
        try b.accept(try a.shareRecord("food", in: "trees", with: [b.user]))
        func query(_ scope: DatabaseScope, _ zone: ZoneID) -> QueryRequest {
            QueryRequest(database: scope, zone: zone, query: Query(recordType: "List", predicate: .constant(true)))
        }
        for name in ["list", "trees"] {
            let error = #expect(throws: ServiceError.self) {
                try b.explain(query(.shared, ZoneID(name: name, owner: a.user)))
            }
            #expect(error?.code == .permissionFailure, "\(name)")
            #expect(throws: Never.self) { try a.explain(query(.private, ZoneID(name: name))) }
        }
    }

    @Test("keeps an operation of a participant apart from the owner's of the same id")
    func operations() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let zone = ZoneID(name: "list", owner: a.user)
        try b.accept(try a.shareZone("list", with: [b.user]))
        let id = [UInt8](repeating: 5, count: 16)
        #expect(try a.modify(ZoneID(name: "list"), of: .private, saving: ["a"], operation: id).saves.codes == [nil])
        #expect(try b.modify(zone, saving: ["b"], operation: id).saves.codes == [nil])
        #expect(try b.modify(zone, saving: ["b"], operation: id).saves.codes == [nil])
        #expect(try a.fetch(["a", "b"], in: ZoneID(name: "list")).texts == ["a", "b"])
    }

    @Test("says of another's zone what it says of one that never was, before and after the user took part")
    func absence() throws {
        let server = try Self.server()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let url = try a.shareZone("list", with: [b.user])
        func answers(_ zone: ZoneID) throws -> [String] {
            var answers: [String] = []
            answers.append("\(try b.fetch(["milk"], in: zone, of: .shared))")
            answers.append("\(try b.modify(zone, saving: ["x"], deleting: ["y"]))")
            do { _ = try b.changes(of: zone) } catch { answers.append("\(error)") }
            answers.append("\(try b.fetchZones([zone], of: .shared))")
            let query = QueryRequest(
                database: .shared, zone: zone, query: Query(recordType: "Note", predicate: .constant(true)))
            do { _ = try b.query(query) } catch { answers.append("\(error)") }
            return answers
        }
        let never = try answers(ZoneID(name: "never", owner: a.user))
        #expect(never.count == 5)
        #expect(try answers(ZoneID(name: "list", owner: a.user)) == never)
        #expect(try answers(ZoneID(name: "list", owner: b.user)) == never)
        #expect(try answers(ZoneID(name: "list", owner: "_" + String(repeating: "5", count: 32))) == never)
        try b.accept(url)
        #expect(try answers(ZoneID(name: "list", owner: a.user)) != never)
        #expect(try answers(ZoneID(name: "never", owner: a.user)) == never)
        try a.changeShare(of: "list", .removing([b.user]))
        #expect(try answers(ZoneID(name: "list", owner: a.user)) == never)
    }
}
