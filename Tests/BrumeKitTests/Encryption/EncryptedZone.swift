import BrumeEncryption
import BrumeModel

@testable import BrumeKit

/// A zone with keys, without a server: what an account's device encrypts in it, and what a server may show of that.
struct EncryptedZone {
    let keys: RingKeys
    let zoneID: CKRecordZone.ID

    /// - Parameter keyCount: How many keys its ring has.
    init(
        account: String = "_ada", container: String = "iCloud.test", environment: String = "development",
        zone: String = "Diary", keyCount: Int = 2, encryptsAssets: Bool = false
    ) throws {
        let scope = IdentityScope(account: account, container: container, environment: environment)
        let (identity, _) = try Identity.first(
            scope: scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
        var statements = StatementDirectory()
        statements.add(identity.chain)
        let ring = try RingName(
            place: Place(
                container: container, environment: environment, owner: account, zone: zone,
                ringID: Place.newRingID()))
        let author = RingAuthor(user: account, identity: identity.keys, statements: statements)
        let owner = RingMember(user: account, statementHash: identity.statement.hash, role: .owner)
        var chain = try author.begin(ring, hasPlainAssets: !encryptsAssets, RingDraft(members: [owner]))
        for _ in 1..<keyCount {
            let draft = RingDraft(after: chain.head, statements: statements)
            chain = try author.next(after: chain, keys: chain.keys(of: identity), draft)
        }
        keys = RingKeys(try KnownRing(chain.entries, of: ring, statements: statements), of: identity)
        zoneID = CKRecordZone.ID(zoneName: zone)
    }

    /// A value as a device encrypts it for a field.
    func seal(
        _ value: FieldValue = .string("word"), field: String = "secret", record: String = "page", type: String = "Page",
        root: String = "page"
    ) throws -> EncryptedValue {
        let id = CKRecord.ID(recordName: record, zoneID: zoneID)
        let unsaved = CKRecord(recordType: type, recordID: id)
        unsaved.updateState { $0.setEncrypted(value, forKey: field) }
        guard case .encrypted(let sealed)?? = try sent(unsaved, root: root)[field] else { throw Steps.Broken() }
        return sealed
    }

    /// What a save of a record sends.
    func sent(
        _ record: CKRecord, _ policy: SavePolicy = .changedKeys, root: String = "page",
        moved: [String: FieldValue] = [:]
    ) throws -> DecodedFields {
        try outgoing(record, policy, root: root, moved: moved).save(policy: policy).fields
    }

    /// A save of a record, ready to be sent.
    func outgoing(
        _ record: CKRecord, _ policy: SavePolicy = .changedKeys, root: String = "page",
        moved: [String: FieldValue] = [:]
    ) throws -> OutgoingRecord {
        var outgoing = record.outgoing()
        var sealer = RecordSealer()
        sealer.setKeys(keys, root: root)
        try sealer.seal(&outgoing, root: root, policy: policy, moved: moved)
        return outgoing
    }

    /// What this device makes of a record that a server shows.
    func open(
        _ fields: [String: FieldValue], record: String = "page", type: String = "Page",
        reason: CKRecord.UnreadableReason? = nil
    ) -> OpenedFields {
        let opener = FieldOpener(zones: [zoneID.ringID: .init(rings: [keys], reason: reason)])
        return opener.open(
            Record(system: SystemFields(name: record, type: type, changeTag: "1"), fields: fields), in: zoneID)
    }

    /// A record as it was fetched.
    func fetched(_ fields: [String: FieldValue], tag: String = "1") -> CKRecord {
        let system = SystemFields(name: "page", type: "Page", changeTag: tag)
        guard
            let record = CKRecord.make(
                Record(system: system, fields: fields), zoneID: zoneID, context: AnswerContext(currentUser: "_ada"),
                contents: AssetContents(), opened: open(fields))
        else { preconditionFailure("a sample has a name that no record can have") }
        return record
    }

    /// A value that looks like one of the field's, and that no key opens.
    func spoiled() throws -> FieldValue {
        let value = try seal()
        return .encrypted(EncryptedValue(value.kind, value.bytes.dropLast() + [value.bytes.last! ^ 1]))
    }
}
