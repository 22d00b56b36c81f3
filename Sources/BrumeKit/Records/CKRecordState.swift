internal import BrumeEncryption
internal import BrumeModel
internal import Foundation

/// What a record holds, as a value: its fields, which of them were edited, and the version on the server that the edits
/// started from. Copies share the fields' storage until one of them is edited.
struct CKRecordState: Sendable {
    /// What the server says of a version of the record.
    struct Version: Sendable {
        var changeTag: String
        var creator: String
        /// Nil of a record that the user may change but not read.
        var creationDate: Date?
        var modifier: String
        var modificationDate: Date
    }

    /// The version that the edits started from, with the fields that are known of it: the ancestor in a conflict.
    struct Base: Sendable {
        var version: Version
        var parent: String?
        var share: String?
        var fields: [String: FieldValue]
        /// Its encrypted fields, without edits.
        var encrypted = EncryptedFields()
    }

    /// The version that was fetched or saved last; nil for a record that is new to this process.
    private(set) var version: Version?
    private(set) var base: Base?
    private(set) var fields: [String: FieldValue] = [:]
    private(set) var encrypted = EncryptedFields()
    private(set) var parent: String?

    /// Each key that was set or removed since the last fetch or save, with the number of its latest edit.
    private(set) var edits: [String: UInt64] = [:]
    private(set) var parentEdit: UInt64?
    /// The name of the share that the record is the root of: the server's, or that of a share made here.
    private(set) var share: String?
    /// The number of the edit that made the share here; nil once the server says of which share this is the root.
    private(set) var shareEdit: UInt64?
    /// What goes to the server in another way than fields do, or not at all.
    var local = LocalFields()
    /// The files of assets that the fields name.
    var contents = AssetContents()
    /// Counts edits, so that an answer to a save tells the edits that it covers from those made since.
    private(set) var editCount: UInt64 = 0

    /// A new record.
    init() {}

    /// A record of an answer.
    ///
    /// - Parameter opened: What keys made of its encrypted values.
    init(
        version: Version, parent: String?, share: String? = nil, fields: [String: FieldValue],
        contents: AssetContents = AssetContents(), opened: OpenedFields = OpenedFields()
    ) {
        self.contents = contents
        self.version = version
        self.parent = parent
        self.share = share
        (self.fields, encrypted) = Self.split(fields, opened, &self.contents)
        base = Base(
            version: version, parent: parent, share: share, fields: self.fields, encrypted: encrypted)
    }

    /// A version that edits started from.
    init(_ base: Base) {
        version = base.version
        parent = base.parent
        share = base.share
        fields = base.fields
        encrypted = base.encrypted
        self.base = base
    }

    /// The fields of an answer, and apart from them those that are encrypted. Assets that are open are fields as
    /// others.
    ///
    /// - Parameter contents: Gets what opens these.
    private static func split(
        _ answer: [String: FieldValue], _ opened: OpenedFields, _ contents: inout AssetContents
    ) -> (fields: [String: FieldValue], encrypted: EncryptedFields) {
        let sealedCount = answer.count { if case .encrypted = $0.value { true } else { false } }
        if sealedCount == 0, opened.unreadable.isEmpty { return (answer, EncryptedFields()) }
        var (fields, sealed) = ([String: FieldValue](), [String: EncryptedValue](minimumCapacity: sealedCount))
        fields.reserveCapacity(answer.count - sealedCount + opened.secrets.count)
        for (key, value) in answer {
            guard case .encrypted(let encrypted) = value else {
                if opened.unreadable[key] == nil { fields[key] = value }
                continue
            }
            sealed[key] = encrypted
            guard let secrets = opened.secrets[key] else { continue }
            fields[key] = encrypted.assetsValue
            for (asset, secret) in zip(encrypted.assets, secrets) { contents.setSecret(secret, of: asset) }
        }
        return (fields, EncryptedFields(sealed: sealed, opened: opened))
    }

