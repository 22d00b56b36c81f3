import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeServer

/// What a second account's devices are told of zones in which it takes part.
@Suite("Pushes of the shared database")
struct SharedPushTests {
    private static let subscription = Subscription(id: "all", kind: .database(recordType: ""))

    private struct Players {
        let server: SteppedServer
        let a: FramePeer
        let b: FramePeer
        let zone: ZoneID
        let url: String

        /// b takes part in a's zone, and is subscribed.
        init(_ loops: Int = 2, subscription: Subscription = SharedPushTests.subscription) throws {
            server = try SteppedServer { $0.loopCount = loops }
            a = try server.connect(account: "a")
            b = try server.connect(account: "b")
            url = try a.shareZone("list", publicPermission: .readWrite)
            zone = ZoneID(name: "list", owner: a.user)
            try b.accept(url)
            try b.subscribe(subscription, in: .shared)
        }

        /// Opens b's stream, and takes the order to fetch that a first stream begins with.
        func listen() throws -> (stream: UInt32, position: [UInt8]) {
            let stream = b.openNotifications()
            let events = try b.takeEvents(stream)
            #expect(
                events.map(\.kind) == [
                    .ready(resumed: events.contains { $0.kind == .ready(resumed: true) }), .fetchFromToken(.shared),
                ])
            return (stream, events.last!.position)
        }
    }

    @Test("tell once of what changed, whoever changed it, but not the device that did", arguments: [1, 2])
    func changes(loops: Int) throws {
        let players = try Players(loops)
        let (stream, _) = try players.listen()
        try players.a.save(["milk", "bread"], zone: ZoneID(name: "list"))
        let events = try players.b.takeEvents(stream)
        #expect(events.map(\.kind) == [.databaseChanged(.shared)] && events[0].subscriptionID == "all")
        #expect(try players.b.modify(players.zone, saving: ["eggs"]).saves.codes == [nil])
        #expect(try players.b.takeEvents(stream).isEmpty, "its own change")
        let other = try players.server.connect(account: "b", device: 10)
        #expect(try other.modify(players.zone, saving: ["ham"]).saves.codes == [nil])
        #expect(try players.b.takeEvents(stream).map(\.kind) == [.databaseChanged(.shared)])
        try players.a.makeZone("unshared")
        try players.a.save(["secret"], zone: ZoneID(name: "unshared"))
        #expect(try players.b.takeEvents(stream).isEmpty)
    }

    @Test("tell nobody but those who manage a share that somebody asks for access", arguments: [true, false])
    func requesters(isWhole: Bool) throws {
        let server = try SteppedServer { $0.loopCount = 2 }
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let (manager, stranger) = (try server.connect(account: "c"), try FrameWatcher(server, account: "d"))
        try a.makeZone("lists")
        let (share, root) = isWhole ? (Names.zoneShare, "") : ("s-food", "food")
        var edit = ShareEdit.inviting([b.user])
        edit.puts.append(.init(id: "m", invitee: .user(manager.user), role: .administrator, permission: .readWrite))
        edit.allowsAccessRequests = true
        var modification = ZoneModification<DecodedFields>(
            zone: ZoneID(name: "lists"), saves: [RecordSave(name: share, type: Names.shareType, fields: [:])])
        if !isWhole { modification.saves.append(RecordSave(name: root, type: "List", fields: [:])) }
        modification.shares[share] = ShareSave(root: root, edit: edit)
        let saves = try a.modify(ModifyRecordsRequest(database: .private, zones: [modification]))[0].saves
        guard case .record(let saved) = saves[0].outcome else { throw TestFailure("\(saves)") }
        let url = try #require(saved.shareDetails).url
        var streams: [UInt32] = []
        for peer in [b, manager] {
            try peer.accept(url)
            try peer.subscribe(Self.subscription, in: .shared)
            streams.append(peer.openNotifications())
            _ = try peer.takeEvents(streams.last!)
        }
        _ = try b.takeEvents(streams[0])
        let tokens = try [b, manager].map { try $0.sharedChanges().token }
        stranger.ask([stranger.requestAccess(url)])
        #expect(try b.takeEvents(streams[0]).isEmpty)
        #expect(try b.sharedChanges(since: tokens[0]).changed.isEmpty)
        #expect(try manager.takeEvents(streams[1]).map(\.kind) == [.databaseChanged(.shared)])
        #expect(try manager.sharedChanges(since: tokens[1]).changed == [ZoneID(name: "lists", owner: a.user)])
    }

    @Test("tell of zones that come and go")
    func zones() throws {
        let players = try Players()
        let (stream, _) = try players.listen()
        let other = try players.server.connect(account: "b", device: 10)
        try other.accept(try players.a.shareZone("plans", with: [players.b.user]))
        #expect(try players.b.takeEvents(stream).map(\.kind) == [.databaseChanged(.shared)])
        try players.a.deleteZone("plans")
        #expect(try players.b.takeEvents(stream).map(\.kind) == [.databaseChanged(.shared)])
        try players.a.changeShare(of: "list", .publicPermission(.none))
        #expect(try players.b.takeEvents(stream).map(\.kind) == [.databaseChanged(.shared)])
        try players.a.save(["milk"], zone: ZoneID(name: "list"))
        #expect(try players.b.takeEvents(stream).isEmpty, "it takes no part any more")
    }

    @Test("are of the types that the subscription asks for")
    func types() throws {
        let players = try Players(subscription: Subscription(id: "notes", kind: .database(recordType: "Note")))
        let (stream, _) = try players.listen()
        try players.a.save(["milk"], type: "Plan", zone: ZoneID(name: "list"))
        #expect(try players.b.takeEvents(stream).isEmpty)
        try players.a.save(["bread"], zone: ZoneID(name: "list"))
        #expect(try players.b.takeEvents(stream).map(\.kind) == [.databaseChanged(.shared)])
    }

    @Test("that were missed are told as one when the device comes back, as an order to fetch after a restart")
    func missed() throws {
        let players = try Players()
        let (_, position) = try players.listen()
        players.b.disconnect()
        for name in ["milk", "bread"] { try players.a.save([name], zone: ZoneID(name: "list")) }
        let again = try players.server.connect(account: "b")
        let stream = again.openNotifications(position: position)
        let events = try again.takeEvents(stream)
        #expect(events.map(\.kind) == [.ready(resumed: true), .databaseChanged(.shared)])
        again.disconnect()
        let last = try players.server.connect(account: "b")
        #expect(
            try last.takeEvents(last.openNotifications(position: events[1].position)).map(\.kind)
                == [.ready(resumed: true)], "nothing was missed")
    }

    @Test("end with the subscription, of which there are database ones alone")
    func subscriptions() throws {
        let players = try Players()
        #expect(throws: ServiceError.self) {
            try players.b.subscribe(Subscription(id: "zone", kind: .zone(players.zone, recordType: "")), in: .shared)
        }
        let query = QuerySubscription(
            recordType: "Note", predicate: .constant(true), options: [.creation], zone: players.zone)
        #expect(throws: ServiceError.self) {
            try players.b.subscribe(Subscription(id: "query", kind: .query(query)), in: .shared)
        }
        // One of the same id in the private database is another.
        try players.b.subscribe(Self.subscription)
        let (stream, _) = try players.listen()
        try players.b.unsubscribe("all", in: .shared)
        try players.a.save(["milk"], zone: ZoneID(name: "list"))
        #expect(try players.b.takeEvents(stream).isEmpty)
    }
}
