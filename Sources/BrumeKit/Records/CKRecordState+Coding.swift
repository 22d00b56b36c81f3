internal import BrumeEncryption
internal import BrumeModel
internal import BrumeRecord
internal import Foundation

/// The keys of an archived record. Base keys hold what is known of the version that the edits started from.
private enum ArchiveKey {
    static let changeTag = "RecordChangeTag"
    static let creator = "CreatorUserRecordName"
    static let creationDate = "CreationDate"
    static let modifier = "LastModifiedUserRecordName"
    static let modificationDate = "ModificationDate"
    static let parent = "ParentRecordName"
    static let fields = "Fields"
    static let changedKeys = "ChangedKeys"
    static let isParentChanged = "IsParentChanged"
    static let basePrefix = "Base"
    static let share = "ShareRecordName"
    /// Whether the server named the share. Earlier versions had only shares that were made here, and no such key.
    static let isShareSaved = "IsShareSaved"
    static let assetKeys = "AssetKeys"
    static let assetPaths = "AssetPaths"
    static let listKeys = "AssetListKeys"
    static let sealed = "SealedFields"
    static let encrypted = "EncryptedFields"
    static let encryptedEdits = "ChangedEncryptedKeys"
    static let secretKeys = "EncryptedAssetKeys"
    static let secrets = "AssetSecrets"
    static let unreadable = "UnreadableKeys"
    static let unreadableReasons = "UnreadableReasons"
    static let trees = "EncryptedTrees"
    static let refused = "Refused"
    static let refusedReasons = "RefusedReasons"
}

extension CKRecordState {
    func encodeSystemFields(with coder: NSCoder) {
        version?.encode(with: coder, prefix: "")
        coder.encodeIfPresent(parent, forKey: ArchiveKey.parent)
        coder.encode(parentEdit != nil, forKey: ArchiveKey.isParentChanged)
        coder.encodeIfPresent(share, forKey: ArchiveKey.share)
        if share != nil { coder.encode(shareEdit == nil, forKey: ArchiveKey.isShareSaved) }
        // Where the record is is the server's word, and what was encrypted in it may say otherwise.
        let trees = encrypted.treeIDs.map { Data($0).base64EncodedString() }.sorted()
        if !trees.isEmpty { coder.encodeIfPresent(trees, forKey: ArchiveKey.trees) }
    }

    func encodeFields(with coder: NSCoder) {
        fields.encode(with: coder, forKey: ArchiveKey.fields)
        encrypted.encode(with: coder)
        contents.encodeSecrets(of: fields, with: coder, prefix: "")
        local.encodeFields(with: coder)
        coder.encodeIfPresent(edits.keys.sorted(), forKey: ArchiveKey.changedKeys)
        guard let base else { return }
        base.version.encode(with: coder, prefix: ArchiveKey.basePrefix)
        coder.encodeIfPresent(base.parent, forKey: ArchiveKey.basePrefix + ArchiveKey.parent)
        coder.encodeIfPresent(base.share, forKey: ArchiveKey.basePrefix + ArchiveKey.share)
        base.fields.encode(with: coder, forKey: ArchiveKey.basePrefix + ArchiveKey.fields)
        base.encrypted.encodeBase(with: coder)
        contents.encodeSecrets(of: base.fields, with: coder, prefix: ArchiveKey.basePrefix)
    }

