import BrumeModel
import BrumeProtocol
import BrumeStore
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// What users learn who guess, or come with what is another's: absent and forbidden are answered alike, byte for byte,
/// and nobody's database is loaded for a guess (Documentation/CloudKit.md, Sharing).
@Suite("Guesses at what is shared")
struct SharedSilenceTests {
    private static let operation = [UInt8](repeating: 5, count: 16)

    /// What others hold of a zone.
    private struct Held {
        var tokens: [[UInt8]] = []
        var databaseTokens: [[UInt8]] = []
        var cursors: [[UInt8]] = []
    }

    /// All that can be asked of a zone.
    private func requests(_ peer: FrameWatcher, _ zone: ZoneID, _ held: Held) -> [FrameWatcher.Request] {
        func save(_ name: String, type: String = "Note", tag: String = "", parent: ParentChange = .unchanged)
            -> RecordSave<DecodedFields>
        {
            RecordSave(name: name, type: type, changeTag: tag, parent: parent, fields: [:])
        }
        func modification(_ saves: [RecordSave<DecodedFields>], _ deletions: [String] = [], share: ShareSave? = nil)
            -> ZoneModification<DecodedFields>
        {
            var modification = ZoneModification(zone: zone, saves: saves, deletions: deletions)
            if let share, let first = saves.first { modification.shares[first.name] = share }
            return modification
        }
        var requests = [
            peer.zones([zone]), peer.fetch([zone], ["milk", "never", Names.zoneShare]),
            peer.modifyZones(saves: [zone]), peer.modifyZones(deletions: [zone]), peer.query(zone, explains: true),
            peer.query(zone, Names.shareType), peer.changes(zone, since: [1, 2, 3]), peer.changes(zone, limit: 1),
            peer.query(zone, cursor: [1, 2, 3]),
            peer.query(zone, "Note", .comparison(.field("text"), .equal, .int64(1))),
        ]
        requests += held.tokens.map { peer.changes(zone, since: $0) }
        requests += held.cursors.map { peer.query(zone, cursor: $0, limit: 1) }
        let inviting = ShareSave(root: "", edit: .inviting([peer.user]))
        for isAtomic in [true, false] {
            for policy: SavePolicy in [.ifServerRecordUnchanged, .changedKeys, .allKeys] {
                requests += [
                    modification([save("milk"), save("x", tag: "zz"), save("y", parent: .set("milk"))], ["bread"]),
                    modification([], ["milk", "never"]), modification([], [Names.zoneShare]),
                    modification([save("z")], [Names.zoneShare]),
                    modification([save(Names.zoneShare, type: Names.shareType)], share: inviting),
                    modification([save("s", type: Names.shareType), save("r")], share: ShareSave(root: "r")),
                ].map { peer.modify([$0], policy: policy, isAtomic: isAtomic) }
            }
        }
        requests.append(
            peer.modify([modification([save("milk")])], policy: .allKeys, operation: Self.operation, clientToken: [1]))
        return requests
    }

    private func hold(_ peer: FramePeer, _ zone: ZoneID, of database: DatabaseScope, in held: inout Held) throws {
        held.tokens.append(try peer.changes(of: zone, in: database).token)
        held.tokens.append(try peer.changes(of: zone, in: database, limit: 1).token)
        for fetched in try peer.fetchZones([zone], of: database) {
            held.tokens.append(try fetched.get().changeToken)
        }
        let all = Query(recordType: "Note", predicate: .constant(true))
        let page = try peer.query(QueryRequest(database: database, zone: zone, query: all, resultsLimit: 1))
        #expect(!page.cursor.isEmpty)
        held.cursors.append(page.cursor)
        if database == .shared { held.databaseTokens.append(try peer.sharedChanges().token) }
    }

    private static func home(_ user: String) -> DatabaseID {
        DatabaseID(container: SteppedServer.container, environment: .development, scope: .private, owner: user)
    }

