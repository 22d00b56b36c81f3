internal import BrumeEncryption
internal import BrumeModel

/// A record's encrypted fields: what an app sees of them, and what the server has.
///
/// Assets that are encrypted are here with what the server has alone. The app sees them among the record's other
/// fields.
///
/// One of them that no key opened is none for the app, and no save that neither sets nor removes it touches it.
struct EncryptedFields: Sendable {
    /// Those that the app set, and those that a key opened.
    private(set) var values: [String: FieldValue] = [:]
    /// What the server has, of the version that was fetched or saved last.
    private(set) var sealed: [String: EncryptedValue] = [:]
    /// Why some of these are not open here, and assets that are not encrypted where they should be.
    private(set) var unreadable: [String: CKRecord.UnreadableReason] = [:]
    /// Each key that was set or removed since the last fetch or save, with the number of its latest edit.
    private(set) var edits: [String: UInt64] = [:]
    /// The ids of the trees in which what the server has was encrypted, of a record whose fields are not here.
    var formerTreeIDs: Set<[UInt8]> = []

    init() {}

    /// The ids of the trees in which what the server has was encrypted, as far as is known.
    var treeIDs: Set<[UInt8]> {
        formerTreeIDs.union(sealed.values.compactMap(\.header?.treeID))
    }

    /// The same of what a key has opened.
    var openedTreeIDs: Set<[UInt8]> {
        Set(sealed.filter { unreadable[$0.key] == nil }.values.compactMap(\.header?.treeID))
    }

    /// Those of an answer.
    init(sealed: [String: EncryptedValue], opened: OpenedFields) {
        self.sealed = sealed
        if opened.values.count == sealed.count, opened.unreadable.isEmpty, opened.secrets.isEmpty {
            // All that was encrypted is open.
            values = opened.values
            return
        }
        for key in sealed.keys {
            if let value = opened.values[key] {
                values[key] = value
            } else if opened.secrets[key] == nil {
                unreadable[key] = opened.unreadable[key] ?? .noKeys
            }
        }
        for (key, reason) in opened.unreadable where sealed[key] == nil { unreadable[key] = reason }
    }

    /// Those of an archive.
    ///
    /// - Parameter assetKeys: The fields with assets that are open.
    init(
        values: [String: FieldValue], sealed: [String: EncryptedValue],
        unreadable: [String: CKRecord.UnreadableReason], edits: [String: UInt64], assetKeys: Set<String> = []
    ) {
        (self.values, self.sealed, self.unreadable, self.edits) = (values, sealed, unreadable, edits)
        for key in sealed.keys
        where values[key] == nil && edits[key] == nil && unreadable[key] == nil && !assetKeys.contains(key) {
            self.unreadable[key] = .noKeys
        }
    }

    /// The same as a version that edits start from.
    var unedited: EncryptedFields {
        var fields = self
        fields.edits = [:]
        return fields
    }

    /// The app set or removed one.
    mutating func set(_ value: FieldValue?, forKey key: String, edit: UInt64) {
        values[key] = value
        unreadable[key] = nil
        edits[key] = edit
    }

    /// The app set one to what no record can have: it is empty here.
    mutating func refuse(_ key: String) { values[key] = nil }

    /// The app set or removed the plain field of this key: a field is one or the other.
    mutating func leave(toPlainField key: String) {
        values[key] = nil
        sealed[key] = nil
        unreadable[key] = nil
        edits[key] = nil
    }

    /// Whether the server has an encrypted value of the field, which is no asset.
    func holdsSealedValue(_ key: String) -> Bool { sealed[key].map { !$0.kind.namesAssets } ?? false }

    /// Whether a field has assets that this device can't open, and others can.
    func holdsClosedAssets(_ key: String) -> Bool {
        guard sealed[key]?.kind.namesAssets == true, let reason = unreadable[key] else { return false }
        return reason != .damaged
    }

    /// The keys that a save sends.
    func sentKeys(_ policy: SavePolicy) -> Set<String> {
        var keys = Set(edits.keys)
        if policy == .allKeys { keys.formUnion(values.keys) }
        return keys
    }

    /// What the save sends of the keys that it names: nil removes one.
    ///
    /// - Parameter opened: Values among them that the record did not hold.
    mutating func sends(_ values: [String: EncryptedValue?], opened: [String: FieldValue]) {
        sealed.reserveCapacity(values.count)
        for (key, value) in values { sealed[key] = value?.withoutReceipts }
        for (key, value) in opened where edits[key] == nil {
            self.values[key] = value
            unreadable[key] = nil
        }
    }

    /// Edits start from those of another version.
    mutating func start(from newer: EncryptedFields) {
        (sealed, formerTreeIDs) = (newer.sealed, newer.formerTreeIDs)
        for (key, value) in newer.values where edits[key] == nil { values[key] = value }
        unreadable = newer.unreadable.filter { edits[$0.key] == nil }
    }

    /// Takes over the server's answer to a save of `sent`, an earlier copy.
    ///
    /// - Parameters:
    ///   - saved: What the answer holds; nil where the server has what was sent.
    ///   - plainEdits: The plain fields that were set or removed since.
    mutating func saved(
        as saved: EncryptedFields?, sent: EncryptedFields, editCount: UInt64, plainEdits: some Sequence<String>
    ) {
        let later = edits.filter { $0.value > editCount }
        let ours = values
        self = saved ?? sent
        edits = [:]
        for (key, edit) in later { set(ours[key], forKey: key, edit: edit) }
        for key in plainEdits { leave(toPlainField: key) }
    }
}

/// What keys made of a record's encrypted values.
struct OpenedFields: Sendable {
    var values: [String: FieldValue] = [:]
    /// What opens the assets of fields, in their order.
    var secrets: [String: [AssetSecret]] = [:]
    var unreadable: [String: CKRecord.UnreadableReason] = [:]

    /// Whether there was nothing to open.
    var isEmpty: Bool { values.isEmpty && secrets.isEmpty && unreadable.isEmpty }

    /// What did not open may have a key that can't be had here.
    mutating func keysMayBeMissing(for reason: CKRecord.UnreadableReason) {
        for (key, former) in unreadable where former == .damaged {
            unreadable[key] = reason == .newerVersion ? .newerVersion : .keyMissing
        }
    }
}
