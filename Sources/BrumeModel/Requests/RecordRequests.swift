/// Raw values of `CKModifyRecordsOperation.RecordSavePolicy` (Documentation/CloudKit.md, Change tags and save
/// policies).
package enum SavePolicy: UInt8, Sendable {
    case ifServerRecordUnchanged = 0
    case changedKeys = 1
    case allKeys = 2
}

/// What a save does to the record's parent.
package enum ParentChange: Equatable, Sendable {
    case unchanged
    case removed
    case set(String)
}

/// A request to save and delete records, as a value.
///
/// `Fields` is how a save carries its fields: decoded for the client (``DecodedFields``), encoded and checked for the
/// server (``CheckedFields``).
package struct ModifyRecordsRequest<Fields: Equatable & Sendable>: Equatable, Sendable {
    package var database: DatabaseScope
    package var savePolicy: SavePolicy
    package var isAtomic: Bool
    /// 16 bytes that name the operation, or empty.
    package var operationID: [UInt8]
    /// The digest of the message that the request came in; the server sets it where there is an operation id.
    package var operationDigest: OperationDigest?
    package var zones: [ZoneModification<Fields>]
    /// The client's own bytes, which its device gets back with the feeds of these zones; or empty.
    package var clientToken: [UInt8]
    /// The receipts that came with assets: the server's form has them here, and none in its fields.
    package var receipts: [[UInt8]] = []

    package init(
        database: DatabaseScope, savePolicy: SavePolicy = .ifServerRecordUnchanged, isAtomic: Bool = true,
        operationID: [UInt8] = [], zones: [ZoneModification<Fields>], clientToken: [UInt8] = []
    ) {
        self.database = database
        self.savePolicy = savePolicy
        self.isAtomic = isAtomic
        self.operationID = operationID
        self.zones = zones
        self.clientToken = clientToken
    }
}

/// The saves and deletions in one zone: the unit of atomicity.
package struct ZoneModification<Fields: Equatable & Sendable>: Equatable, Sendable {
    package var zone: ZoneID
    package var saves: [RecordSave<Fields>]
    package var deletions: [String]
    /// What the saves of shares say beside their fields, by record name: apart from the saves, since few have any.
    package var shares: [String: ShareSave] = [:]
    /// The hash of the last entry of the zone's ring that the client encrypted with: 32 bytes, or empty where it does
    /// not say. Keys of two rings have the same numbers.
    package var ringEntryHash: [UInt8] = []
    /// Errors, by record name, for deletions that a server's interceptor refused. Not on the wire.
    package var refusedDeletions: [String: ServiceError] = [:]
    /// Whether it is known that no record is named twice, and that none is a share. Not on the wire, and ignored when
    /// two modifications are compared.
    package var isKnownDistinct = false

    package init(zone: ZoneID, saves: [RecordSave<Fields>] = [], deletions: [String] = []) {
        self.zone = zone
        self.saves = saves
        self.deletions = deletions
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.zone == right.zone && left.saves == right.saves && left.deletions == right.deletions
            && left.shares == right.shares && left.refusedDeletions == right.refusedDeletions
            && left.ringEntryHash == right.ringEntryHash
    }
}

/// One record to save.
package struct RecordSave<Fields: Equatable & Sendable>: Equatable, Sendable {
    package var name: String
    package var type: String
    /// The change tag of the version that the client knows; empty for a record that is new to the client.
    package var changeTag: String
    package var parent: ParentChange
    /// The record's new stamp. When it is empty, the record keeps its own, unless the save gives it another parent or
    /// takes its parent away.
    package var stamp: [UInt8]
    /// Whether what is encrypted may go for fields that the save removes or gives a plain value: the device has the
    /// record's keys.
    package var replacesEncrypted: Bool
    package var fields: Fields

    package init(
        name: String, type: String, changeTag: String = "", parent: ParentChange = .unchanged, stamp: [UInt8] = [],
        replacesEncrypted: Bool = false, fields: Fields
    ) {
        self.name = name
        self.type = type
        self.changeTag = changeTag
        self.parent = parent
        self.stamp = stamp
        self.replacesEncrypted = replacesEncrypted
        self.fields = fields
    }
}

/// The client's form of a save's fields: nil removes the key.
package typealias DecodedFields = [String: FieldValue?]

/// The server's form of a save's fields: their names, values and limits have been checked, in canonical encoding.
package struct CheckedFields: Equatable, Sendable {
    package var puts: EncodedFields
    package var removals: [String]
    /// What is wrong with this record alone (a bad name, an unsupported value, over 1 MB): the error that its item
    /// fails with.
    package var problem: ServiceError?
    /// Whether a field may hold a reference. False spares the server a search for references with `deleteSelf`. Ignored
    /// when two values are compared.
    package var mayHoldReferences = true
    /// Whether a field may hold an asset. False spares the server a search for assets. Ignored when two values are
    /// compared.
    package var mayHoldAssets = true
    /// Whether a field may hold an encrypted value. False spares the server a search for the keys that they are
    /// encrypted with. Ignored when two values are compared.
    package var mayHoldEncrypted = true

    package init(puts: EncodedFields = EncodedFields(), removals: [String] = [], problem: ServiceError? = nil) {
        self.puts = puts
        self.removals = removals
        self.problem = problem
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.puts == right.puts && left.removals == right.removals && left.problem == right.problem
    }
}

/// A record in an answer. The server's form of `Content` is the encoded record, the client's is ``Record``.
package enum RecordOutcome<Content: Equatable & Sendable>: Equatable, Sendable {
    case record(Content)
    case failure(ServiceError)
    /// The answer was full: the client has to ask for this record again. Only in answers to a fetch.
    case deferred
}

