import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What a user who takes part in a share is answered while others do what is not shown to them: the same, byte for byte
/// (Documentation/CloudKit.md, Sharing, rules 21 and 24).
@Suite("Answers to participants")
struct UnchangedAnswersTests {
    /// All that a user reads of a zone, from before.
    private func reads(
        _ peer: FrameWatcher, _ zone: ZoneID, _ names: [String], zoneToken: [UInt8], databaseToken: [UInt8]
    ) -> [FrameWatcher.Request] {
        [
            peer.listZones, peer.zones([zone]), peer.fetch([zone], names), peer.changes(zone),
            peer.changes(zone, limit: 1), peer.changes(zone, since: zoneToken), peer.databaseChanges(),
            peer.databaseChanges(since: databaseToken), peer.query(zone), peer.query(zone, "List"),
            peer.query(zone, limit: 1), peer.query(zone, Names.shareType),
        ]
    }

    @Test("find no byte of any answer changed by what the owner does elsewhere", arguments: [true, false])
    func elsewhere(isWhole: Bool) throws {
        let server = try SteppedServer { $0.loopCount = 2 }
        let (a, c) = (try server.connect(account: "a"), try server.connect(account: "c"))
        let b = try FrameWatcher(server, account: "b")
        let (own, zone) = (ZoneID(name: "lists"), ZoneID(name: "lists", owner: a.user))
        if isWhole {
            try b.peer.accept(try a.shareZone("lists", with: [b.user]))
            try a.save(["milk", "bread"], zone: own)
            // Types are the container's.
            try a.save(["food"], type: "List", zone: own)
        } else {
            try a.makeZone("lists")
            try b.peer.accept(try a.shareRecord("food", in: "lists", with: [b.user]))
            #expect(try a.save(["milk", "bread"], below: "food", in: own, of: .private) == [nil, nil])
            try a.save(["diary", "old"], zone: own)
        }
        try a.makeZone("others")
        try b.peer.subscribe(Subscription(id: "all", kind: .database(recordType: "")), in: .shared)
        let stream = b.peer.openNotifications()
        _ = try b.peer.takeEvents(stream)
        let requests = reads(
            b, zone, ["food", "s-food", "milk", Names.zoneShare, "none"],
            zoneToken: try b.peer.changes(of: zone).token, databaseToken: try b.peer.sharedChanges().token)
        let before = b.ask(requests)
        expectSame(b.ask(requests), before, "nothing happened")

        try a.save(["x", "y"], zone: ZoneID(name: "others"))
        try a.save(["x"])
        for name in ["new", "shared"] { try a.makeZone(name) }
        try a.deleteZone("new")
        try a.subscribe(Subscription(id: "own", kind: .database(recordType: "")))
        try c.accept(try a.shareRecord("work", in: "others", with: [c.user]))
        #expect(
            try c.save(["n"], below: "work", in: ZoneID(name: "others", owner: a.user), of: .shared) == [nil])
        if !isWhole {
            #expect(
                try a.modify(own, of: .private, saving: ["diary", "page"], deleting: ["old"]).saves.codes == [nil, nil])
            try c.accept(try a.shareRecord("plans", in: "lists", with: [c.user]))
            #expect(try c.save(["m"], below: "plans", in: zone, of: .shared) == [nil])
            #expect(try a.modify(own, of: .private, deleting: ["s-plans"]).deletions == [nil])
        }
        #expect(try b.peer.takeEvents(stream).isEmpty)
        expectSame(b.ask(requests), before, "elsewhere")
        if isWhole {
            try a.save(["last"], zone: own)
        } else {
            #expect(try a.save(["last"], below: "food", in: own, of: .private) == [nil])
        }
        #expect(b.ask(requests) != before)
    }

    // MARK: What those do who manage a share

    @Test(
        "find no byte of any answer changed by whom others invite, block or hear requests of", arguments: [true, false])
    func managers(isWhole: Bool) throws {
        let server = try SteppedServer { $0.loopCount = 2 }
        let (a, manager) = (try server.connect(account: "a"), try server.connect(account: "c"))
        let (b, stranger) = (try FrameWatcher(server, account: "b"), try FrameWatcher(server, account: "d"))
        let (own, zone) = (ZoneID(name: "lists"), ZoneID(name: "lists", owner: a.user))
        let share = isWhole ? Names.zoneShare : "s-food"
        try a.makeZone("lists")
        var edit = ShareEdit.inviting([b.user])
        edit.puts.append(.init(id: "m", invitee: .user(manager.user), role: .administrator, permission: .readWrite))
        edit.allowsAccessRequests = true
        var modification = ZoneModification<DecodedFields>(
            zone: own, saves: [RecordSave(name: share, type: Names.shareType, fields: ["cloudkit.title": .string("x")])]
        )
        if !isWhole { modification.saves.append(RecordSave(name: "food", type: "List", fields: [:])) }
        modification.shares[share] = ShareSave(root: isWhole ? "" : "food", edit: edit)
        let saves = try a.modify(ModifyRecordsRequest(database: .private, zones: [modification]))[0].saves
        guard case .record(let saved) = saves[0].outcome else { throw TestFailure("\(saves)") }
        let url = try #require(saved.shareDetails).url
        for peer in [b.peer, manager] {
            try peer.accept(url)
            try peer.subscribe(Subscription(id: "all", kind: .database(recordType: "")), in: .shared)
        }
        try a.save(["milk", "bread"], zone: own)
        let streams = [b.peer.openNotifications(), manager.openNotifications()]
        for (peer, stream) in zip([b.peer, manager], streams) { _ = try peer.takeEvents(stream) }
        let tokens = (zone: try b.peer.changes(of: zone).token, shared: try b.peer.sharedChanges().token)
        let shown = try b.peer.share(share, in: zone, of: .shared).system
        let shownDate = Double(shown.modifiedMilliseconds) / 1000 - 978_307_200
        let requests =
            reads(b, zone, ["food", share, "milk"], zoneToken: tokens.zone, databaseToken: tokens.shared) + [
                b.metadata(url),
                b.query(zone, Names.shareType, .comparison(.modificationDate, .lessOrEqual, .date(shownDate))),
                // A save of another type, and an edit with a tag that is not the share's.
                b.modify(
                    [
                        ZoneModification(
                            zone: zone,
                            saves: [RecordSave(name: share, type: "Note", changeTag: shown.changeTag, fields: [:])])
                    ]),
                b.modify(
                    [ZoneModification(zone: zone, saves: [RecordSave(name: share, type: Names.shareType, fields: [:])])]
                ),
            ]
        let before = b.ask(requests)
        func change(_ peer: FramePeer, _ scope: DatabaseScope, _ change: (inout ShareEdit) -> Void) throws {
            let known = try peer.share(share, in: scope == .private ? own : zone, of: scope)
            var modification = ZoneModification<DecodedFields>(
                zone: scope == .private ? own : zone,
                saves: [
                    RecordSave(
                        name: share, type: Names.shareType, changeTag: known.system.changeTag,
                        fields: ["cloudkit.title": .string("x")])
                ])
            var edit = ShareEdit()
            change(&edit)
            modification.shares[share] = ShareSave(root: "", edit: edit)
            #expect(
                try peer.modify(ModifyRecordsRequest(database: scope, zones: [modification]))[0].saves.codes == [nil])
            server.turn(after: 2_000_000_000)
            let events = try peer === manager ? [] : manager.takeEvents(streams[1]).map(\.kind)
            #expect(peer === manager || events == [.databaseChanged(.shared)])
        }
        try change(a, .private) { edit in
            edit.puts = [
                .init(id: "later", invitee: .oneTime, permission: .readOnly),
                .init(id: "other", invitee: .handle(.email("else@example.com")), permission: .readOnly),
            ]
        }
        try change(a, .private) { $0.removals = ["later"] }
        stranger.ask([stranger.requestAccess(url)])
        #expect(try manager.takeEvents(streams[1]).map(\.kind) == [.databaseChanged(.shared)])
        #expect(try manager.share(share, in: zone, of: .shared).shareDetails?.requesters.count == 1)
        try change(manager, .shared) { $0.blocks = [stranger.user] }
        #expect(try b.peer.takeEvents(streams[0]).isEmpty)
        expectSame(b.ask(requests), before, "what concerns those alone who manage the share")

        // What is shown to all is told to all.
        try change(a, .private) { $0.puts = [.init(id: b.user, invitee: .user(b.user), permission: .readOnly)] }
        #expect(try b.peer.takeEvents(streams[0]).map(\.kind) == [.databaseChanged(.shared)])
        #expect(try b.peer.changes(of: zone, since: tokens.zone).records.map(\.system.name) == [share])
        #expect(b.ask(requests) != before)
    }
}

extension FramePeer {
    fileprivate func share(_ name: String, in zone: ZoneID, of database: DatabaseScope) throws -> Record {
        guard case .record(let share) = try fetch([name], in: zone, of: database)[0] else {
            throw TestFailure("the share is not there")
        }
        return share
    }
}