    /// All fields as the server has them.
    var fieldsWithSealed: [String: FieldValue] {
        encrypted.sealed.isEmpty
            ? fields
            : fields.merging(encrypted.sealed.mapValues { .encrypted($0) }) { field, sealed in
                // What opens assets is not the server's.
                field.assets.isEmpty ? field : sealed
            }
    }

    /// What opens the encrypted assets among the fields, by their keys.
    var assetSecrets: [String: [AssetSecret]] {
        contents.secrets.isEmpty ? [:] : fields.compactMapValues { contents.secrets(of: $0) }
    }

    /// A record of an archive. `base` is nil when only the system fields were archived.
    init(
        version: Version?, parent: String?, share: String?, fields: [String: FieldValue], changedKeys: [String],
        isParentChanged: Bool, isShareChanged: Bool, base: Base?, encrypted: EncryptedFields
    ) {
        self.encrypted = encrypted
        self.version = version
        self.parent = parent
        self.share = share
        self.fields = fields
        self.base = base
        editCount = 1
        for key in changedKeys { edits[key] = 1 }
        if isParentChanged { parentEdit = 1 }
        if isShareChanged { shareEdit = 1 }
    }

    /// Sets or removes a field. An equal value is an edit too. To remove one that is encrypted on the server is to
    /// remove what is encrypted, whether that is open here or not: it takes the keys.
    mutating func set(_ value: FieldValue?, forKey key: String) {
        let isSealed = encrypted.holdsSealedValue(key) || base?.encrypted.holdsSealedValue(key) == true
        if value == nil, isSealed { return setEncrypted(nil, forKey: key) }
        editCount += 1
        fields[key] = value
        encrypted.leave(toPlainField: key)
        local.assets[key] = nil
        local.refused[.field(key)] = nil
        edits[key] = editCount
    }

    /// Sets or removes an encrypted field. A field is encrypted or not: a plain one of this key goes.
    mutating func setEncrypted(_ value: FieldValue?, forKey key: String) {
        editCount += 1
        fields[key] = nil
        edits[key] = nil
        local.assets[key] = nil
        local.refused[.encryptedField(key)] = nil
        encrypted.set(value, forKey: key, edit: editCount)
    }

    /// Edits start from another version, which has the same content.
    mutating func start(from base: Base, _ newer: EncryptedFields) {
        (version, self.base) = (base.version, base)
        encrypted.start(from: newer)
    }

    /// Encrypted values are open here, as those of a fetched version.
    mutating func show(_ values: [String: FieldValue]) {
        encrypted = EncryptedFields(values: values, sealed: [:], unreadable: [:], edits: [:])
        base?.encrypted = encrypted
    }

    /// Remembers that an encrypted field was set to what no record can have: as ``refuse(_:forKey:)``.
    mutating func refuseEncrypted(_ reason: String, forKey key: String) {
        editCount += 1
        encrypted.refuse(key)
        local.refused[.encryptedField(key)] = reason
    }

    /// All that is encrypted in the record goes into one tree.
    mutating func forgetFormerTrees() { encrypted.formerTreeIDs = [] }

    /// A save sends these encrypted values, or removes fields with nil.
    mutating func sends(_ values: [String: EncryptedValue?], opened: [String: FieldValue] = [:]) {
        encrypted.sends(values, opened: opened.filter { $1.assets.isEmpty })
        for (key, value) in opened where !value.assets.isEmpty && edits[key] == nil { fields[key] = value }
    }

    /// Remembers that a field was set to what no record can have: it is empty here, and the record can't be saved
    /// before the field is set again.
    mutating func refuse(_ reason: String, forKey key: String) {
        editCount += 1
        fields[key] = nil
        local.assets[key] = nil
        local.refused[.field(key)] = reason
    }

    /// Sets a field that holds files.
    mutating func set(_ assets: LocalFields.Assets, forKey key: String) {
        set(nil as FieldValue?, forKey: key)
        local.assets[key] = assets
    }