    /// Nil when the archive holds something that no record does.
    init?(coder: NSCoder) {
        var hasValidNames = true
        /// The name of another record, or nil.
        func name(_ key: String) -> String? {
            let name = coder.stringIfPresent(forKey: key)
            if let name, CKRecord.ID.problem(withName: name) != nil { hasValidNames = false }
            return name
        }
        let changedKeys = coder.stringsIfPresent(forKey: ArchiveKey.changedKeys) ?? []
        guard changedKeys.allSatisfy({ CKRecord.problem(withKey: $0) == nil }) else { return nil }
        guard let fields = [String: FieldValue](coder: coder, forKey: ArchiveKey.fields) else { return nil }
        var contents = AssetContents()
        guard contents.decodeSecrets(of: fields, coder, prefix: "") else { return nil }
        let assetKeys = Set(fields.filter { contents.secrets(of: $1) != nil }.keys)
        guard var encrypted = EncryptedFields(coder: coder, assetKeys: assetKeys) else { return nil }
        for tree in coder.stringsIfPresent(forKey: ArchiveKey.trees) ?? [] {
            guard let id = Data(base64Encoded: tree), id.count == Tree.idBytes else { return nil }
            encrypted.formerTreeIDs.insert(Array(id))
        }
        var base: Base?
        if let version = Version(coder: coder, prefix: ArchiveKey.basePrefix) {
            guard
                let baseFields = [String: FieldValue](coder: coder, forKey: ArchiveKey.basePrefix + ArchiveKey.fields),
                let baseEncrypted = EncryptedFields(baseCoder: coder),
                contents.decodeSecrets(of: baseFields, coder, prefix: ArchiveKey.basePrefix)
            else { return nil }
            base = Base(
                version: version, parent: name(ArchiveKey.basePrefix + ArchiveKey.parent),
                share: name(ArchiveKey.basePrefix + ArchiveKey.share), fields: baseFields, encrypted: baseEncrypted)
        }
        let share = name(ArchiveKey.share)
        self.init(
            version: Version(coder: coder, prefix: ""), parent: name(ArchiveKey.parent), share: share, fields: fields,
            changedKeys: changedKeys, isParentChanged: coder.boolIfPresent(forKey: ArchiveKey.isParentChanged) ?? false,
            isShareChanged: share != nil && coder.boolIfPresent(forKey: ArchiveKey.isShareSaved) != true, base: base,
            encrypted: encrypted)
        guard hasValidNames else { return nil }
        guard let local = LocalFields(coder: coder) else { return nil }
        self.local = local
        self.contents = contents
    }
}

/// Files are archived by their paths, each under its field's key, those of a list in their order.
extension LocalFields {
    fileprivate func encodeFields(with coder: NSCoder) {
        if !refused.isEmpty {
            let refused = refused.map { (name: $0.archiveName, reason: $1) }.sorted { $0.name < $1.name }
            coder.encodeIfPresent(refused.map(\.name), forKey: ArchiveKey.refused)
            coder.encodeIfPresent(refused.map(\.reason), forKey: ArchiveKey.refusedReasons)
        }
        if !assets.isEmpty {
            let files = assets.sorted { $0.key < $1.key }.flatMap { key, value in
                value.assets.map { (key: key, path: $0.fileURL?.path ?? "") }
            }
            coder.encodeIfPresent(files.map(\.key), forKey: ArchiveKey.assetKeys)
            coder.encodeIfPresent(files.map(\.path), forKey: ArchiveKey.assetPaths)
            coder.encodeIfPresent(assets.filter(\.value.isList).keys.sorted(), forKey: ArchiveKey.listKeys)
        }
    }

    /// Nil when the archive holds something that no record does.
    fileprivate init?(coder: NSCoder) {
        let names = coder.stringsIfPresent(forKey: ArchiveKey.refused) ?? []
        let reasons = coder.stringsIfPresent(forKey: ArchiveKey.refusedReasons) ?? []
        guard names.count == reasons.count else { return nil }
        for (name, reason) in zip(names, reasons) {
            guard let refused = Refused(archiveName: name) else { return nil }
            self.refused[refused] = reason
        }
        let keys = coder.stringsIfPresent(forKey: ArchiveKey.assetKeys) ?? []
        let paths = coder.stringsIfPresent(forKey: ArchiveKey.assetPaths) ?? []
        let lists = Set(coder.stringsIfPresent(forKey: ArchiveKey.listKeys) ?? [])
        guard keys.count == paths.count, keys.allSatisfy({ CKRecord.problem(withKey: $0) == nil }) else { return nil }
        for (key, path) in zip(keys, paths) where !path.isEmpty {
            let asset = CKAsset(fileURL: URL(fileURLWithPath: path))
            assets[key] = Assets(assets: (assets[key]?.assets ?? []) + [asset], isList: lists.contains(key))
        }
        // What had no file on this device is not archived. A save without it would remove it from the server.
        for (key, path) in zip(keys, paths) where path.isEmpty {
            assets[key] = nil
            refused[.field(key)] =
                "field \(key.quotedName) held an asset without its file when the record was archived; fetch the record "
                + "with this key, and set the field anew"
        }
    }
}

