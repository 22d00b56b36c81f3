internal import BrumeModel

/// Brume's addition: three versions of a record become one.
extension CKRecord {
    /// Brume's addition: who wins where both sides changed one field, and differently.
    public enum MergePolicy: Sendable {
        /// The server's value.
        case serverWins
        /// This device's value.
        case clientWins
        /// Whatever the function gives: one of the two, or another value; nil removes the field.
        case custom(@Sendable (FieldConflict) -> (any CKRecordValueProtocol)?)
    }

    /// Brume's addition: a field that both sides changed, and differently.
    public struct FieldConflict: Sendable {
        /// The field's key.
        public let key: FieldKey
        /// Whether it is one of the records' encrypted values. One that can't be read here has no value; where that is
        /// the server's, nil from a policy leaves it as it is.
        public let isEncrypted: Bool
        /// The value that both sides started from; nil when there was none, or the version is not known.
        public var ancestorValue: (any CKRecordValueProtocol)? { ancestor?.recordValue(in: zoneID) }
        /// This device's value; nil when it removed the field.
        public var clientValue: (any CKRecordValueProtocol)? { client?.recordValue(in: zoneID) }
        /// The server's value; nil when it was removed there.
        public var serverValue: (any CKRecordValueProtocol)? { server?.recordValue(in: zoneID) }

        let ancestor: FieldValue?
        let client: FieldValue?
        let server: FieldValue?
        let zoneID: CKRecordZone.ID
    }

    /// Brume's addition: this record, as the server has it, with the changes that this device made to another version
    /// of it. Save the result.
    ///
    /// A field that one side changed has that side's value; one that both changed to the same value has that. Where
    /// both changed it differently, the policy decides. The parent is treated as a field is, but that a custom policy
    /// leaves the server's, except for a record that this device wanted to make: that has its parent, or none. A file
    /// that was set and not uploaded yet is this device's value, which a custom policy does not see and takes. So are a
    /// share's permissions and the role and the permission of each participant; participants who were added or removed
    /// on either side are added or removed.
    ///
    /// - Parameters:
    ///   - clientRecord: This device's version: `clientRecord` of a `serverRecordChanged`. One of another id traps.
    ///   - ancestorRecord: The version that it started from: `ancestorRecord` of the error. Without it, what the client
    ///     record has in its `changedKeys()` counts as changed by both sides where they differ.
    ///   - policy: Who wins.
    ///   - log: Where to note the merge; an engine's ``CKSyncEngine/conflictLog``, for example.
    public func merging(
        _ clientRecord: CKRecord, ancestor ancestorRecord: CKRecord?, policy: MergePolicy = .clientWins,
        log: CKSyncEngine.ConflictLog? = nil
    ) -> CKRecord {
        precondition(
            clientRecord.recordID == recordID && ancestorRecord.map { $0.recordID == recordID } ?? true,
            "CKRecord.merging: the versions are of different records; give it those of one serverRecordChanged error")
        let client = clientRecord.snapshot
        let ancestor = ancestorRecord?.snapshot
        guard let merged = copy() as? CKRecord else { preconditionFailure("a record's copy is no record") }
        merged.updateState { state in
            let server = state
            // Most of their assets are the same, and on this device.
            state.contents.merge(client.contents)
            var keys = Set(client.edits.keys)
            if let ancestor { keys.formUnion(Set(ancestor.fields.keys).union(client.fields.keys)) }
            for (key, files) in client.local.assets {
                // A file is this device's value, and no policy sees it: it was not uploaded yet.
                let versions = FieldVersions(plain: key, ancestor: ancestor, client: client, server: server)
                if case .serverWins = policy, versions.isServerChange { continue }
                state.set(files, forKey: key)
            }
            for key in keys.sorted() where client.local.assets[key] == nil {
                let versions = FieldVersions(plain: key, ancestor: ancestor, client: client, server: server)
                state.merge(versions, forKey: key, isEncrypted: false, policy, in: recordID.zoneID)
            }
            var secretKeys = Set(client.encrypted.edits.keys)
            if let ancestor {
                secretKeys.formUnion(ancestor.encrypted.values.keys)
                secretKeys.formUnion(client.encrypted.values.keys)
            }
            for key in secretKeys.sorted() {
                let versions = FieldVersions(
                    encrypted: key, ancestor: ancestor?.encrypted, client: client.encrypted, server: server.encrypted)
                state.merge(versions, forKey: key, isEncrypted: true, policy, in: recordID.zoneID)
            }
            // The share is saved beside its root, which has met the conflict.
            if client.shareEdit != nil, server.share == nil, let share = client.share { state.setShare(share) }
            // Of a record that the device wanted to make its parent is as much its word as its fields are, none
            // included: what it has belongs nowhere else.
            let isNew = ancestor == nil && client.version == nil
            let isParentOurs = ancestor.map { client.parent != $0.parent } ?? (isNew || client.parentEdit != nil)
            guard isParentOurs, client.parent != server.parent else { return }
            switch policy {
            case _ where ancestor.map { server.parent == $0.parent } == true: state.setParent(client.parent)
            case .clientWins: state.setParent(client.parent)
            case .custom where isNew: state.setParent(client.parent)
            case .serverWins, .custom: break
            }
        }
        if let share = merged as? CKShare, let clientShare = clientRecord as? CKShare {
            let isClientWinner = if case .clientWins = policy { true } else { false }
            share.takeChanges(of: clientShare, serverWins: !isClientWinner)
        }
        log?.add(.init(.merged, client: clientRecord, server: self, ancestor: ancestorRecord, merged: merged))
        return merged
    }
}

