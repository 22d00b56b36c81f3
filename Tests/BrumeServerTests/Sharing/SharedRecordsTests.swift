import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeServer

/// Single records that are shared, as other accounts see them and are told of them.
@Suite("Shared records")
struct SharedRecordsTests {
    private struct Players {
        let server: SteppedServer
        let a: FramePeer
        let b: FramePeer
        let c: FramePeer
        let own = ZoneID(name: "lists")
        let zone: ZoneID

        /// a shares the record "food" with b, and "plans" with c.
        init(_ loops: Int = 2, disk: SimulatedDisk = SimulatedDisk()) throws {
            server = try SteppedServer(disk: disk) { $0.loopCount = loops }
            a = try server.connect(account: "a")
            b = try server.connect(account: "b")
            c = try server.connect(account: "c")
            zone = ZoneID(name: "lists", owner: a.user)
            try a.makeZone("lists")
            try b.accept(try a.shareRecord("food", in: "lists", with: [b.user]))
            try c.accept(try a.shareRecord("plans", in: "lists", with: [c.user]))
        }

        /// Opens a subscribed stream, and takes what it begins with.
        func listen(_ peer: FramePeer, type: String = "") throws -> UInt32 {
            try peer.subscribe(Subscription(id: "all", kind: .database(recordType: type)), in: .shared)
            let stream = peer.openNotifications()
            _ = try peer.takeEvents(stream)
            return stream
        }
    }

    @Test("are in one zone with what stands below them, and nothing beside", arguments: [1, 2, 3])
    func reading(loops: Int) throws {
        let players = try Players(loops)
        #expect(try players.a.save(["milk"], below: "food", in: players.own, of: .private) == [nil])
        try players.a.save(["diary"], zone: players.own)
        #expect(try players.b.sharedZones() == [players.zone] && players.c.sharedZones() == [players.zone])
        #expect(try names(players.b.changes(of: players.zone)) == ["food", "s-food", "milk"])
        #expect(try names(players.c.changes(of: players.zone)) == ["plans", "s-plans"])
        let texts = try players.b.fetch(["food", "milk", "diary", "plans", "none"], in: players.zone, of: .shared).texts
        #expect(texts == ["food", "milk", "unknownItem", "unknownItem", "unknownItem"])
        let all = Query(recordType: "Note", predicate: .constant(true))
        let matches = try players.b.query(QueryRequest(database: .shared, zone: players.zone, query: all)).matches
        #expect(matches.map(\.record.system.name) == ["milk"])
    }

