import BrumeModel
import BrumeRecord
@testable import BrumeStore
import BrumeTestKit
import Testing

/// What records say of sharing, as the engine keeps it: see ``SharingPart``.
@Suite("Shares and roots among the records")
struct SharingPartTests {
    private static func share(_ seed: UInt64) -> Share {
        var random = RandomShare(seed: seed)
        for _ in 0..<40 { random.step() }
        return random.share
    }

    private static func put(
        _ name: String, type: String = "Note", _ sharing: SharingPart = SharingPart(), in incarnation: UInt64
    ) -> Change {
        .recordPut(
            zone: incarnation,
            record: SharedBytes(
                StoredRecord.encode(
                    SystemFields(name: name, type: type, changeTag: "9-\(name)", creator: Desk.sharer),
                    sharing: sharing,
                    fields: [StoredRecord.encodeField(key: "title", value: .string("a"))])))
    }

    private static func apply(_ changes: [Change], to desk: Desk) throws {
        try desk.database.apply(
            JournalEntry(
                database: desk.database.id, sequence: desk.database.sequence + 1, committedMilliseconds: 1,
                changes: changes, run: 7))
    }

    /// A zone with a root, its share and a record beside them, as a commit of the journal has them.
    private static func desk() throws -> (desk: Desk, zone: UInt64) {
        let desk = Desk.ofSharer()
        let zone = desk.database.zoneStates[1].incarnation
        try apply(
            [
                put("root", SharingPart(share: "share"), in: zone),
                put("share", type: "cloudkit.share", SharingPart(storedShare: ShareCoder.encode(share(1))), in: zone),
                put("plain", in: zone),
            ], to: desk)
        return (desk, zone)
    }

    /// What a record says of sharing, as it is kept.
    private static func part(_ name: String, in database: Database) -> SharingPart? {
        let state = database.zoneStates[1]
        return state.liveSlot(of: name).flatMap { state[$0].sharing }
    }

    private static func names(_ database: Database) -> (shares: [String], roots: [String: String]) {
        let state = database.zoneStates[1]
        return (state.sharing.shares.keys.sorted(), state.sharing.roots.mapValues { state[$0].name })
    }

    private static func load(_ database: Database) throws -> Result<Database, DatabaseLoader.Problem> {
        let capture = database.capture()
        let loader = DatabaseLoader(id: database.id, epoch: 7, sequence: capture.sequence)
        #expect(loader.add(capture.header) == nil)
        try capture.forEachBlock { block in
            #expect(block.withUnsafeBytes { loader.add(content: $0) } == nil)
        }
        return loader.finish()
    }

    private static func loaded(_ database: Database) throws -> Database { try load(database).get() }