/// What three versions of a record have in one field.
private struct FieldVersions {
    let ancestor: FieldValue?
    let client: FieldValue?
    let server: FieldValue?
    /// Whether each side has changed the field. Where the ancestor is not known both have: the client has set it. The
    /// client also has where it removed a field that its version does not show: one that was not fetched, for example.
    let isClientChange: Bool
    let isServerChange: Bool
    /// Whether the server has a value that can't be read here.
    let isServerUnreadable: Bool

    /// Those of a field that is not among the encrypted values: its assets may be encrypted all the same.
    init(plain key: String, ancestor: CKRecordState?, client: CKRecordState, server: CKRecordState) {
        (self.ancestor, self.client, self.server) = (ancestor?.fields[key], client.fields[key], server.fields[key])
        isServerUnreadable = server.encrypted.unreadable[key] != nil
        guard let ancestor else {
            (isClientChange, isServerChange) = (true, true)
            return
        }
        let isAncestorUnreadable = ancestor.encrypted.unreadable[key] != nil
        isClientChange = Self.isChange(
            client.fields[key], of: ancestor.fields[key], isEdit: client.edits[key] != nil,
            isUnreadable: isAncestorUnreadable)
        isServerChange =
            isAncestorUnreadable || isServerUnreadable
            ? server.encrypted.sealed[key] != ancestor.encrypted.sealed[key]
            : !server.fields[key].hasSameBytes(as: ancestor.fields[key])
    }

    /// Those of an encrypted field. Of what can't be read the bytes tell whether it has changed.
    init(encrypted key: String, ancestor: EncryptedFields?, client: EncryptedFields, server: EncryptedFields) {
        (self.ancestor, self.client, self.server) = (ancestor?.values[key], client.values[key], server.values[key])
        isServerUnreadable = server.unreadable[key] != nil
        guard let ancestor else {
            (isClientChange, isServerChange) = (true, true)
            return
        }
        let isAncestorUnreadable = ancestor.unreadable[key] != nil
        isClientChange = Self.isChange(
            client.values[key], of: ancestor.values[key], isEdit: client.edits[key] != nil,
            isUnreadable: isAncestorUnreadable || client.unreadable[key] != nil)
        isServerChange =
            isAncestorUnreadable || isServerUnreadable
            ? server.sealed[key] != ancestor.sealed[key]
            : !server.values[key].hasSameBytes(as: ancestor.values[key])
    }

    private static func isChange(
        _ client: FieldValue?, of ancestor: FieldValue?, isEdit: Bool, isUnreadable: Bool
    ) -> Bool {
        if isUnreadable { return isEdit }
        return !client.hasSameBytes(as: ancestor) || client == nil && isEdit
    }
}

extension CKRecordState {
    /// Merges one field into the server's version, which this is.
    fileprivate mutating func merge(
        _ versions: FieldVersions, forKey key: String, isEncrypted: Bool, _ policy: CKRecord.MergePolicy,
        in zoneID: CKRecordZone.ID
    ) {
        func set(_ value: FieldValue?) { isEncrypted ? setEncrypted(value, forKey: key) : self.set(value, forKey: key) }
        func refuse(_ reason: String) {
            // As where an app sets such a value itself: saving the record fails with the reason.
            let reason = "the value for key \(key.quotedName) is refused: \(reason)"
            isEncrypted ? refuseEncrypted(reason, forKey: key) : self.refuse(reason, forKey: key)
        }
        let (ours, theirs) = (versions.client, versions.server)
        if ours.hasSameBytes(as: theirs), !versions.isServerUnreadable { return }
        if !versions.isClientChange { return }
        if !versions.isServerChange { return set(ours) }
        switch policy {
        case .serverWins: return
        case .clientWins: set(ours)
        case .custom(let decide):
            let value = decide(
                CKRecord.FieldConflict(
                    key: key, isEncrypted: isEncrypted, ancestor: versions.ancestor, client: ours, server: theirs,
                    zoneID: zoneID))
            do throws(UnsupportedFieldValue) {
                let chosen = try value.map { value throws(UnsupportedFieldValue) in
                    try FieldValue(value, in: zoneID)
                }
                if isEncrypted, let chosen, !FieldKind(chosen).fitsEncryptedField {
                    return refuse("references and assets can't be encrypted values")
                }
                if !chosen.hasSameBytes(as: theirs) { set(chosen) }
            } catch {
                refuse(error.reason)
            }
        }
    }
}

extension CKError {
    /// Brume's addition: for `serverRecordChanged`, its three versions merged; see
    /// ``CKRecord/merging(_:ancestor:policy:log:)``. Nil for other errors.
    public func mergedRecord(
        _ policy: CKRecord.MergePolicy = .clientWins, log: CKSyncEngine.ConflictLog? = nil
    ) -> CKRecord? {
        guard code == .serverRecordChanged, let serverRecord, let clientRecord else { return nil }
        return serverRecord.merging(clientRecord, ancestor: ancestorRecord, policy: policy, log: log)
    }
}
