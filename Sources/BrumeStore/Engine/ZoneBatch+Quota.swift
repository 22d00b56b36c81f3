internal import BrumeModel
internal import BrumeRecord

/// How many bytes a database and its like may hold together.
package struct StorageQuota: Sendable {
    package var limitBytes: Int
    /// What the account's other databases hold.
    package var bytesElsewhere: Int
    /// What uploads to this database take that no record names.
    package var uploadBytes: Int
    /// How much of it the records of one user may take; nil in a private database, where all of it is one account's.
    package var limitBytesOfUser: Int?

    package init(
        limitBytes: Int, bytesElsewhere: Int = 0, uploadBytes: Int = 0, limitBytesOfUser: Int? = nil
    ) {
        self.limitBytes = limitBytes
        self.bytesElsewhere = bytesElsewhere
        self.uploadBytes = uploadBytes
        self.limitBytesOfUser = limitBytesOfUser
    }
}

/// A quota, and how much of it was used before a batch.
struct QuotaRoom: Sendable {
    let limit: Int
    let used: Int
    let limitOfUser: Int?

    /// Negative when the quota is exceeded.
    var bytes: Int { limit - used }
}

/// The quota of records and their assets: encoded bytes, as ``Database/storedBytes`` counts them, and the contents of
/// assets, each copy once.
///
/// Saves take what is left in the order of the request; what the batch deletes, and what its saves store less than
/// before, makes room for those that store more. A save that finds no room fails by itself, like one with a wrong tag.
/// One that stores no more than before never does: who is over the quota can still change and delete.
///
/// An asset is stored more by the first record that names it. That one needs no room for it if its upload is pending,
/// which counts already; but it is no save that stores no more than before.
extension ZoneBatch {
    /// Fails the staged saves that find no room. Returns whether there were any.
    ///
    /// - Parameter allThatGrow: Whether, if one save finds no room, all others that grow fail with it.
    @discardableResult
    mutating func failOverQuota(in zone: ZoneState, allThatGrow: Bool = false) -> Bool {
        // Usually there is room for all of it.
        guard let quota else { return false }
        var users = userRooms(of: quota, in: zone)
        guard records.count + namedAssetBytes > quota.bytes || users != nil else { return false }
        var room = quota.bytes
        var assets = AssetRoom(blobs)
        for deletion in deletions {
            let record = zone[deletion.slot]
            let change = assets.change(from: record, to: nil)
            room += record.byteCount - change.bytes
            assets.take(change)
            users?.grow(
                CreatorBytes.User(ofRecord: record),
                by: change.namedBytes - record.byteCount - Limits.recordOverheadBytes)
        }
        var growths: [Int?] = []
        for save in staged {
            let growth = growth(of: save, in: zone, &assets)
            let isLarger = growth.bytes > 0 || users != nil && growth.userBytes > 0
            growths.append(isLarger ? growth.bytes : nil)
            if isLarger { continue }
            room -= growth.bytes
            assets.take(growth.assets)
            users?.grow(creator(of: save, in: zone), by: growth.userBytes)
        }
        var refused = Set<Int>()
        for (index, save) in staged.enumerated() where growths[index] != nil {
            // What other saves no longer name, or name by now, is another matter than before.
            let growth = growth(of: save, in: zone, &assets)
            let creator = creator(of: save, in: zone)
            growths[index] = growth.bytes
            if growth.bytes > 0, growth.bytes - growth.assets.pendingBytes > room {
                let need = "needs \(growth.bytes) more bytes"
                fail(stagedSave: index, overQuota("record", need, left: room, of: quota))
                refused.insert(index)
            } else if growth.userBytes > 0, let users, users.left(to: creator) < growth.userBytes {
                fail(stagedSave: index, ZoneBatch.overUsersPart)
                refused.insert(index)
            } else {
                room -= growth.bytes - growth.assets.pendingBytes
                assets.take(growth.assets)
                users?.grow(creator, by: growth.userBytes)
            }
        }
        if refused.isEmpty { return false }
        if allThatGrow {
            for index in staged.indices where !refused.contains(index) {
                guard let growth = growths[index], growth > 0 else { continue }
                fail(stagedSave: index, overQuota("records of the request", "need more bytes", left: room, of: quota))
                refused.insert(index)
            }
        }
        keepStaged { index, _ in !refused.contains(index) }
        return true
    }

    /// What a save stores more than is stored before it.
    private struct Growth {
        /// Bytes of the record, and of assets that nothing else names.
        var bytes: Int
        /// What counts for the record's creator.
        var userBytes: Int
        var assets: AssetRoom.Change
    }

    private func growth(of save: StagedSave, in zone: ZoneState, _ assets: inout AssetRoom) -> Growth {
        let existing = save.existing.map { zone[$0] }
        let bytes = save.range.count - (existing?.byteCount ?? 0)
        var change = AssetRoom.Change()
        if save.marks.contains(.assets) || existing?.marks.contains(.assets) == true {
            change = assets.change(
                from: existing, to: save.marks.contains(.assets) ? SharedBytes(of: records, at: save.range) : nil)
        }
        let userBytes = bytes + change.namedBytes
        return Growth(
            bytes: bytes + change.bytes,
            userBytes: userBytes > 0 && existing == nil ? userBytes + Limits.recordOverheadBytes : userBytes,
            assets: change)
    }

    /// What is left to each user; nil where nobody can come to the end of it.
    private func userRooms(of quota: QuotaRoom, in zone: ZoneState) -> CreatorRoom? {
        guard let limit = quota.limitOfUser else { return nil }
        let most =
            zone.creatorBytes.total + records.count + namedAssetBytes + staged.count * Limits.recordOverheadBytes
        return most > limit ? CreatorRoom(limit: limit, stored: zone.creatorBytes) : nil
    }

    private func creator(of save: StagedSave, in zone: ZoneState) -> CreatorBytes.User {
        save.existing.map { CreatorBytes.User(ofRecord: zone[$0]) } ?? CreatorBytes.User(caller.user)
    }

    private static let overUsersPart = ServiceError(
        .quotaExceeded,
        "what this record's creator has made leaves no room for it in one user's part of the app's public database:"
            + " delete some of those records, or ask the operator for more")

    /// Figures are for the owner alone.
    ///
    /// - Parameter left: What the saves before this one in the request, and its deletions, leave.
    private func overQuota(_ subject: String, _ need: String, left: Int, of quota: QuotaRoom) -> ServiceError {
        if member != nil {
            return ServiceError(
                .quotaExceeded,
                "the zone's owner has no room left for the \(subject): delete others from the zone, or ask the owner to"
                    + " make room")
        }
        return switch scope {
        case .shared: preconditionFailure("no database is a shared one")
        case .private:
            ServiceError(
                .quotaExceeded,
                "the \(subject) \(need), and \(max(0, left)) of the account's quota of \(quota.limit) are left:"
                    + " delete records or zones of the account, or ask the operator for more")
        case .public:
            ServiceError(
                .quotaExceeded,
                "the app's public database has no room for the \(subject): delete others from it, or ask the operator"
                    + " for more")
        }
    }
}
