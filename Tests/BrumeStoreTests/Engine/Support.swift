import BrumeModel
import BrumeRecord
import BrumeStore
import BrumeTestKit
import Testing

/// A database and short ways to ask things of it, as a test would write them on paper.
struct Desk {
    static let owner = "_owner"
    static let privateID = DatabaseID(
        container: "iCloud.test", environment: .development, scope: .private, owner: owner)
    static let publicID = DatabaseID(container: "iCloud.test", environment: .development, scope: .public, owner: "")
    static let zone = ZoneID(name: "notes")

    let database: Database
    var caller = Caller(user: Desk.owner, isOwner: true)

    /// A private database with the zone `notes`.
    init() {
        database = Database(id: Desk.privateID, epoch: 7)
        makeZone("notes")
    }

    init(_ database: Database, caller: Caller) {
        self.database = database
        self.caller = caller
    }

    /// An owner whose shares can be shown: with a user record name as the server makes them.
    static let sharer = RandomShare.user(0)

    /// A private database of ``sharer`` with the zone `notes`.
    static func ofSharer() -> Desk {
        let id = DatabaseID(container: "iCloud.test", environment: .development, scope: .private, owner: sharer)
        let desk = Desk(Database(id: id, epoch: 7), caller: Caller(user: sharer, isOwner: true))
        desk.makeZone("notes")
        return desk
    }

    static func ofPublicDatabase(user: String) -> Desk {
        Desk(Database(id: Desk.publicID, epoch: 7), caller: Caller(user: user, isOwner: false))
    }

    /// Why a database that is new does not take a commit of these changes; nil if it does.
    static func problemReplaying(_ changes: [Change], in id: DatabaseID) -> String? {
        do throws(ReplayError) {
            try Database(id: id, epoch: 7).apply(
                JournalEntry(database: id, sequence: 1, committedMilliseconds: 1, changes: changes))
            return nil
        } catch {
            return error.problem
        }
    }

    /// Whether the caller asks for zones of another user.
    private var isGuest: Bool { !caller.isOwner && database.id.scope == .private }

    private var scope: DatabaseScope { isGuest ? .shared : database.id.scope }

    @discardableResult
    func makeZone(_ name: String) -> Commit? {
        database.modifyZones(
            ModifyZonesRequest(database: scope, saves: [ZoneID(name: name)]), caller: caller,
            nowMilliseconds: 1000
        ).commit
    }

    func deleteZone(_ name: String) -> Decision<ModifyZonesResult> {
        database.modifyZones(
            ModifyZonesRequest(database: scope, deletions: [ZoneID(name: name)]), caller: caller,
            nowMilliseconds: 1000)
    }

    func modify(
        _ zone: ZoneID = Desk.zone, policy: SavePolicy = .ifServerRecordUnchanged, isAtomic: Bool = true,
        saves: [RecordSave<CheckedFields>] = [], deletions: [String] = [], now: Int64 = 2000, clientToken: [UInt8] = [],
        mayUseIndexReserve: Bool = false, shares: [String: ShareSave] = [:], grants: [Asset] = []
    ) -> (result: ZoneModificationResult<SharedBytes>, commit: Commit?) {
        var modification = ZoneModification(zone: zone, saves: saves, deletions: deletions)
        modification.shares = shares
        var granted = AssetGrants()
        for asset in grants { granted.add(asset, inZone: zone.name) }
        let decision = database.modifyRecords(
            ModifyRecordsRequest(
                database: scope, savePolicy: policy, isAtomic: isAtomic, zones: [modification],
                clientToken: clientToken),
            caller: caller, nowMilliseconds: now, mayUseIndexReserve: mayUseIndexReserve, grants: granted)
        return (decision.answer[0], decision.commit)
    }

    /// Saves one record that must be saved; returns its tag.
    @discardableResult
    func save(
        _ name: String, _ fields: [String: FieldValue] = [:], type: String = "Note", tag: String = "",
        parent: ParentChange = .unchanged, in zone: ZoneID = Desk.zone, policy: SavePolicy = .ifServerRecordUnchanged
    ) throws -> String {
        let result = modify(
            zone, policy: policy, saves: [.of(name, fields, type: type, tag: tag, parent: parent)]
        ).result
        return try #require(result.saves[0].record, "\(result.saves[0])").system.changeTag
    }

    func record(_ name: String, in zone: ZoneID = Desk.zone) -> Record? {
        bytes(name, in: zone).map { Record(stored: $0) }
    }

    /// A record in its stored form.
    func bytes(_ name: String, in zone: ZoneID = Desk.zone) -> [UInt8]? {
        let outcome = database.fetchRecords(
            FetchRecordsRequest(database: scope, zones: [.init(zone: zone, names: [name])]),
            caller: isGuest ? caller : nil)[0][0]
        guard case .record(let bytes) = outcome else { return nil }
        return bytes.array
    }

    /// A page of changes as names: those that exist, and those that were deleted.
    func changes(
        since token: ChangeToken?, limit: Int = 0, in zone: ZoneID = Desk.zone
    ) throws -> (live: [String], deleted: [String], token: ChangeToken, moreComing: Bool) {
        let page = try database.zoneChanges(
            zone: zone, since: token, resultsLimit: limit, desiredKeys: nil, caller: isGuest ? caller : nil)
        return (
            page.records.map { Record(stored: $0).system.name }, page.deletions.map(\.name), page.token,
            page.moreComing
        )
    }
}

extension RecordSave<CheckedFields> {
    /// A nil value removes the key, as by a device that has the keys of what is encrypted.
    static func of(
        _ name: String, _ fields: [String: FieldValue?] = [:], type: String = "Note", tag: String = "",
        parent: ParentChange = .unchanged
    ) -> RecordSave<CheckedFields> {
        let puts = fields.compactMap { key, value in value.map { StoredRecord.encodeField(key: key, value: $0) } }
        let checked = CheckedFields(
            puts: EncodedFields(puts), removals: fields.filter { $0.value == nil }.keys.sorted())
        return RecordSave(
            name: name, type: type, changeTag: tag, parent: parent, replacesEncrypted: true, fields: checked)
    }
}

extension Record {
    init(stored bytes: [UInt8]) { self.init(stored: SharedBytes(bytes)) }

    init(stored bytes: SharedBytes) {
        do {
            self = try bytes.withUnsafeBytes { bytes -> Result<Record, ServiceError> in
                do throws(ServiceError) {
                    return .success(try StoredRecord.decode(bytes))
                } catch {
                    return .failure(error)
                }
            }.get()
        } catch {
            preconditionFailure("a stored record can't be read: \(error)")
        }
    }
}

extension SaveResult<SharedBytes> {
    var record: Record? {
        if case .record(let bytes) = outcome { return Record(stored: bytes) }
        return nil
    }

    var error: ServiceError? {
        if case .failure(let error) = outcome { return error }
        return nil
    }
}

extension ZoneModificationResult<SharedBytes> {
    /// Each save's error code; nil: saved.
    var saveCodes: [ErrorCode?] { saves.map { $0.error?.code } }
    /// Each deletion's error code; nil: deleted.
    var deletionCodes: [ErrorCode?] { deletions.map { $0?.code } }
}

extension Reference {
    static func cascading(to name: String) -> FieldValue {
        .reference(Reference(recordName: name, deletesSelf: true))
    }
}
