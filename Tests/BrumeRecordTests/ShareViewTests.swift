import BrumeModel
import BrumeRecord
import BrumeTestKit
import Testing

/// What a client is shown of a share, and of its root.
@Suite("A share that a client is shown")
struct ShareViewTests {
    private static let owner = RandomShare.user(0)

    private static func view(_ share: Share, for viewer: Share.Viewer = .manager) -> ShareView {
        share.view(for: viewer, owner: owner) { secret, oneTimeSecret in
            "/share/\((oneTimeSecret ?? secret).map { String($0, radix: 16) }.joined())"
        }
    }

    private static func stored(_ part: SharingPart, type: String = Names.shareType) -> SharedBytes {
        SharedBytes(
            StoredRecord.encode(
                SystemFields(name: "share", type: type, changeTag: "7", creator: owner, createdMilliseconds: 5),
                sharing: part,
                fields: [StoredRecord.encodeField(key: "cloudkit.title", value: .string("Groceries"))]))
    }

    private static func decode(_ record: SharedBytes) throws -> Record {
        try record.array.withUnsafeBytes { try StoredRecord.decode($0) }
    }

    @Test("arrives as it was sent, and the record's own bytes of it stay at home", arguments: 1...20)
    func roundTrip(seed: UInt64) throws {
        var random = RandomShare(seed: seed)
        for _ in 0..<60 { random.step() }
        let view = Self.view(random.share)
        let stored = Self.stored(SharingPart(storedShare: ShareCoder.encode(random.share)))
        let shown = StoredRecord.shown(stored, details: ShareViewCoder.encode(view))
        let record = try Self.decode(shown)
        #expect(record.shareDetails == view, "seed \(seed)")
        #expect(record.system.name == "share" && record.fields["cloudkit.title"] == .string("Groceries"))
        #expect(shown.withUnsafeBytes { StoredRecord.sharing(of: $0) }.isEmpty, "nothing that the server keeps is left")
        #expect(try shown.array.withUnsafeBytes { try StoredRecord.summary(of: $0).isHeadFirst })
    }

    @Test("of a root only the share's name is shown")
    func root() throws {
        let secret = [UInt8](1...20)
        let shown = StoredRecord.shown(Self.stored(SharingPart(share: "share", secret: secret), type: "List"))
        #expect(try Self.decode(shown).share == "share" && Self.decode(shown).shareDetails == nil)
        #expect(!shown.array.indices.contains { shown.array[$0...].starts(with: secret) })
        let former = StoredRecord.shown(Self.stored(SharingPart(secret: secret), type: "List"))
        #expect(try Self.decode(former).share == nil)
    }

    @Test("begins with the owner, and holds URLs in place of secrets")
    func content() throws {
        var share = Share(secret: [UInt8](repeating: 1, count: 20))
        var edit = ShareEdit()
        edit.puts = [
            .init(id: "a", invitee: .handle(.email("alice@example.com")), permission: .readOnly),
            .init(id: "b", invitee: .oneTime, permission: .readWrite),
            .init(id: "c", invitee: .user(RandomShare.user(3)), permission: .readWrite),
        ]
        _ = try share.apply(
            edit, by: ShareVisitor(user: Self.owner, handles: []), owner: Self.owner, nowMilliseconds: 9,
            newSecret: { [UInt8](repeating: 2, count: 20) })
        let view = Self.view(share)
        #expect(view.participants.map(\.id) == [Self.owner, "a", "b", "c"])
        #expect(view.participants[0] == .owner(Self.owner))
        #expect(view.url.hasSuffix(String(repeating: "1", count: 20)))
        #expect(view.participants[2].oneTimeURL.hasSuffix(String(repeating: "2", count: 20)))
        #expect(view.participants[1].handle == .email("alice@example.com") && view.participants[1].user.isEmpty)
        #expect(view.participants[3].user == RandomShare.user(3) && !view.participants[3].isAccepted)
        let visitor = ShareVisitor(user: RandomShare.user(5), handles: [.email("alice@example.com")])
        let seen = Self.view(share, for: .linkHolder(visitor, secret: share.secret))
        #expect(seen.participants.map(\.user) == [Self.owner, visitor.user], "they find themselves")
    }

    @Test("a share that says something unknown is not taken for another")
    func unknown() throws {
        let details = [
            ProtoBytes().varint(2, 4), ProtoBytes().varint(2, 1),
            ProtoBytes().varint(2, 1).message(4, ProtoBytes().text(1, "a").varint(2, 3).varint(3, 2)),
            ProtoBytes().varint(2, 1).message(4, ProtoBytes().text(1, "a").varint(2, 9).varint(3, 2)),
            ProtoBytes().varint(2, 1).message(4, ProtoBytes().text(1, "a").varint(2, 1).varint(3, 3).text(5, "bob")),
        ]
        for details in details {
            #expect(throws: ServiceError.self) {
                try Self.decode(StoredRecord.shown(Self.stored(SharingPart()), details: details.bytes))
            }
        }
    }

    @Test("a record that says something else of sharing keeps the rest")
    func resharing() throws {
        let stored = Self.stored(SharingPart(share: "share", secret: [UInt8](1...20)), type: "List")
        let secret = [UInt8](1...20)
        let bytes = try StoredRecord.resharing(stored, SharingPart(secret: secret)) { system in
            (system.changeTag, system.modifiedMilliseconds) = ("8", 6)
        }
        let record = try Self.decode(SharedBytes(bytes))
        #expect(record.share == nil && record.system.changeTag == "8" && record.system.modifiedMilliseconds == 6)
        #expect(record.system.creator == Self.owner && record.system.createdMilliseconds == 5)
        #expect(record.fields["cloudkit.title"] == .string("Groceries"))
        #expect(bytes.withUnsafeBytes { StoredRecord.sharing(of: $0) } == SharingPart(secret: [UInt8](1...20)))
    }
}