/// The result of one save.
package struct SaveResult<Content: Equatable & Sendable>: Equatable, Sendable {
    package var outcome: RecordOutcome<Content>
    /// The record's fields are left out, because they are those that the client has.
    package var fieldsOmitted: Bool

    package init(outcome: RecordOutcome<Content>, fieldsOmitted: Bool = false) {
        self.outcome = outcome
        self.fieldsOmitted = fieldsOmitted
    }
}

/// Results of one zone's items, in the order of the request. For a deletion, nil means success.
package struct ZoneModificationResult<Content: Equatable & Sendable>: Equatable, Sendable {
    package var saves: [SaveResult<Content>]
    package var deletions: [ServiceError?]

    package init(saves: [SaveResult<Content>] = [], deletions: [ServiceError?] = []) {
        self.saves = saves
        self.deletions = deletions
    }
}

/// The fields that a fetch wants: where it is optional, nil means all fields; an empty list means system fields only.
package typealias DesiredKeys = [String]

/// A request for records by id.
package struct FetchRecordsRequest: Equatable, Sendable {
    package struct ZoneFetch: Equatable, Sendable {
        package var zone: ZoneID
        package var names: [String]

        package init(zone: ZoneID, names: [String]) {
            self.zone = zone
            self.names = names
        }
    }

    package var database: DatabaseScope
    package var zones: [ZoneFetch]
    package var desiredKeys: DesiredKeys?

    package init(database: DatabaseScope, zones: [ZoneFetch], desiredKeys: DesiredKeys? = nil) {
        self.database = database
        self.zones = zones
        self.desiredKeys = desiredKeys
    }
}

/// A request for one page of a zone's changes.
package struct ZoneChangesRequest: Equatable, Sendable {
    package var database: DatabaseScope
    package var zone: ZoneID
    /// The token's bytes; empty to fetch from the start.
    package var token: [UInt8]
    /// The largest number of changes in the page; 0 means the server's own page size.
    package var resultsLimit: Int
    package var desiredKeys: DesiredKeys?

    package init(
        database: DatabaseScope, zone: ZoneID, token: [UInt8] = [], resultsLimit: Int = 0,
        desiredKeys: DesiredKeys? = nil
    ) {
        self.database = database
        self.zone = zone
        self.token = token
        self.resultsLimit = resultsLimit
        self.desiredKeys = desiredKeys
    }
}

package struct DeletedRecord: Equatable, Sendable {
    package var name: String
    package var type: String

    package init(name: String, type: String) {
        self.name = name
        self.type = type
    }
}

/// One page of a zone's changes; `Token` is sealed bytes on the wire and a ``ChangeToken`` in the engine.
package struct ZoneChangesPage<Content: Equatable & Sendable, Token: Equatable & Sendable>: Equatable, Sendable {
    package var records: [Content]
    package var deletions: [DeletedRecord]
    package var token: Token
    package var moreComing: Bool
    /// The client token that the asking device sent last with changes of this zone; empty when it sent none, or the
    /// zone no longer keeps it.
    package var clientToken: [UInt8]

    package init(
        records: [Content], deletions: [DeletedRecord], token: Token, moreComing: Bool, clientToken: [UInt8] = []
    ) {
        self.records = records
        self.deletions = deletions
        self.token = token
        self.moreComing = moreComing
        self.clientToken = clientToken
    }
}

// The server's forms. Made for every record of its hot path: the generic initializers look their types up at run time
// when another module calls them.

extension ZoneModification<CheckedFields> {
    /// One that names no record twice, and no share.
    package static func distinct(
        in zone: ZoneID, saves: consuming [RecordSave<CheckedFields>], deletions: consuming [String]
    ) -> Self {
        var modification = Self(zone: zone, saves: saves, deletions: deletions)
        modification.isKnownDistinct = true
        return modification
    }
}

extension RecordSave<CheckedFields> {
    /// One whose fields have been checked.
    package static func read(
        name: consuming String, type: consuming String, changeTag: consuming String, parent: consuming ParentChange,
        stamp: consuming [UInt8], replacesEncrypted: Bool, puts: consuming EncodedFields,
        removals: consuming [String], mayHoldReferences: Bool, mayHoldAssets: Bool, mayHoldEncrypted: Bool
    ) -> Self {
        var fields = CheckedFields(puts: puts, removals: removals)
        fields.mayHoldReferences = mayHoldReferences
        fields.mayHoldAssets = mayHoldAssets
        fields.mayHoldEncrypted = mayHoldEncrypted
        return Self(
            name: name, type: type, changeTag: changeTag, parent: parent, stamp: stamp,
            replacesEncrypted: replacesEncrypted, fields: fields)
    }
}

extension SaveResult<SharedBytes> {
    /// The record will be saved; its answer is to come.
    package static func staged(fieldsOmitted: Bool) -> Self {
        Self(outcome: .deferred, fieldsOmitted: fieldsOmitted)
    }

    /// The record was saved, or is as it was.
    package static func done(_ record: SharedBytes, fieldsOmitted: Bool) -> Self {
        Self(outcome: .record(record), fieldsOmitted: fieldsOmitted)
    }
}

extension ModifyRecordsRequest<CheckedFields> {
    /// Drops what the decoder found out about the request, for when it may have been changed since: the server checks
    /// it again.
    package mutating func forgetWhatIsKnown() {
        for zone in zones.indices {
            zones[zone].isKnownDistinct = false
            for save in zones[zone].saves.indices {
                zones[zone].saves[save].fields.mayHoldReferences = true
                zones[zone].saves[save].fields.mayHoldAssets = true
                zones[zone].saves[save].fields.mayHoldEncrypted = true
            }
        }
    }
}