extension EncryptedFields {
    fileprivate func encode(with coder: NSCoder) {
        if !sealed.isEmpty {
            sealed.mapValues { FieldValue.encrypted($0) }.encode(with: coder, forKey: ArchiveKey.sealed)
        }
        if !values.isEmpty { values.encode(with: coder, forKey: ArchiveKey.encrypted) }
        if !edits.isEmpty { coder.encodeIfPresent(edits.keys.sorted(), forKey: ArchiveKey.encryptedEdits) }
        if unreadable.isEmpty { return }
        let unreadable = unreadable.sorted { $0.key < $1.key }
        coder.encodeIfPresent(unreadable.map(\.key), forKey: ArchiveKey.unreadable)
        coder.encodeIfPresent(unreadable.map { String($0.value.rawValue) }, forKey: ArchiveKey.unreadableReasons)
    }

    /// Nil when the archive holds something that no record does.
    fileprivate init?(coder: NSCoder, assetKeys: Set<String>) {
        guard let sealed = [String: FieldValue](coder: coder, forKey: ArchiveKey.sealed),
            let values = [String: FieldValue](coder: coder, forKey: ArchiveKey.encrypted)
        else { return nil }
        let edits = coder.stringsIfPresent(forKey: ArchiveKey.encryptedEdits) ?? []
        guard edits.allSatisfy({ CKRecord.problem(withKey: $0) == nil }) else { return nil }
        let keys = coder.stringsIfPresent(forKey: ArchiveKey.unreadable) ?? []
        let reasons = coder.stringsIfPresent(forKey: ArchiveKey.unreadableReasons) ?? []
        guard keys.count == reasons.count else { return nil }
        var unreadable: [String: CKRecord.UnreadableReason] = [:]
        for (key, reason) in zip(keys, reasons)
        where sealed[key] != nil || Int(reason) == CKRecord.UnreadableReason.notEncrypted.rawValue {
            // A newer version may have known other reasons.
            unreadable[key] = Int(reason).flatMap(CKRecord.UnreadableReason.init) ?? .damaged
        }
        self.init(
            values: values, sealed: sealed.compactMapValues(\.sealed), unreadable: unreadable,
            edits: Dictionary(edits.map { ($0, 1) }) { first, _ in first }, assetKeys: assetKeys)
    }
}

/// What opens the encrypted assets of fields: the fields' keys, and beside them the secrets, one behind the other.
extension AssetContents {
    fileprivate func encodeSecrets(of fields: [String: FieldValue], with coder: NSCoder, prefix: String) {
        if secrets.isEmpty { return }
        let encrypted = fields.compactMapValues { secrets(of: $0) }.sorted { $0.key < $1.key }
        if encrypted.isEmpty { return }
        coder.encodeIfPresent(encrypted.map(\.key), forKey: prefix + ArchiveKey.secretKeys)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encrypted.reduce(0) { $0 + $1.value.count } * AssetSecret.byteCount)
        defer { Sodium.wipe(&bytes) }
        for secret in encrypted.flatMap(\.value) {
            var copy = secret.copyBytes()
            bytes += copy
            Sodium.wipe(&copy)
        }
        coder.encode(Data(bytes) as NSData, forKey: prefix + ArchiveKey.secrets)
    }

    /// False when the archive holds something that no record does.
    fileprivate mutating func decodeSecrets(
        of fields: [String: FieldValue], _ coder: NSCoder, prefix: String
    ) -> Bool {
        guard let keys = coder.stringsIfPresent(forKey: prefix + ArchiveKey.secretKeys) else { return true }
        guard let data = coder.dataIfPresent(forKey: prefix + ArchiveKey.secrets) else { return false }
        var rest = [UInt8](data)[...]
        for asset in keys.flatMap({ fields[$0]?.assets ?? [] }) {
            var bytes = Array(rest.prefix(AssetSecret.byteCount))
            defer { Sodium.wipe(&bytes) }
            rest = rest.dropFirst(AssetSecret.byteCount)
            guard let secret = try? AssetSecret(bytes), AssetContent(asset, secret: secret) != nil else {
                return false
            }
            setSecret(secret, of: asset)
        }
        return rest.isEmpty
    }
}

