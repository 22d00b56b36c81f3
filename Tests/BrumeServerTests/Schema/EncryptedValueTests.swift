import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeEncryption
@testable import BrumeServer
@testable import BrumeService

/// What only devices can open, as a server keeps it.
@Suite("Encrypted values on a server")
struct EncryptedValueTests {
    private static let fields: [String: FieldValue] = Dictionary(
        uniqueKeysWithValues: EncryptedSamples.kinds.map { ("e\($0.rawValue)", EncryptedSamples.value($0)) })

    /// Saves some fields of a record; returns why they were not saved, or nil.
    private static func save(
        _ fields: DecodedFields, as name: String, in zone: ZoneID, of database: DatabaseScope = .private,
        by peer: FramePeer
    ) throws -> ServiceError? {
        let save = RecordSave(name: name, type: "Note", replacesEncrypted: true, fields: fields)
        let modification = ZoneModification(zone: zone, saves: [save])
        let request = ModifyRecordsRequest(database: database, savePolicy: .changedKeys, zones: [modification])
        if case .failure(let error) = try peer.modify(request)[0].saves[0].outcome { return error }
        return nil
    }

    @Test("come back as they were, by name, in a feed and in a query, after a restart too")
    func roundTrip() throws {
        let disk = SimulatedDisk()
        var server = try SteppedServer(disk: disk)
        var peer = try server.connect(account: "a")
        let zone = ZoneID(name: "lists")
        try peer.makeZone("lists")
        try peer.makeRings(in: "lists")
        let fields = Self.fields.merging(["n": .int64(1)]) { $1 }
        try peer.save(["r"], zone: zone) { _ in fields }
        for isRestarted in [false, true] {
            if isRestarted {
                peer.disconnect()
                server.settle()
                disk.endProcess()
                server = try SteppedServer(disk: disk)
                peer = try server.connect(account: "a")
            }
            guard case .record(let fetched)? = try peer.fetch(["r"], in: zone, of: .private).first else {
                Issue.record("the record is gone")
                return
            }
            #expect(fetched.fields == fields)
            #expect(try peer.changes(of: zone, in: .private).records.map(\.fields) == [fields])
            var query = QueryRequest(
                database: .private, zone: zone,
                query: Query(recordType: "Note", predicate: .comparison(.field("n"), .equal, .int64(1))))
            #expect(try peer.query(query).matches.map(\.record.fields) == [fields])
            query.desiredKeys = ["e1", "n"]
            #expect(
                try peer.query(query).matches.map(\.record.fields) == [fields.filter { ["e1", "n"].contains($0.key) }])
        }
    }

    @Test("merge as any field does: what a save does not name stays") func merging() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let zone = ZoneID(name: "lists")
        try peer.makeZone("lists")
        var keys = try peer.makeRings(in: "lists")
        try peer.save(["r"], zone: zone) { _ in ["e": EncryptedSamples.value(), "f": EncryptedSamples.value()] }
        try peer.appendEntry(of: "lists", &keys)
        func save(_ fields: DecodedFields) throws -> Record? {
            _ = try Self.save(fields, as: "r", in: zone, by: peer)
            guard case .record(let record)? = try peer.fetch(["r"], in: zone, of: .private).first else { return nil }
            return record
        }
        let newer = EncryptedSamples.value(header: EncryptedSamples.header(keyNumber: 2), contentBytes: 900)
        let first = try #require(try save(["e": newer, "n": .int64(1)]))
        #expect(first.fields == ["e": newer, "f": EncryptedSamples.value(), "n": .int64(1)])
        let same = try #require(try save(["e": newer]))
        #expect(same.system.changeTag == first.system.changeTag, "a save that changes nothing makes no version")
        #expect(try save(["f": nil])?.fields == ["e": newer, "n": .int64(1)])
    }

    @Test("a plain value never takes the place of an encrypted one, nor an encrypted one that of a plain one")
    func kinds() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let zone = ZoneID(name: "lists")
        try peer.makeZone("lists")
        try peer.makeRings(in: "lists")
        try peer.save(["r"], zone: zone) { _ in ["e": EncryptedSamples.value(), "n": .int64(1)] }
        let refused: [(String, FieldValue)] = [
            ("e", .string("open")), ("e", .bytes([1])), ("e", .emptyList), ("e", EncryptedSamples.value(.int64)),
            ("n", EncryptedSamples.value(.int64)),
        ]
        for (key, value) in refused {
            let error = try Self.save([key: value], as: "r", in: zone, by: peer)
            #expect(error?.code == .invalidArguments, "\(key) \(value)")
        }
        for sort in [[], [QuerySort(key: .field("e"))]] {
            let predicate =
                sort.isEmpty
                ? Predicate.comparison(.field("e"), .equal, .string("open"))
                : .comparison(.field("n"), .equal, .int64(1))
            let query = Query(recordType: "Note", predicate: predicate, sortDescriptors: sort)
            let error = #expect(throws: ServiceError.self) {
                try peer.query(QueryRequest(database: .private, zone: zone, query: query))
            }
            #expect(error?.message.contains("encrypted") == true)
        }
    }

    @Test("are refused in a public database, which learns nothing of them") func publicDatabase() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let error = try Self.save(["e": EncryptedSamples.value()], as: "r", in: .defaultZone, of: .public, by: peer)
        #expect(error?.code == .invalidArguments && error?.message.contains("public") == true)
        // As a plain field it may still be made.
        try peer.save(["r"], database: .public) { _ in ["e": .string("open")] }
    }

    @Test("go to those with whom a record is shared, with its stamp, and come from them; nobody else sees any")
    func shared() throws {
        let server = try SteppedServer()
        let (a, b, c) = (
            try server.connect(account: "a"), try server.connect(account: "b"), try server.connect(account: "c")
        )
        let (own, zone) = (ZoneID(name: "lists"), ZoneID(name: "lists", owner: a.user))
        try a.makeZone("lists")
        try b.accept(try a.shareRecord("food", in: "lists", with: [b.user]))
        var keys = try a.makeRings(in: "lists")
        try a.appendEntry(of: "lists", root: "food", &keys)
        let header = try keys.header(in: "lists", root: "food", isShared: true)
        let (stamp, value) = (EncryptedSamples.stamp(header), EncryptedSamples.value(header: header))
        func save(_ name: String, _ zone: ZoneID, _ scope: DatabaseScope, by peer: FramePeer) throws -> ServiceError? {
            let save = RecordSave<DecodedFields>(
                name: name, type: name == "food" ? "List" : "Note", parent: name == "food" ? .unchanged : .set("food"),
                stamp: stamp,
                fields: ["e": value])
            let request = ModifyRecordsRequest(
                database: scope, savePolicy: .changedKeys, zones: [ZoneModification(zone: zone, saves: [save])])
            if case .failure(let error) = try peer.modify(request)[0].saves[0].outcome { return error }
            return nil
        }
        #expect(try save("food", own, .private, by: a) == nil)
        #expect(try save("milk", zone, .shared, by: b) == nil)
        #expect(try save("eggs", zone, .shared, by: c)?.code == .zoneNotFound)
        for (peer, zone, scope) in [(a, own, DatabaseScope.private), (b, zone, .shared)] {
            let records = try peer.changes(of: zone, in: scope).records.filter { $0.system.type != Names.shareType }
            #expect(records.map(\.system.name).sorted() == ["food", "milk"])
            #expect(records.allSatisfy { $0.system.stamp == stamp && $0.fields["e"] == value })
            let request = FetchRecordsRequest(
                database: scope, zones: [.init(zone: zone, names: ["food"])], desiredKeys: [])
            let answer = try peer.call(.recordsFetch, MessageCoder().encodeFetchRecordsRequest(request))
            guard case .record(let bare) = try answer.decoded(MessageCoder().decodeFetchRecordsResponse)[0][0] else {
                Issue.record("no record")
                continue
            }
            #expect(bare.system.stamp == stamp && bare.fields.isEmpty)
        }
    }

    @Test("no notification carries one") func notifications() throws {
        let server = try SteppedServer()
        let peer = try server.connect(account: "a")
        let zone = ZoneID(name: "lists")
        try peer.makeZone("lists")
        try peer.makeRings(in: "lists")
        try peer.save(["r"], zone: zone) { _ in ["e": EncryptedSamples.value(), "n": .int64(1)] }
        var info = NotificationInfo()
        info.desiredKeys = ["e", "n"]
        let all = QuerySubscription(recordType: "Note", predicate: .constant(true), options: .reasons)
        try peer.subscribe(Subscription(id: "s", kind: .query(all), notificationInfo: info))
        let listener = try server.connect(account: "a", device: 8)
        let stream = listener.openNotifications()
        _ = try listener.takeEvents(stream)
        try peer.save(["other"], zone: zone) { _ in ["e": EncryptedSamples.value(), "n": .int64(2)] }
        let shown = try listener.takeEvents(stream).compactMap { event -> [String: FieldValue]? in
            if case .recordChanged(let change) = event.kind { change.fields } else { nil }
        }
        #expect(shown == [["n": .int64(2)]])
    }

    @Test("a length passes the server exactly if padding gives it") func lengths() {
        var lengths = Set((4...3_000).map { 63 + Int(Padding.padded(UInt64($0))) })
        lengths.formUnion((4...40_000).map { 63 + Int(Padding.padded(UInt64($0))) }.filter { $0 <= 3_063 })
        for count in 63...3_063 {
            let bytes = EncryptedSamples.header().bytes + [UInt8](repeating: 0, count: count - 23)
            let passes = (try? bytes.withUnsafeBytes { try EncryptedHeader(ofValue: $0) }) != nil
            #expect(passes == lengths.contains(count), "\(count) bytes")
        }
    }

    @Test("what devices make has the form that the server asks for, with their tree and key") func devices() throws {
        for byteCount in [0, 1, 28, 29, 1_020, 1_021, 70_000] {
            let place = try Place(
                container: "iCloud.x", environment: "development", owner: "_ada", zone: "lists",
                ringID: [UInt8](1...16))
            let tree = Tree(place: place, root: "food", kind: .isShared)
            let key = SecretKey(copying: [UInt8](repeating: 3, count: 32))
            let cipher = TreeCipher(tree: tree, ringKey: key, number: 7).record(named: "milk", type: "Note")
            let sealed = cipher.seal([UInt8](repeating: 5, count: byteCount), field: "e", valueType: "STRING")
            let stamp = try cipher.stamp(parent: "food").withUnsafeBytes { try EncryptedHeader(ofStamp: $0) }
            let header = try sealed.withUnsafeBytes { try EncryptedHeader(ofValue: $0) }
            #expect(header.isShared && header.keyNumber == 7)
            #expect(Array(header.bytes[2..<18]) == tree.id && stamp == header)
        }
    }
}