    @Test("of zones are answered alike, whoever's tokens, cursors and operations come with them, and load nothing")
    func zones() throws {
        let disk = SimulatedDisk()
        var held = Held()
        do {
            let server = try SteppedServer(disk: disk)
            let (a, c) = (try server.connect(account: "a"), try server.connect(account: "c"))
            let zone = ZoneID(name: "list", owner: a.user)
            try c.accept(try a.shareZone("list", with: [c.user]))
            try a.makeZone("secret")
            for name in ["list", "secret"] {
                try a.save(["milk", "bread"], zone: ZoneID(name: name)) { _ in ["text": .string("x")] }
            }
            #expect(
                try a.modify(ZoneID(name: "list"), of: .private, saving: ["milk"], operation: Self.operation).saves
                    .codes == [nil])
            #expect(try c.modify(zone, saving: ["milk"], operation: Self.operation).saves.codes == [nil])
            try hold(a, ZoneID(name: "list"), of: .private, in: &held)
            try hold(c, zone, of: .shared, in: &held)
            server.snapshot()
        }
        disk.crash(seed: 1, .nothing)
        let server = try SteppedServer(disk: disk, run: 2)
        let b = try FrameWatcher(server, account: "b")
        b.ask([b.listZones, b.databaseChanges()])
        let (loaded, owner) = (Set(server.loadedIDs), server.userRecordName(ofAccount: 1))
        #expect(!loaded.contains(Self.home(owner)) && loaded.contains(Self.home(b.user)))
        let never = b.ask(requests(b, ZoneID(name: "never", owner: owner), held))
        for zone in [
            ZoneID(name: "list", owner: owner), ZoneID(name: "secret", owner: owner),
            ZoneID(name: "list", owner: "_" + String(repeating: "5", count: 32)), ZoneID(name: "list", owner: b.user),
            ZoneID(name: "list"),
        ] {
            expectSame(b.ask(requests(b, zone, held)), never, "\(zone)")
        }
        for token in held.databaseTokens + held.tokens {
            let stream = b.peer.start(.databasesChanges, b.databaseChanges(since: token).bytes)
            server.settle()
            guard case .failure(let error)? = b.peer.outcome(stream) else { throw TestFailure("another's token opens") }
            #expect(error.code == .changeTokenExpired || error.code == .invalidArguments)
            b.take()
        }
        #expect(Set(server.loadedIDs) == loaded, "nobody's database was loaded")
    }

    @Test("of other zones of an owner are answered alike to a user who takes part in one", arguments: [1, 2, 3])
    func besideOnesOwn(loops: Int) throws {
        let server = try SteppedServer { $0.loopCount = loops }
        let (a, c) = (try server.connect(account: "a"), try server.connect(account: "c"))
        let b = try FrameWatcher(server, account: "b")
        func zone(_ name: String) -> ZoneID { ZoneID(name: name, owner: a.user) }
        var held = Held()
        try b.peer.accept(try a.shareZone("list", with: [b.user]))
        try c.accept(try a.shareZone("others", with: [c.user]))
        for name in ["secret", "gone"] { try a.makeZone(name) }
        for name in ["list", "others", "secret"] {
            try a.save(["milk", "bread"], zone: ZoneID(name: name)) { _ in ["text": .string("x")] }
        }
        try a.deleteZone("gone")
        try a.makeZone("trees")
        try c.accept(try a.shareRecord("food", in: "trees", with: [c.user]))
        // One that the user has left.
        try b.peer.accept(try a.shareZone("left", with: [b.user]))
        try hold(a, ZoneID(name: "others"), of: .private, in: &held)
        try hold(c, zone("others"), of: .shared, in: &held)
        try hold(b.peer, zone("list"), of: .shared, in: &held)
        #expect(try b.peer.leave([zone("left")]) == [nil])
        func all(_ name: String) -> [FrameWatcher.Request] {
            let both = [zone("list"), zone(name)]
            let nothing = both.map { ZoneModification<DecodedFields>(zone: $0, deletions: ["nothing"]) }
            return requests(b, zone(name), held) + [
                b.zones(both), b.zones(both.reversed()), b.fetch(both, ["milk", "never"]), b.modify(nothing),
                b.modify(nothing, isAtomic: false),
            ]
        }
        let never = b.ask(all("never"))
        for name in ["others", "secret", "gone", "trees"] { expectSame(b.ask(all(name)), never, name) }
        // What is asked of a zone that they have left, but for deletions, which find nothing left to delete.
        let changes = [b.zones([zone("left")]), b.changes(zone("left")), b.fetch([zone("left")], ["milk"])]
        let unknown = [b.zones([zone("never")]), b.changes(zone("never")), b.fetch([zone("never")], ["milk"])]
        expectSame(b.ask(changes), b.ask(unknown), "left")
        #expect(try b.peer.sharedZones() == [zone("list")])
        #expect(try a.fetch(["milk", "x"], in: ZoneID(name: "secret")).texts == ["milk", "unknownItem"])
    }

    // MARK: URLs

    /// The URL of a server with another key.
    private static func foreignURL(of owner: String) -> String {
        let urls = ShareURLs(key: [UInt8](repeating: 1, count: 32), publicURL: "https://example.com")
        let addresses = urls.addresses(of: home(owner))
        return addresses.url(ShareLink(zone: 1, secret: addresses.secretOfZone(1, 1)))
    }

    @Test("of URLs are answered alike: made up, of another server, of a share that ended or that is others'")
    func urls() throws {
        let disk = SimulatedDisk()
        var urls: [String: String] = [:]
        var changed: [String] = []
        do {
            let server = try SteppedServer(disk: disk)
            let (a, c) = (try server.connect(account: "a"), try server.connect(account: "c"))
            let user = server.userRecordName(ofAccount: 2)
            urls["private"] = try a.shareZone("list", with: [c.user])
            urls["ended"] = try a.shareZone("ended", publicPermission: .readWrite)
            #expect(
                try a.modify(ZoneID(name: "ended"), of: .private, deleting: [Names.zoneShare]).deletions == [nil])
            urls["deleted"] = try a.shareZone("deleted", publicPermission: .readWrite)
            try a.deleteZone("deleted")
            try a.makeZone("trees")
            urls["record"] = try a.shareRecord("food", in: "trees", with: [c.user])
            urls["record that ended"] = try a.shareRecord("plans", in: "trees", with: [c.user, user])
            #expect(try a.modify(ZoneID(name: "trees"), of: .private, deleting: ["s-plans"]).deletions == [nil])
            try a.shareZone("once")
            var edit = ShareEdit()
            edit.puts = [.init(id: "first", invitee: .oneTime, permission: .readWrite)]
            urls["not the URL of the invitation"] = try a.changeShare(of: "once", edit)
            guard case .record(let share) = try a.fetch([Names.zoneShare], in: ZoneID(name: "once"))[0] else {
                throw TestFailure("the share is not there")
            }
            let once = try #require(share.shareDetails?.participants.last?.oneTimeURL)
            try c.accept(once)
            urls["used"] = once
            urls["blocked"] = try a.shareZone("blocked", publicPermission: .readOnly)
            var block = ShareEdit()
            block.blocks = [user]
            try a.changeShare(of: "blocked", block)
            let genuine = Array(try #require(urls["private"]).utf8)
            for index in [7, genuine.count / 2, genuine.count - 1] {
                var bytes = genuine
                bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                changed.append(String(decoding: bytes, as: UTF8.self))
            }
            server.snapshot()
        }
        disk.crash(seed: 1, .nothing)
        let server = try SteppedServer(disk: disk, run: 2)
        let b = try FrameWatcher(server, account: "b")
        b.ask([b.listZones])
        let (loaded, owner) = (Set(server.loadedIDs), server.userRecordName(ofAccount: 1))
        func answers(_ url: String) -> [[[UInt8]]] { b.ask([b.metadata(url), b.accept(url), b.requestAccess(url)]) }
        let never = answers("https://example.com/share/" + String(repeating: "A", count: 120))
        for url in changed + [Self.foreignURL(of: owner), "", "/share/", "https://example.com/share/\u{301}"] {
            expectSame(answers(url), never, url)
        }
        #expect(Set(server.loadedIDs) == loaded && !loaded.contains(Self.home(owner)), "a guess loads nothing")
        server.turn(after: 61_000_000_000)
        for (what, url) in urls.sorted(by: { $0.key < $1.key }) { expectSame(answers(url), never, what) }
        #expect(try b.peer.sharedZones() == [])
    }

    @Test("of URLs are counted by account, and wait until the next minute when there were too many")
    func guessedURLs() throws {
        let server = try SteppedServer()
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
        let c = try FrameWatcher(server, account: "c")
        let (open, closed) = (try a.shareZone("open", publicPermission: .readOnly), try a.shareZone("closed"))
        let made = "https://example.com/share/" + String(repeating: "A", count: 120)
        func code(_ request: FrameWatcher.Request, _ peer: FramePeer) -> ErrorCode? {
            let stream = peer.start(request.method, request.bytes)
            server.settle()
            guard case .failure(let error)? = peer.takeOutcome(stream) else { return nil }
            #expect((error.code == .requestRateLimited) == (error.retryAfterMilliseconds > 0))
            return error.code
        }
        // URLs that lead somewhere count for nothing, those that lead nowhere and requests for access each for one.
        for _ in 0..<ServiceLimits.shareLinkFailuresPerMinute { #expect(code(c.metadata(open), b) == nil) }
        for number in 0..<ServiceLimits.shareLinkFailuresPerMinute {
            switch number % 4 {
            case 0: #expect(code(c.metadata(made), b) == .unknownItem)
            case 1: #expect(code(c.accept(closed), b) == .unknownItem)
            case 2: #expect(code(c.metadata(closed), b) == .unknownItem)
            default: #expect(code(c.requestAccess(number % 8 == 3 ? made : closed), b) == nil)
            }
        }
        for request in [c.metadata(open), c.accept(open), c.requestAccess(open), c.metadata(made)] {
            #expect(code(request, b) == .requestRateLimited)
        }
        #expect(code(c.metadata(open), c.peer) == nil, "others are not held up")
        server.turn(after: 60_000_000_000)
        #expect(code(c.accept(open), b) == nil)
    }

    @Test("of names of records are counted by account, and no new record is saved when there were too many")
    func guessedNames() throws {
        let server = try SteppedServer { $0.loopCount = 2 }
        let (a, b, c) = (
            try server.connect(account: "a"), try server.connect(account: "b"), try server.connect(account: "c")
        )
        try a.makeZone("lists")
        for root in ["food", "plans"] {
            let url = try a.shareRecord(root, in: "lists", with: [b.user, c.user])
            if root == "food" { for peer in [b, c] { try peer.accept(url) } }
        }
        try a.makeZone("others")
        try b.accept(try a.shareRecord("work", in: "others", with: [b.user]))
        let (zone, other) = (ZoneID(name: "lists", owner: a.user), ZoneID(name: "others", owner: a.user))
        let taken = (0..<ServiceLimits.takenNamesPerMinute + 10).map { "diary\($0)" }
        try a.save(taken, zone: ZoneID(name: "lists"))
        var codes = try b.save(Array(taken.prefix(20)), below: "food", in: zone, of: .shared)
        codes += try b.save(Array(taken.dropFirst(20)), below: "food", in: zone, of: .shared)
        #expect(codes.prefix(ServiceLimits.takenNamesPerMinute).allSatisfy { $0 == .permissionFailure })
        #expect(codes.dropFirst(ServiceLimits.takenNamesPerMinute).allSatisfy { $0 == .requestRateLimited })
        for name in [taken[0], "free"] {
            #expect(try b.save([name], below: "food", in: zone, of: .shared) == [.requestRateLimited])
        }
        #expect(try b.save(["free"], below: "work", in: other, of: .shared) == [.requestRateLimited])
        #expect(try c.save(["free"], below: "food", in: zone, of: .shared) == [nil], "others are not held up")
        try b.save(["own"])
        server.turn(after: 60_000_000_000)
        #expect(try b.save(["mine"], below: "food", in: zone, of: .shared) == [nil])
    }

    // MARK: What is another's

    @Test("that come with another user's device id get nothing of that device")
    func deviceIDs() throws {
        let server = try SteppedServer { $0.loopCount = 2 }
        let (a, b) = (try server.connect(account: "a", device: 7), try server.connect(account: "b", device: 7))
        let zone = ZoneID(name: "list", owner: a.user)
        try b.accept(try a.shareZone("list", with: [b.user]))
        try a.subscribe(Subscription(id: "own", kind: .database(recordType: "")))
        try b.subscribe(Subscription(id: "all", kind: .database(recordType: "")), in: .shared)
        let (streams, peers) = ([a.openNotifications(), b.openNotifications()], [a, b])
        for (peer, stream) in zip(peers, streams) { _ = try peer.takeEvents(stream) }
        func save(_ peer: FramePeer, _ zone: ZoneID, _ scope: DatabaseScope, _ name: String, _ token: UInt8) throws {
            let request = ModifyRecordsRequest<DecodedFields>(
                database: scope, operationID: [UInt8](repeating: 3, count: 16),
                zones: [ZoneModification(zone: zone, saves: [RecordSave(name: name, type: "Note", fields: [:])])],
                clientToken: [token])
            #expect(try peer.modify(request)[0].saves.codes == [nil])
        }
        try save(a, ZoneID(name: "list"), .private, "a", 1)
        #expect(try a.takeEvents(streams[0]).isEmpty, "its own change")
        #expect(try b.takeEvents(streams[1]).map(\.kind) == [.databaseChanged(.shared)])
        #expect(try b.changes(of: zone).clientToken == [])
        try save(b, zone, .shared, "b", 2)
        #expect(try a.takeEvents(streams[0]).map(\.kind) == [.databaseChanged(.private)])
        #expect(try b.takeEvents(streams[1]).isEmpty)
        #expect(try a.changes(of: ZoneID(name: "list"), in: .private).clientToken == [1])
        #expect(try b.changes(of: zone).clientToken == [2])
        #expect(
            try a.fetch(["a", "b"], in: ZoneID(name: "list")).texts == ["a", "b"], "one operation id, two requests")
    }

    @Test("at an operation that another user sent are requests of one's own")
    func operationIDs() throws {
        let server = try SteppedServer { $0.loopCount = 2 }
        let (a, c) = (try server.connect(account: "a"), try server.connect(account: "c"))
        let b = try FrameWatcher(server, account: "b")
        let zone = ZoneID(name: "list", owner: a.user)
        let url = try a.shareZone("list", publicPermission: .readWrite)
        try b.peer.accept(url)
        try c.accept(url)
        let save = RecordSave<DecodedFields>(name: "milk", type: "Note", fields: ["text": .string("hers")])
        let request = b.modify([ZoneModification(zone: zone, saves: [save])], operation: Self.operation)
        let stream = c.start(request.method, request.bytes)
        server.settle()
        _ = try #require(c.outcome(stream)).get()
        let sent = b.peer.start(request.method, request.bytes)
        server.settle()
        let answer = try #require(b.peer.outcome(sent)).get().decoded(MessageCoder().decodeModifyRecordsResponse)
        #expect(answer[0].saves.codes == [.serverRecordChanged], "it is done anew, and comes too late")
    }

    @Test(
        "at what a user was answered once tell nothing of zones in which they take no longer part",
        arguments: [true, false])
    func answersOfFormerZones(takesPartElsewhere: Bool) throws {
        let server = try SteppedServer { $0.loopCount = 2 }
        let a = try server.connect(account: "a")
        let b = try FrameWatcher(server, account: "b")
        let (list, plans) = (ZoneID(name: "list", owner: a.user), ZoneID(name: "plans", owner: a.user))
        for name in ["list", "plans"] { try b.peer.accept(try a.shareZone(name, with: [b.user])) }
        try a.save(["milk"], zone: ZoneID(name: "list")) { _ in ["text": .string("canary")] }
        func save(_ name: String, _ zone: ZoneID) -> ZoneModification<DecodedFields> {
            ZoneModification(zone: zone, saves: [RecordSave(name: name, type: "Note", fields: [:])])
        }
        // A conflict shows what the server has.
        let zones = [save("milk", list)] + (takesPartElsewhere ? [save("mine", plans)] : [])
        let request = b.modify(zones, isAtomic: false, operation: Self.operation)
        let canary = Array("canary".utf8)
        for _ in 0..<2 { #expect(b.ask(request.method, request.bytes).contains { $0.containsBytes(canary) }) }
        try a.changeShare(of: "list", .removing([b.user]))
        #expect(!b.ask(request.method, request.bytes).contains { $0.containsBytes(canary) })
    }

    @Test("at what a user was answered once tell nothing of records whose share has ended")
    func answersOfFormerShares() throws {
        let server = try SteppedServer { $0.loopCount = 2 }
        let a = try server.connect(account: "a")
        let b = try FrameWatcher(server, account: "b")
        let (own, zone) = (ZoneID(name: "lists"), ZoneID(name: "lists", owner: a.user))
        try a.makeZone("lists")
        for root in ["food", "plans"] { try b.peer.accept(try a.shareRecord(root, in: "lists", with: [b.user])) }
        let milk = RecordSave<DecodedFields>(
            name: "milk", type: "Note", changeTag: "", parent: .set("food"), fields: ["text": .string("canary")])
        let saved = ModifyRecordsRequest<DecodedFields>(
            database: .private, zones: [ZoneModification(zone: own, saves: [milk])])
        #expect(try a.modify(saved)[0].saves.codes == [nil])
        let conflict = ZoneModification<DecodedFields>(
            zone: zone,
            saves: [
                RecordSave(name: "milk", type: "Note", changeTag: "", parent: .set("food"), fields: [:]),
                RecordSave(name: "mine", type: "Note", changeTag: "", parent: .set("plans"), fields: [:]),
            ])
        let request = b.modify([conflict], isAtomic: false, operation: Self.operation)
        let canary = Array("canary".utf8)
        #expect(b.ask(request.method, request.bytes).contains { $0.containsBytes(canary) })
        #expect(try a.modify(own, of: .private, deleting: ["s-food"]).deletions == [nil])
        #expect(!b.ask(request.method, request.bytes).contains { $0.containsBytes(canary) })
    }

    @Test("load nobody's database, and neither does the list of zones or of what changed")
    func coldOwners() throws {
        let disk = SimulatedDisk()
        var owner = ""
        do {
            let server = try SteppedServer(disk: disk)
            let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b"))
            owner = a.user
            try b.accept(try a.shareZone("list", with: [b.user]))
            try a.makeZone("trees")
            try b.accept(try a.shareRecord("food", in: "trees", with: [b.user]))
            server.snapshot()
        }
        disk.crash(seed: 1, .nothing)
        let server = try SteppedServer(disk: disk, run: 2)
        let b = try server.connect(account: "b")
        let zones = ["list", "trees"].map { ZoneID(name: $0, owner: owner) }
        #expect(try b.sharedZones() == zones)
        let page = try b.sharedChanges()
        #expect(page.changed == zones)
        #expect(try b.sharedChanges(since: page.token).changed.isEmpty)
        let guess = try b.fetch(["milk"], in: ZoneID(name: "secret", owner: owner), of: .shared)
        #expect(guess.texts == ["zoneNotFound"] && !server.loadedIDs.contains(Self.home(owner)))
        #expect(try b.fetch(["none"], in: zones[0], of: .shared).texts == ["unknownItem"])
        #expect(server.loadedIDs.contains(Self.home(owner)))
    }
}