/// Those of the version that edits started from: the values, and of what is not open here the bytes, by which a change
/// shows.
extension EncryptedFields {
    private static let valuesKey = ArchiveKey.basePrefix + ArchiveKey.encrypted
    private static let sealedKey = ArchiveKey.basePrefix + ArchiveKey.sealed

    fileprivate func encodeBase(with coder: NSCoder) {
        if !values.isEmpty { values.encode(with: coder, forKey: Self.valuesKey) }
        let closed = sealed.filter { unreadable[$0.key] != nil }
        if closed.isEmpty { return }
        closed.mapValues { FieldValue.encrypted($0) }.encode(with: coder, forKey: Self.sealedKey)
    }

    /// Nil when the archive holds something that no record does.
    fileprivate init?(baseCoder coder: NSCoder) {
        guard let values = [String: FieldValue](coder: coder, forKey: Self.valuesKey),
            let sealed = [String: FieldValue](coder: coder, forKey: Self.sealedKey)
        else { return nil }
        self.init(values: values, sealed: sealed.compactMapValues(\.sealed), unreadable: [:], edits: [:])
    }
}

extension FieldValue {
    fileprivate var sealed: EncryptedValue? { if case .encrypted(let value) = self { value } else { nil } }
}

extension LocalFields.Refused {
    fileprivate var archiveName: String {
        switch self {
        case .field(let key): "f" + key
        case .encryptedField(let key): "e" + key
        case .parent: "p"
        }
    }

    fileprivate init?(archiveName: String) {
        switch archiveName.first {
        case "f": self = .field(String(archiveName.dropFirst()))
        case "e": self = .encryptedField(String(archiveName.dropFirst()))
        case "p": self = .parent
        default: return nil
        }
    }
}

extension CKRecordState.Version {
    fileprivate func encode(with coder: NSCoder, prefix: String) {
        coder.encodeIfPresent(changeTag, forKey: prefix + ArchiveKey.changeTag)
        coder.encodeIfPresent(creator, forKey: prefix + ArchiveKey.creator)
        coder.encodeIfPresent(creationDate, forKey: prefix + ArchiveKey.creationDate)
        coder.encodeIfPresent(modifier, forKey: prefix + ArchiveKey.modifier)
        coder.encodeIfPresent(modificationDate, forKey: prefix + ArchiveKey.modificationDate)
    }

    fileprivate init?(coder: NSCoder, prefix: String) {
        guard let changeTag = coder.stringIfPresent(forKey: prefix + ArchiveKey.changeTag),
            let modificationDate = coder.dateIfPresent(forKey: prefix + ArchiveKey.modificationDate)
        else { return nil }
        self.init(
            changeTag: changeTag, creator: coder.stringIfPresent(forKey: prefix + ArchiveKey.creator) ?? "",
            creationDate: coder.dateIfPresent(forKey: prefix + ArchiveKey.creationDate),
            modifier: coder.stringIfPresent(forKey: prefix + ArchiveKey.modifier) ?? "",
            modificationDate: modificationDate)
    }
}

extension [String: FieldValue] {
    /// Archives the fields as the protocol encodes those of a record: each value keeps its kind and all its bits, which
    /// Foundation's archives of numbers do not promise.
    fileprivate func encode(with coder: NSCoder, forKey key: String) {
        let bytes = StoredRecord.encode(
            SystemFields(name: "", type: ""), fields: map { StoredRecord.encodeField(key: $0.key, value: $0.value) })
        coder.encode(Data(bytes) as NSData, forKey: key)
    }

    /// Nil when the archive holds something that no record's fields are; empty when it holds none.
    fileprivate init?(coder: NSCoder, forKey key: String) {
        guard coder.containsValue(forKey: key) else {
            self = [:]
            return
        }
        guard let data = coder.dataIfPresent(forKey: key),
            let record = try? [UInt8](data).withUnsafeBytes({ try StoredRecord.decode($0) }),
            CKRecord.holdsValidNames(record),
            record.fields.keys.allSatisfy({ CKRecord.problem(withKey: $0) == nil }),
            // The one place for encrypted values: elsewhere an app would be shown them.
            record.fields.values.allSatisfy({ FieldKind($0).isEncrypted == key.hasSuffix(ArchiveKey.sealed) })
        else { return nil }
        self = record.fields
    }
}
