internal import BrumeLock
internal import BrumeModel
public import Foundation

/// A record: a type, an id, and fields under keys, which are saved to and fetched from a zone of a database.
///
/// Setting a field marks its key as changed, and a save sends the changed fields alone. A field that is set to nil is
/// removed, here at once and with the next save on the server. Reads give copies, so a change to a list, for example,
/// takes effect when the list is set again.
///
/// A record may be used from several threads; each access is one step of its own.
///
/// Differs from CloudKit: where CloudKit raises an exception for an unsupported value, key or name, nothing stops here:
/// a field that is set so has no value, and saving the record fails with `invalidArguments` and a sentence until the
/// field is set again. So it is with a reference to a record of another zone.
public class CKRecord: NSObject, NSSecureCoding, NSCopying, CKRecordKeyValueSetting, Sequence, @unchecked Sendable {
    // Sendable: the two ids are immutable and all else is behind the mutex; subclasses in this module add no state.

    /// The name of a kind of records.
    public typealias RecordType = String

    /// The name of a field.
    public typealias FieldKey = String

    /// The kind of record, fixed when it is made.
    public let recordType: RecordType

    /// The record's name and zone.
    public let recordID: CKRecord.ID

    private let state: Lock<CKRecordState>

    /// A new record, to be saved.
    ///
    /// - Parameters:
    ///   - recordType: An ASCII letter, then letters, digits or underscores, 255 characters at most. A record of
    ///     another type can't be saved.
    ///   - recordID: Where it will be saved: by default under a new UUID in the default zone.
    public convenience init(recordType: RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        self.init(recordType: recordType, recordID: recordID, state: CKRecordState())
    }

    /// A new record with a new UUID as its name.
    @available(*, deprecated, message: "Use init(recordType:recordID:) with CKRecord.ID(zoneID:)")
    public convenience init(recordType: RecordType, zoneID: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    init(recordType: RecordType, recordID: CKRecord.ID, state: CKRecordState) {
        self.recordType = recordType
        self.recordID = recordID
        self.state = Lock(state)
    }

    // MARK: System fields

    /// The version on the server that this record was fetched or saved as; nil before that. Opaque.
    public var recordChangeTag: String? { snapshot.version?.changeTag }

    /// Who made the record; the name is ``CKCurrentUserDefaultName`` for the current user. Nil until saved or fetched.
    public var creatorUserRecordID: CKRecord.ID? { Self.userID(snapshot.version?.creator) }

    /// When the record was first saved, by the server's clock. Nil until saved or fetched.
    public var creationDate: Date? { snapshot.version?.creationDate }

    /// Who saved it last; the name is ``CKCurrentUserDefaultName`` for the current user. Nil until saved or fetched.
    public var lastModifiedUserRecordID: CKRecord.ID? { Self.userID(snapshot.version?.modifier) }

    /// When the record was last saved, by the server's clock. Nil until saved or fetched.
    public var modificationDate: Date? { snapshot.version?.modificationDate }

    /// The record's parent in a hierarchy, which has to exist when this one is saved.
    ///
    /// Its action is `none` and its zone this record's; with another one the record has no parent, and saving it fails
    /// with `invalidArguments`.
    public var parent: CKRecord.Reference? {
        get {
            snapshot.parent.map {
                CKRecord.Reference(recordID: CKRecord.ID(recordName: $0, zoneID: recordID.zoneID), action: .none)
            }
        }
        set {
            if let newValue {
                let problem =
                    if newValue.action != .none {
                        "a parent's action is none; use a field of your own for a deleteSelf reference"
                    } else if newValue.recordID.zoneID != recordID.zoneID {
                        "a parent is in its child's zone; save both records in one zone"
                    } else {
                        CKRecord.ID.problem(withName: newValue.recordID.recordName)
                    }
                if let problem {
                    return state.withLock { state in
                        state.setParent(nil)
                        state.local.refused[.parent] = "CKRecord.parent: \(problem)"
                    }
                }
            }
            let name = newValue?.recordID.recordName
            state.withLock { $0.setParent(name) }
        }
    }

    /// Makes the given record the parent; nil removes the parent.
    public func setParent(_ parentRecord: CKRecord?) {
        setParent(parentRecord?.recordID)
    }

    /// Makes the record with the given id the parent; nil removes the parent.
    public func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }

    /// The share that this record is the root of; nil without one.
    ///
    /// ``CKShare/init(rootRecord:)`` sets it at once, and it stays here, archives and copies included, until an answer
    /// to a save of the record names a share. From then on it is what the server says. When a share has been deleted,
    /// instances of its root show that once they are saved or fetched again.
    public var share: CKRecord.Reference? {
        snapshot.share.map {
            CKRecord.Reference(recordID: CKRecord.ID(recordName: $0, zoneID: recordID.zoneID), action: .none)
        }
    }

    // MARK: Fields