    @Test("are written below what is shared, and nowhere else")
    func writing() throws {
        let players = try Players()
        #expect(try players.b.save(["milk"], below: "food", in: players.zone, of: .shared) == [nil])
        #expect(try players.b.save(["x"], below: "plans", in: players.zone, of: .shared) == [.permissionFailure])
        #expect(try players.b.save(["x"], below: "none", in: players.zone, of: .shared) == [.permissionFailure])
        #expect(try players.b.save(["milk"], below: "plans", in: players.zone, of: .shared) == [.permissionFailure])
        #expect(try players.b.modify(players.zone, saving: ["x"]).saves.codes == [.permissionFailure])
        #expect(try players.b.modify(players.zone, deleting: ["plans", "none"]).deletions == [nil, nil])
        #expect(
            try players.a.fetch(["milk", "plans", "x"], in: players.own).texts == ["milk", "plans", "unknownItem"])
    }

    @Test("are told of to those alone who see what changed", arguments: [1, 2, 3])
    func pushes(loops: Int) throws {
        let players = try Players(loops)
        let (b, c) = (try players.listen(players.b), try players.listen(players.c))
        #expect(try players.a.save(["milk"], below: "food", in: players.own, of: .private) == [nil])
        #expect(try players.b.takeEvents(b).map(\.kind) == [.databaseChanged(.shared)])
        #expect(try players.c.takeEvents(c).isEmpty)
        try players.a.save(["diary"], zone: players.own)
        #expect(try players.b.takeEvents(b).isEmpty && players.c.takeEvents(c).isEmpty)
        let before = try players.c.sharedChanges()
        #expect(try players.a.save(["bread"], below: "food", in: players.own, of: .private) == [nil])
        #expect(try players.b.takeEvents(b).count == 1)
        #expect(try players.c.sharedChanges(since: before.token).changed.isEmpty, "nor does a fetch tell of it")
        // What moves from one to the other concerns both.
        #expect(try players.a.save(["milk"], below: "plans", in: players.own, of: .private) == [nil])
        #expect(try players.c.takeEvents(c).map(\.kind) == [.databaseChanged(.shared)])
        #expect(try players.b.takeEvents(b).map(\.kind) == [.databaseChanged(.shared)])
    }

    @Test("are told of by the types of what changed there, and by any type when there is more to see")
    func types() throws {
        let players = try Players()
        let stream = try players.listen(players.b, type: "Photo")
        #expect(try players.a.save(["milk"], below: "food", in: players.own, of: .private) == [nil])
        #expect(try players.b.takeEvents(stream).isEmpty)
        #expect(try players.a.save(["p"], below: "plans", in: players.own, of: .private, type: "Photo") == [nil])
        #expect(try players.b.takeEvents(stream).isEmpty, "others' photos are none of b's")
        #expect(try players.a.save(["q"], below: "food", in: players.own, of: .private, type: "Photo") == [nil])
        #expect(try players.b.takeEvents(stream).count == 1)
        try players.b.accept(try players.a.shareRecord("work", in: "lists", with: [players.b.user]))
        #expect(try players.b.takeEvents(stream).count == 1, "also the device that accepted")
    }

    @Test("go one by one, and the zone with the last of them", arguments: [1, 2, 3])
    func ending(loops: Int) throws {
        let players = try Players(loops)
        try players.b.accept(try players.a.shareRecord("work", in: "lists", with: [players.b.user]))
        let stream = try players.listen(players.b)
        let (zones, records) = (try players.b.sharedChanges().token, try players.b.changes(of: players.zone).token)
        #expect(try players.a.modify(players.own, of: .private, deleting: ["s-work"]).deletions == [nil])
        #expect(try players.b.takeEvents(stream).count == 1)
        let changed = try players.b.sharedChanges(since: zones)
        #expect(changed.changed == [players.zone] && changed.deletions.isEmpty)
        let page = try players.b.changes(of: players.zone, since: records)
        #expect(Set(page.deletions.map(\.name)) == ["work", "s-work"] && page.records.isEmpty)
        #expect(try players.b.modify(players.zone, deleting: ["s-food"]).deletions == [nil])
        #expect(try players.b.sharedZones() == [])
        let gone = try players.b.sharedChanges(since: changed.token)
        #expect(gone.deletions.map(\.zone) == [players.zone] && gone.changed.isEmpty)
        #expect(try names(players.c.changes(of: players.zone)) == ["plans", "s-plans"])
    }

    @Test("are the same after a restart, from every token", arguments: [false, true])
    func restart(hasSnapshot: Bool) throws {
        let disk = SimulatedDisk()
        let players = try Players(1, disk: disk)
        try players.b.accept(try players.a.shareRecord("work", in: "lists", with: [players.b.user]))
        #expect(try players.a.save(["milk"], below: "food", in: players.own, of: .private) == [nil])
        let token = try players.b.changes(of: players.zone, limit: 2).token
        if hasSnapshot { players.server.snapshot() }
        #expect(try players.a.modify(players.own, of: .private, deleting: ["s-work"]).deletions == [nil])
        let before = try players.b.changes(of: players.zone, since: token)
        disk.crash(seed: 1, .nothing)
        let server = try SteppedServer(disk: disk, run: 2)
        let b = try server.connect(account: "b")
        let after = try b.changes(of: players.zone, since: token)
        #expect(names(after) == names(before) && after.deletions == before.deletions)
        #expect(try names(b.changes(of: players.zone)) == ["food", "s-food", "milk"])
    }

    private func names(_ page: ZoneChangesPage<Record, [UInt8]>) -> Set<String> {
        Set(page.records.map(\.system.name))
    }
}
