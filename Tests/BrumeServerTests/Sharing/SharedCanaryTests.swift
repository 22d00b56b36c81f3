import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// Words that stand in what a participant does not see, and in no byte that they are ever sent.
@Suite("Canaries in shared zones")
struct SharedCanaryTests {
    /// What b must not be sent, unless they said it themselves: names and texts.
    private static let words = [
        "zone", "record", "folder", "diary", "page", "plans", "sheet", "came", "text", "again", "gone",
    ].map { "canary \($0)" }

    private static func save(
        _ name: String, type: String = "Note", tag: String = "", parent: ParentChange = .unchanged,
        _ fields: [String: FieldValue?] = [:]
    ) -> RecordSave<DecodedFields> {
        RecordSave(name: name, type: type, changeTag: tag, parent: parent, fields: fields)
    }

    /// The owner's zone: "food" is shared with b, below a folder that is not.
    private struct Zone {
        let server: SteppedServer
        let a: FramePeer
        let c: FramePeer
        let d: FramePeer
        let b: FrameWatcher
        let own = ZoneID(name: "lists")
        let zone: ZoneID
        let url: String
        /// Those words, and what belongs to other users.
        private(set) var secrets = (words + ["canary@example.com"]).map { Array($0.utf8) }

        init() throws {
            server = try SteppedServer {
                $0.loopCount = 2
                $0.quotaBytes = 200_000
            }
            a = try server.connect(account: "a")
            b = try FrameWatcher(server, account: "b")
            (c, d) = (try server.connect(account: "c"), try server.connect(account: "d"))
            zone = ZoneID(name: "lists", owner: a.user)
            for name in ["lists", "canary zone"] { try a.makeZone(name) }
            try a.save(["canary record"], zone: ZoneID(name: "canary zone")) { _ in ["text": .string("canary text")] }
            try a.save(["canary folder", "canary diary", "canary gone"], zone: own) { _ in
                ["text": .string("canary text")]
            }
            #expect(try a.save(["canary page"], below: "canary diary", in: own, of: .private) == [nil])
            // The canary plans are in another share, which c accepts.
            let plans = try a.shareRecord("canary plans", in: "lists", with: [c.user])
            secrets.append(Array(plans.utf8))
            try c.accept(plans)
            #expect(try a.save(["canary sheet"], below: "canary plans", in: own, of: .private) == [nil])
            url = try Self.share(a, with: b.user)
            secrets += [c.user, d.user].map { Array($0.utf8) }
            // And what c and d do at b's own share is for its owner alone.
            #expect(try d.call(.sharesRequestAccess, MessageCoder().encodeRequestAccessRequest(url: url)).isEmpty)
            let details = try Self.details(a)
            let oneTimeURLs = details.participants.map(\.oneTimeURL).filter { !$0.isEmpty }
            #expect(oneTimeURLs.count == 1 && details.requesters.map(\.user) == [d.user])
            secrets += oneTimeURLs.map { Array($0.utf8) }
        }

        private static func details(_ owner: FramePeer) throws -> ShareView {
            guard case .record(let share) = try owner.fetch(["s-food"], in: ZoneID(name: "lists"))[0] else {
                throw TestFailure("the share is not there")
            }
            return try #require(share.shareDetails)
        }

        /// Shares a record below the folder with b, and invites others.
        private static func share(_ a: FramePeer, with user: String) throws -> String {
            var edit = ShareEdit.inviting([user])
            edit.allowsAccessRequests = true
            edit.puts += [
                .init(id: "handle", invitee: .handle(.email("canary@example.com")), permission: .readOnly),
                .init(id: "once", invitee: .oneTime, permission: .readOnly),
            ]
            var modification = ZoneModification<DecodedFields>(
                zone: ZoneID(name: "lists"),
                saves: [
                    save("s-food", type: Names.shareType, ["note": .string("of all")]),
                    save("food", type: "List", parent: .set("canary folder"), ["text": .string("shared")]),
                    save("milk", parent: .set("food"), ["text": .string("shared")]),
                ])
            modification.shares["s-food"] = ShareSave(root: "food", edit: edit)
            let answer = try a.modify(ModifyRecordsRequest(database: .private, zones: [modification]))[0]
            guard case .record(let share) = answer.saves[0].outcome else { throw TestFailure("\(answer.saves)") }
            return try #require(share.shareDetails).url
        }