    /// The value of a field, or nil. Setting nil removes the field, here and with the next save on the server.
    ///
    /// A key is an ASCII letter, then letters, digits or underscores. With another key, or an unsupported value, the
    /// field has no value, and saving the record fails with `invalidArguments` until the field is set again.
    public subscript(key: FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// The same, as what CloudKit's Objective-C forms of values are.
    @_disfavoredOverload
    public subscript(key: FieldKey) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// The value of a field, or nil.
    public func object(forKey key: FieldKey) -> (any __CKRecordObjCValue)? {
        let (field, assets, contents) = state.withLock { ($0.fields[key], $0.local.assets[key], $0.contents) }
        if let assets { return assets.recordValue }
        switch field {
        case .asset(let asset): return CKAsset(asset, of: recordID, from: contents)
        case .assets(let list): return list.map { CKAsset($0, of: recordID, from: contents) }
        default: return field?.recordValue(in: recordID.zoneID)
        }
    }

    /// Sets a field, or removes it with nil. See the subscript.
    public func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: FieldKey) {
        if let problem = Names.problemWithFieldKey(key, ofType: recordType) {
            return state.withLock { state in
                if object == nil {
                    state.local.refused[.field(key)] = nil
                } else {
                    state.refuse("\(problem) (\(key.quotedName))", forKey: key)
                }
            }
        }
        if let object, let assets = LocalFields.Assets(object) {
            return state.withLock { state in
                if let kept = assets.value(keptBy: recordID, state.base) {
                    state.set(kept, forKey: key)
                    state.contents.add(assets.assets)
                } else {
                    state.set(assets, forKey: key)
                }
            }
        }
        let value: FieldValue?
        do throws(UnsupportedFieldValue) {
            value = if let object { try FieldValue(object, in: recordID.zoneID) } else { nil }
        } catch {
            return refuse(error.reason, forKey: key)
        }
        state.withLock { $0.set(value, forKey: key) }
    }

    /// The field was set to a value that none can have.
    func refuse(_ reason: String, forKey key: FieldKey) {
        state.withLock { $0.refuse("the value for key \(key.quotedName) is refused: \(reason)", forKey: key) }
    }

    /// What is wrong with a field's key, whatever the record's type; nil for those that shares alone have.
    static func problem(withKey key: FieldKey) -> String? {
        Names.problemWithFieldKey(key, ofType: Names.shareType)
    }

    /// The keys that have a value, sorted.
    public func allKeys() -> [FieldKey] {
        let state = snapshot
        return (Array(state.fields.keys) + state.local.assets.keys).sorted()
    }

    /// The keys that were set, even to an equal value, or removed since the last fetch or save, sorted.
    public func changedKeys() -> [FieldKey] {
        let state = snapshot
        let refused = state.local.refused.keys.compactMap { if case .field(let key) = $0 { key } else { nil } }
        return Set(state.edits.keys).union(refused).sorted()
    }

    /// The words of all fields that are strings, split at white space, in the order of the fields' keys.
    public func allTokens() -> [String] {
        snapshot.fields.sorted { $0.key < $1.key }.flatMap { _, value -> [String] in
            guard case .string(let text) = value else { return [] }
            return text.split(whereSeparator: \.isWhitespace).map(String.init)
        }
    }

    /// Type, name and tag; never the fields.
    public override var description: String {
        "<CKRecord: recordType=\(recordType), recordID=\(recordID), recordChangeTag=\(recordChangeTag ?? "nil")>"
    }

    /// A record of its own with the same type, id, system fields, fields and changed keys.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKRecord(recordType: recordType, recordID: recordID, state: snapshot)
    }

    // MARK: Archiving

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the whole record into a keyed archive: system fields, fields and changed keys.
    public func encode(with coder: NSCoder) {
        let state = snapshot
        encodeSystemFields(of: state, with: coder)
        state.encodeFields(with: coder)
    }

    /// Writes the system fields alone into a keyed archive: no fields and no changed keys.
    ///
    /// Keep them beside the app's own copy of the data. A record made from them with ``init(coder:)`` and the app's
    /// values is saved against the version that they describe.
    public func encodeSystemFields(with coder: NSCoder) {
        encodeSystemFields(of: snapshot, with: coder)
    }

    /// Reads a record that either kind of archive holds; nil when it holds none.
    public required convenience init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKRecord.self)
        guard let (recordType, recordID, state) = CKRecord.decode(coder) else { return nil }
        self.init(recordType: recordType, recordID: recordID, state: state)
    }

    /// What an archive of a record holds; nil when it is of something else.
    static func decode(_ coder: NSCoder) -> (RecordType, CKRecord.ID, CKRecordState)? {
        guard let recordType = coder.stringIfPresent(forKey: "RecordType"),
            recordType == SystemType.share || Names.problemWithRecordType(recordType) == nil,
            let recordID = coder.objectIfPresent(of: CKRecordID.self, forKey: "RecordID"),
            let state = CKRecordState(coder: coder)
        else { return nil }
        return (recordType, recordID, state)
    }

    func encodeSystemFields(of state: CKRecordState, with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKRecord.self)
        coder.encode(recordType as NSString, forKey: "RecordType")
        coder.encode(recordID, forKey: "RecordID")
        state.encodeSystemFields(with: coder)
    }

    // MARK: State

    /// The state as it is now: a copy that shares its storage.
    var snapshot: CKRecordState { state.withLock { $0 } }

    func updateState(_ body: (inout CKRecordState) -> Void) {
        state.withLock { body(&$0) }
    }

    private static func userID(_ name: String?) -> CKRecord.ID? {
        guard let name, CKRecord.ID.problem(withName: name) == nil else { return nil }
        return CKRecord.ID(recordName: name)
    }
}