    /// The files of a field are to be uploaded, though the server has them.
    mutating func uploadAgain(_ key: String, of record: CKRecord.ID) {
        guard let value = fields.removeValue(forKey: key) else { return }
        let assets = value.assets.map { CKAsset($0, of: record, from: contents) }
        let isList = if case .assets = value { true } else { false }
        local.assets[key] = LocalFields.Assets(assets: assets, isList: isList)
    }

    /// The files of a field are with the server, under these names. An edit stays an edit.
    mutating func uploaded(_ assets: [Asset], isList: Bool, forKey key: String) {
        local.assets[key] = nil
        fields[key] = isList ? .assets(assets) : .asset(assets[0])
    }

    mutating func setParent(_ name: String?) {
        editCount += 1
        parent = name
        parentEdit = editCount
        local.refused[.parent] = nil
    }

    /// A share has been made of which the record is to be the root. Saving the record does not send this: saving the
    /// share does.
    mutating func setShare(_ name: String) {
        editCount += 1
        share = name
        shareEdit = editCount
    }

    /// What a save under the given policy sends (Documentation/CloudKit.md, Change tags and save policies): the edited
    /// keys, or with `allKeys` also the others that the record holds. Encrypted fields are added once they are sealed.
    func save(name: String, type: String, policy: SavePolicy) -> RecordSave<DecodedFields> {
        var sent: DecodedFields = policy == .allKeys ? fields.mapValues { $0 } : [:]
        for key in edits.keys {
            sent.updateValue(fields[key], forKey: key)
        }
        return RecordSave(
            name: name, type: type, changeTag: version?.changeTag ?? "", parent: parentChange(policy), fields: sent)
    }

    /// What such a save says of the parent.
    func parentChange(_ policy: SavePolicy) -> ParentChange {
        if let parent, parentEdit != nil || policy == .allKeys { return .set(parent) }
        return parentEdit != nil && version != nil ? .removed : .unchanged
    }

    /// Takes over the server's answer to a save of `sent`, an earlier copy of this state.
    ///
    /// Edits made since then stay edits. When the answer holds the fields, they replace those that have no such edit,
    /// so that the record shows the version whose tag it has.
    ///
    /// A share that was made here stays until the server names one: the record may have been saved before the share,
    /// or beside a share that was refused.
    mutating func saved(
        as version: Version, parent savedParent: String?, share savedShare: String? = nil,
        fields savedFields: [String: FieldValue]?, opened: OpenedFields = OpenedFields(), sent: CKRecordState
    ) {
        // Files that were set before the save are with the server now.
        for key in local.assets.keys where edits[key].map({ $0 <= sent.editCount }) ?? true {
            local.assets[key] = nil
            fields[key] = sent.fields[key]
        }
        // So are those that were uploaded again.
        for (key, value) in sent.fields where !value.assets.isEmpty && local.refused[.field(key)] == nil {
            if let edit = edits[key], edit > sent.editCount { continue }
            fields[key] = value
        }
        contents.merge(sent.contents)
        edits = edits.filter { $0.value > sent.editCount }
        if let edit = parentEdit, edit <= sent.editCount { parentEdit = nil }
        var known = sent.fields
        var knownEncrypted = sent.encrypted
        if let savedFields {
            (known, knownEncrypted) = Self.split(savedFields, opened, &contents)
            var merged = known
            for key in edits.keys { merged[key] = fields[key] }
            fields = merged
        }
        encrypted.saved(
            as: savedFields == nil ? nil : knownEncrypted, sent: sent.encrypted, editCount: sent.editCount,
            plainEdits: edits.keys)
        // Set meanwhile in the place of a plain one that the answer holds.
        for key in encrypted.edits.keys { fields[key] = nil }
        if parentEdit == nil { parent = savedParent }
        if let edit = shareEdit, edit <= sent.editCount, savedShare != nil { shareEdit = nil }
        if shareEdit == nil { share = savedShare }
        self.version = version
        base = Base(
            version: version, parent: savedParent, share: savedShare, fields: known,
            encrypted: knownEncrypted.unedited)
        contents.keep(namedBy: fields, known)
    }
}
