internal import BrumeEncryption
internal import BrumeModel
internal import BrumeRecord

/// Encrypts the values of records that are being saved in one zone.
struct RecordSealer {
    /// By the names of roots.
    private var keys: [String: RingKeys] = [:]
    private var ciphers: [String: TreeCipher] = [:]

    /// Says with which keys the records below a root are encrypted.
    mutating func setKeys(_ keys: RingKeys, root: String) { self.keys[root] = keys }

    /// Whether all of the zone is one tree.
    var isPerZone: Bool { keys.values.contains(where: \.isPerZone) }

    /// The tree of the records below a root.
    func tree(root: String) -> Tree { knownKeys(root).tree(root: root) }

    /// Whether a value goes out encrypted anew where it is saved below a root: it is of another tree, or of a key from
    /// while the tree was private that its ring does not hand on to guests.
    func isMisplaced(_ header: ValueHeader?, below root: String) -> Bool {
        guard let header, header.treeID == tree(root: root).id else { return true }
        return knownKeys(root).keepsFromGuests(header)
    }

    private func knownKeys(_ root: String) -> RingKeys {
        guard let keys = keys[root] else { preconditionFailure("a record is encrypted without its tree's keys") }
        return keys
    }

    /// Encrypts what the save sends, and stamps the record where it has a parent.
    ///
    /// Where nothing but the server's word says that a record is in another private tree than its values name, new ones
    /// are of a tree of the record's own: else the server could have them pass for the other's, and later for a share's
    /// above it. Whatever the record turns out to be below, its place has to be proved then.
    ///
    /// A value that is the fetched one goes out as the same bytes if these have the current key: a save that changes
    /// nothing changes nothing.
    ///
    /// - Parameters:
    ///   - root: The name of the root of the record's tree.
    ///   - moved: Values of the record that have to be encrypted again since it is in another tree now.
    /// - Throws: `keyMissing` where the newest key is not here.
    mutating func seal(
        _ outgoing: inout OutgoingRecord, root: String, policy: SavePolicy, moved: [String: FieldValue]
    ) throws(EncryptionRefusal) {
        let id = outgoing.record.recordID
        let cipher =
            outgoing.isPlaceDoubtful ? try ownCipher(of: id.recordName, below: root) : try cipher(root: root)
        let record = cipher.record(named: id.recordName, type: outgoing.record.recordType)
        let fields = outgoing.sent.encrypted
        let coder = ValueCoder()
        var sent: [String: EncryptedValue?] = [:]
        var isSealedAnew = false
        func seal(_ value: FieldValue, _ key: String) -> EncryptedValue {
            let form = EncryptedValue(FieldKind(value), [])
            var plain = coder.encode(value)
            defer { Sodium.wipe(&plain) }
            // Equal is what has the same bytes: texts that only look alike are others.
            if let same = fields.sealed[key], same.header == cipher.header,
                let former = outgoing.sent.base?.encrypted.values[key], coder.encode(former) == plain
            {
                return same
            }
            isSealedAnew = true
            return EncryptedValue(
                form.kind, record.seal(plain, field: key, valueType: form.plainTypeText))
        }
        /// Seals what opens a field's assets, where they are encrypted.
        func sealAssets(_ value: FieldValue, _ key: String) -> EncryptedValue? {
            guard let secrets = outgoing.sent.contents.secrets(of: value) else { return nil }
            let kind = FieldKind(value)
            // A save names what was uploaded for it with the receipts.
            let assets = (outgoing.receipts[key] ?? value).assets
            let versions = [fields, outgoing.sent.base?.encrypted].compactMap(\.self)
            for case let same? in versions.map({ $0.unreadable[key] == nil ? $0.sealed[key] : nil })
            where same.kind == kind && same.assets == value.assets
                && same.header == cipher.header
            {
                return EncryptedValue(kind, same.bytes, assets: assets)
            }
            var plain = kind == .asset ? secrets[0].copyBytes() : AssetSecret.copyBytes(of: secrets)
            defer { Sodium.wipe(&plain) }
            let type = EncryptedValue(kind, [], assets: assets).plainTypeText
            isSealedAnew = true
            return EncryptedValue(kind, record.seal(plain, field: key, valueType: type), assets: assets)
        }
        if !outgoing.sent.contents.secrets.isEmpty {
            let save = outgoing.sent.save(name: id.recordName, type: outgoing.record.recordType, policy: policy)
            for (key, value) in save.fields {
                if let value, let sealed = sealAssets(value, key) { sent[key] = sealed }
            }
        }
        for (key, value) in moved where fields.edits[key] == nil && outgoing.sent.edits[key] == nil {
            sent[key] = sealAssets(value, key) ?? seal(value, key)
        }
        let keys = fields.sentKeys(policy)
        sent.reserveCapacity(sent.count + keys.count)
        for key in keys {
            sent.updateValue(fields.values[key].map { seal($0, key) }, forKey: key)
        }
        outgoing.sealed = sent
        outgoing.hasKeys = true
        outgoing.sent.sends(sent, opened: moved)
        // A parent that the app has not set is the server's word. It counts for the first values of a record, whose
        // parent may be older than the zone's keys, in a private tree, where it shows them to nobody. Later it would
        // bear out that what a server has moved below a record goes where that goes.
        let isFirst =
            isSealedAnew && outgoing.treeIDs.isEmpty && !outgoing.hasHeldValues && !outgoing.isPlaceDoubtful
            && cipher.tree.kind == .isPrivate
        // Where the save leaves the parent as it is, another may be there by the time that it is done.
        if !outgoing.keepsParent, let parent = outgoing.sent.parent, outgoing.sent.parentEdit != nil || isFirst,
            !isPerZone
        {
            outgoing.stamp = record.stamp(parent: parent)
        }
    }

    /// What encrypts a record as if it had no parent, with the keys that it has below a root.
    private func ownCipher(of name: String, below root: String) throws(EncryptionRefusal) -> TreeCipher {
        guard let cipher = knownKeys(root).cipher(root: name) else { throw .keyMissing }
        return cipher
    }

    private mutating func cipher(root: String) throws(EncryptionRefusal) -> TreeCipher {
        if let cipher = ciphers[root] { return cipher }
        guard let cipher = knownKeys(root).cipher(root: root) else { throw .keyMissing }
        ciphers[root] = cipher
        return cipher
    }
}
