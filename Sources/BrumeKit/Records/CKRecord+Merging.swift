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
    /// leaves the server's. A file that was set and not uploaded yet is this device's value, which a custom policy does
    /// not see and takes. So are a share's permissions and the role and the permission of each participant;
    /// participants who were added or removed on either side are added or removed.
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
            let keys = ancestor.map { Set($0.fields.keys).union(client.fields.keys) } ?? Set(client.edits.keys)
            for (key, files) in client.local.assets {
                // A file is this device's value, and no policy sees it: it was not uploaded yet.
                let isTheirs = ancestor.map { $0.fields[key] != server.fields[key] } ?? true
                if case .serverWins = policy, isTheirs { continue }
                state.set(files, forKey: key)
            }
            for key in keys.sorted() where client.local.assets[key] == nil {
                let (theirs, ours) = (server.fields[key], client.fields[key])
                if ours == theirs { continue }
                if let ancestor {
                    let base = ancestor.fields[key]
                    if ours == base { continue }
                    if theirs == base {
                        state.set(ours, forKey: key)
                        continue
                    }
                }
                switch policy {
                case .serverWins: continue
                case .clientWins: state.set(ours, forKey: key)
                case .custom(let decide):
                    let value = decide(
                        FieldConflict(
                            key: key, ancestor: ancestor?.fields[key], client: ours, server: theirs,
                            zoneID: recordID.zoneID))
                    do throws(UnsupportedFieldValue) {
                        let chosen = try value.map { value throws(UnsupportedFieldValue) in
                            try FieldValue(value, in: recordID.zoneID)
                        }
                        if chosen != theirs { state.set(chosen, forKey: key) }
                    } catch {
                        // As where an app sets such a value itself: saving the record fails with the reason.
                        state.refuse(
                            "the value for key \(key.quotedName) is refused: \(error.reason)", forKey: key)
                    }
                }
            }
            // The share is saved beside its root, which has met the conflict.
            if client.shareEdit != nil, server.share == nil, let share = client.share { state.setShare(share) }
            let isParentOurs = ancestor.map { client.parent != $0.parent } ?? (client.parentEdit != nil)
            guard isParentOurs, client.parent != server.parent else { return }
            if let ancestor, server.parent == ancestor.parent {
                state.setParent(client.parent)
            } else if case .clientWins = policy {
                state.setParent(client.parent)
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