        /// Everything that b asks in the zone: what they may and what they may not, with names that they can't know.
        func ask(token: [UInt8] = []) {
            b.ask([
                b.metadata(url), b.listZones, b.zones([zone, ZoneID(name: "never", owner: a.user)]),
                b.databaseChanges(),
                b.query(nil),
            ])
            for limit in [0, 1] { b.ask([b.changes(zone, limit: limit), b.changes(zone, since: token, limit: limit)]) }
            let names = ["food", "s-food", "milk", "none", Names.zoneShare]
            for keys: DesiredKeys? in [nil, [], ["text"]] { b.ask([b.fetch([zone], names, keys: keys)]) }
            let missing = FieldValue.reference(.init(recordName: "none", deletesSelf: false))
            for type in ["Note", "List", Names.shareType, "None"] {
                b.ask([
                    b.query(zone, type), b.query(zone, type, limit: 1), b.query(zone, type, explains: true),
                    b.query(zone, type, .comparison(.parent, .equal, missing)),
                    b.query(zone, type, .not(.comparison(.parent, .equal, missing))),
                    b.query(zone, type, .comparison(.field("text"), .notEqual, .string("shared"))),
                ])
            }
            typealias Save = RecordSave<DecodedFields>
            func save(
                _ name: String, type: String = "Note", tag: String = "", parent: ParentChange = .unchanged,
                _ fields: [String: FieldValue?] = [:]
            ) -> Save { SharedCanaryTests.save(name, type: type, tag: tag, parent: parent, fields) }
            var batches: [(saves: [Save], deletions: [String])] = [
                // Conflicts: the server's record of a root, of a share and of another one.
                ([save("food", type: "List", tag: "old"), save("s-food", type: Names.shareType, tag: "old")], []),
                ([save("milk", tag: "old"), save("milk", tag: "old"), save("food", tag: "old")], []),
                ([save("food", type: "List", parent: .set("milk"))], []), ([save("food", parent: .removed)], []),
                ([save("milk", parent: .removed)], []), ([save("milk", parent: .set("none"))], []), ([], ["food"]),
                ([save("s-new", type: Names.shareType), save("new", parent: .set("food"))], ["none"]),
                ([save("big", parent: .set("food"), ["text": .string(String(repeating: "x", count: 190_000))])], []),
            ]
            let unseen = ["canary folder", "canary diary", "canary page", "canary plans", "s-canary plans"]
            for name in unseen {
                batches += [
                    ([save(name, parent: .set("food"))], []), ([save(name, tag: "old")], []), ([save(name)], [name]),
                    ([save("new", parent: .set(name))], []), ([save("milk", parent: .set(name))], []), ([], [name]),
                    ([save(name, type: Names.shareType)], ["food"]),
                ]
                b.ask([b.fetch([zone], [name])])
            }
            for batch in batches {
                for policy: SavePolicy in [.ifServerRecordUnchanged, .changedKeys, .allKeys] {
                    for isAtomic in [true, false] {
                        let modification = ZoneModification(zone: zone, saves: batch.saves, deletions: batch.deletions)
                        b.ask([b.modify([modification], policy: policy, isAtomic: isAtomic)])
                    }
                }
            }
            // What changes the root and its share is answered with them.
            for (name, type) in [("food", "List"), ("milk", "Note")] {
                b.ask([
                    b.modify(
                        [ZoneModification(zone: zone, saves: [save(name, type: type, ["n": .int64(1)])])],
                        policy: .changedKeys)
                ])
            }
        }

        func expectSilence(_ comment: String, _ words: [[UInt8]]? = nil) {
            b.take()
            for (asked, bytes) in b.received {
                for word in words ?? secrets where bytes.containsBytes(word) && !asked.containsBytes(word) {
                    Issue.record("\(comment): b is sent \(String(decoding: word, as: UTF8.self))")
                }
            }
        }
    }

    @Test("no byte of an unseen parent, record, share, zone, handle or user reaches a participant, by any request")
    func canaries() throws {
        let zone = try Zone()
        let (a, b) = (zone.a, zone.b)
        zone.ask()
        zone.expectSilence("before it is accepted")
        b.ask([b.metadata(zone.url), b.accept(zone.url)])
        try b.peer.subscribe(Subscription(id: "all", kind: .database(recordType: "")), in: .shared)
        _ = b.peer.openNotifications()
        let token = try b.peer.changes(of: zone.zone).token
        zone.ask(token: token)
        zone.expectSilence("while nothing happens")
        #expect(b.received.contains { $0.bytes.containsBytes(Array("shared".utf8)) }, "b is sent something")

        // The owner goes on, above the root, beside it and with it.
        #expect(try a.save(["food"], below: "canary diary", in: zone.own, of: .private, type: "List") == [nil])
        try a.save(["canary folder"], zone: zone.own, policy: .allKeys) { _ in ["text": .string("canary again")] }
        #expect(try a.save(["canary came"], below: "canary plans", in: zone.own, of: .private) == [nil])
        #expect(try a.modify(zone.own, of: .private, deleting: ["canary gone"]).deletions == [nil])
        #expect(try a.save(["tea"], below: "food", in: zone.own, of: .private) == [nil])
        zone.ask(token: token)
        zone.expectSilence("after changes")

        // The share ends; what was in it goes on without b.
        #expect(try a.modify(zone.own, of: .private, deleting: ["s-food"]).deletions == [nil])
        for name in ["later", "tea"] { #expect(try a.save([name], below: "food", in: zone.own, of: .private) == [nil]) }
        zone.ask(token: token)
        zone.expectSilence("after the end")
        zone.expectSilence("after the end", [Array("later".utf8)])
    }

    @Test("a participant whom an owner's full account keeps from saving is told no figure, in no byte")
    func quota() throws {
        let zone = try Zone()
        let b = zone.b
        try b.peer.accept(zone.url)
        let save = Self.save("big", parent: .set("food"), ["text": .string(String(repeating: "x", count: 199_000))])
        let request = b.modify([ZoneModification(zone: zone.zone, saves: [save])])
        let stream = b.peer.start(request.method, request.bytes)
        zone.server.settle()
        let answer = try #require(b.peer.outcome(stream)).get().decoded(MessageCoder().decodeModifyRecordsResponse)
        guard case .failure(let error) = answer[0].saves[0].outcome else { throw TestFailure("there is room") }
        #expect(error.code == .quotaExceeded && !error.message.contains(where: \.isNumber))
        let first = b.ask(request.method, request.bytes)
        try zone.a.save(["more"]) { _ in ["text": .string("some bytes that take room in the account")] }
        #expect(b.ask(request.method, request.bytes) == first, "nor how much room there is")
        zone.expectSilence("without room")
    }
}