    @Test("are known after a replay and after a load, and are the same when they are searched for")
    func known() throws {
        let (desk, _) = try Self.desk()
        let reloaded = try Self.loaded(desk.database)
        for database in [desk.database, reloaded] {
            #expect(Self.names(database).shares == ["share"])
            #expect(Self.names(database).roots == ["share": "root"])
            let audit = database.audit()
            #expect(audit.kept == audit.recounted)
            let state = database.zoneStates[1]
            let marks = try ["root", "share", "plain"].map { state[try #require(state.liveSlot(of: $0))].marks }
            #expect(marks == [.sharing, .sharing, []])
        }
    }

    @Test("keep what they say of it when their fields are saved, and their marks")
    func saves() throws {
        let (desk, _) = try Self.desk()
        for name in ["root", "share"] {
            let type = name == "share" ? "cloudkit.share" : "Note"
            let before = try #require(Self.part(name, in: desk.database))
            let tag = try #require(desk.record(name)).system.changeTag
            let second = try desk.save(
                name, ["title": .string("b"), "more": .int64(1)], type: type, tag: tag, policy: .allKeys)
            try desk.save(name, ["more": .int64(2)], type: type, tag: second, policy: .changedKeys)
            if name == "root" { try desk.save(name, [:], parent: .set("plain"), policy: .changedKeys) }
            #expect(Self.part(name, in: desk.database) == before && !before.isEmpty)
            #expect(desk.record(name)?.fields["more"] == .int64(2))
            let state = desk.database.zoneStates[1]
            let marks: RecordMarks = name == "root" ? [.refersToOthers, .sharing] : .sharing
            #expect(state[try #require(state.liveSlot(of: name))].marks == marks)
        }
        let audit = try Self.loaded(desk.database).audit()
        #expect(audit.kept == audit.recounted && desk.database.audit().kept == audit.kept)
        try desk.save("plain", ["title": .string("b")], policy: .allKeys)
        #expect(Self.part("plain", in: desk.database) == nil)
    }

    @Test("are forgotten when they go, alone, with their zone, or for a version that says nothing of it")
    func deletions() throws {
        var (desk, zone) = try Self.desk()
        try Self.apply([.recordDeletion(zone: zone, name: "share", type: "cloudkit.share")], to: desk)
        #expect(Self.names(desk.database).shares.isEmpty && Self.names(desk.database).roots == ["share": "root"])
        try Self.apply([Self.put("root", in: zone)], to: desk)
        #expect(desk.database.zoneStates[1].sharing.isEmpty)
        #expect(desk.database.audit().kept == desk.database.audit().recounted)

        (desk, zone) = try Self.desk()
        // Shared again under another name, in one commit.
        try Self.apply(
            [
                Self.put("root", SharingPart(share: "other"), in: zone),
                .recordDeletion(zone: zone, name: "share", type: "cloudkit.share"),
                Self.put(
                    "other", type: "cloudkit.share", SharingPart(storedShare: ShareCoder.encode(Self.share(2))),
                    in: zone),
            ], to: desk)
        #expect(Self.names(desk.database).shares == ["other"])
        #expect(Self.names(desk.database).roots == ["other": "root"])
        _ = desk.deleteZone("notes")
        #expect(desk.database.zoneStates[1].sharing.isEmpty)
        #expect(desk.database.audit().kept == desk.database.audit().recounted)
    }

    @Test("are the same in a database that was loaded, whose records share arrays, and when a root comes again")
    func afterLoad() throws {
        let database = try Self.loaded(try Self.desk().desk.database)
        let desk = Desk(database, caller: Caller(user: Desk.sharer, isOwner: true))
        let zone = database.zoneStates[1].incarnation
        for number in 0..<200 { try desk.save("n\(number)") }
        for name in ["plain", "n3", "root"] { try desk.save(name, ["x": .int64(1)], policy: .changedKeys) }
        #expect(Self.names(database).roots == ["share": "root"] && Self.names(database).shares == ["share"])
        try Self.apply([.recordDeletion(zone: zone, name: "root", type: "Note")], to: desk)
        #expect(Self.names(database).roots.isEmpty)
        try Self.apply([Self.put("root", SharingPart(share: "share"), in: zone)], to: desk)
        #expect(Self.names(database).roots == ["share": "root"])
        // The root is another record within one commit: between the two changes there are two.
        try Self.apply(
            [Self.put("plain", SharingPart(share: "share"), in: zone), Self.put("root", in: zone)], to: desk)
        #expect(Self.names(database).roots == ["share": "plain"])
        #expect(database.audit().kept == database.audit().recounted)
    }

    @Test("what others add to a share does not make its owner's saves fail")
    func fullShare() throws {
        let (desk, zone) = try Self.desk()
        var share = Share(secret: [UInt8](repeating: 1, count: Share.secretByteCount))
        let bytes = FieldValue.bytes([UInt8](repeating: 1, count: Limits.recordBytes - 500))
        let tag = try #require(desk.record("share")).system.changeTag
        try desk.save("share", ["large": bytes], type: "cloudkit.share", tag: tag)
        var edit = ShareEdit()
        edit.puts = (1...90).map { .init(id: "p\($0)", invitee: .user(RandomShare.user($0)), permission: .readOnly) }
        _ = try share.apply(
            edit, by: ShareVisitor(user: Desk.sharer, handles: []), owner: Desk.sharer, nowMilliseconds: 1
        ) {
            []
        }
        let system = SystemFields(name: "share", type: "cloudkit.share", changeTag: "9-9", creator: Desk.sharer)
        let record = StoredRecord.encode(
            system, sharing: SharingPart(storedShare: ShareCoder.encode(share)),
            fields: [StoredRecord.encodeField(key: "large", value: bytes)])
        #expect(record.count > Limits.recordBytes)
        try Self.apply([.recordPut(zone: zone, record: SharedBytes(record))], to: desk)
        let last = try desk.save("share", ["title": .string("a")], type: "cloudkit.share", tag: "9-9")
        let more = desk.modify(
            saves: [
                .of("share", ["more": .bytes([UInt8](repeating: 1, count: 1_000))], type: "cloudkit.share", tag: last)
            ])
        #expect(more.result.saveCodes == [.limitExceeded], "the limit holds for what the owner saves")
    }

    @Test("are damage in a snapshot where a share has two roots, or a root no share")
    func unfitRoots() throws {
        for changes: (UInt64) -> [Change] in [
            { [Self.put("second", SharingPart(share: "share"), in: $0)] },
            { [.recordDeletion(zone: $0, name: "share", type: "cloudkit.share")] },
        ] {
            let (desk, zone) = try Self.desk()
            try Self.apply(changes(zone), to: desk)
            guard case .failure = try Self.load(desk.database) else {
                Issue.record("it was loaded")
                continue
            }
        }
    }

    @Test("are damage where a share is none that can be")
    func damage() throws {
        let (desk, zone) = try Self.desk()
        var bytes = ShareCoder.encode(Self.share(1))
        bytes[1] ^= 1
        #expect(throws: ReplayError.self) {
            try Self.apply(
                [Self.put("share", type: "cloudkit.share", SharingPart(storedShare: bytes), in: zone)], to: desk)
        }
    }
}
