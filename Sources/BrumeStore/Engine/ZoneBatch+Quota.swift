internal import BrumeModel
internal import BrumeRecord

/// How many bytes a database and its like may hold together.
package struct StorageQuota: Sendable {
    package var limitBytes: Int
    /// What the account's other databases hold.
    package var bytesElsewhere: Int
    /// How much of it the records of one user may take; nil in a private database, where all of it is one account's.
    package var limitBytesOfUser: Int?

    package init(limitBytes: Int, bytesElsewhere: Int = 0, limitBytesOfUser: Int? = nil) {
        self.limitBytes = limitBytes
        self.bytesElsewhere = bytesElsewhere
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

/// The quota of records: encoded bytes, as ``Database/storedBytes`` counts them.
///
/// Saves take what is left in the order of the request; what the batch deletes, and what its saves store less than
/// before, makes room for those that store more. A save that finds no room fails by itself, like one with a wrong tag.
/// One that stores no more than before never does: who is over the quota can still change and delete.
extension ZoneBatch {
    /// Fails the staged saves that find no room. Returns whether there were any.
    ///
    /// - Parameter allThatGrow: Whether, if one save finds no room, all others that grow fail with it.
    @discardableResult
    mutating func failOverQuota(in zone: ZoneState, allThatGrow: Bool = false) -> Bool {
        // Usually there is room for all of it.
        guard let quota else { return false }
        var users = userRooms(of: quota, in: zone)
        guard records.count > quota.bytes || users != nil else { return false }
        var room = quota.bytes
        for deletion in deletions {
            let bytes = zone.slots.byteCount(of: deletion.slot)
            room += bytes
            users?.grow(CreatorBytes.User(ofRecord: zone[deletion.slot]), by: -bytes - Limits.recordOverheadBytes)
        }
        for save in staged {
            let bytes = min(0, grownBytes(save, in: zone))
            room -= bytes
            users?.grow(creator(of: save, in: zone), by: bytes)
        }
        var refused = Set<Int>()
        for (index, save) in staged.enumerated() {
            let bytes = grownBytes(save, in: zone)
            if bytes <= 0 { continue }
            let creator = creator(of: save, in: zone)
            let creatorBytes = bytes + (save.existing == nil ? Limits.recordOverheadBytes : 0)
            if bytes > room {
                fail(stagedSave: index, overQuota("record", "needs \(bytes) more bytes", left: room, of: quota))
                refused.insert(index)
            } else if let users, users.left(to: creator) < creatorBytes {
                fail(stagedSave: index, ZoneBatch.overUsersPart)
                refused.insert(index)
            } else {
                room -= bytes
                users?.grow(creator, by: creatorBytes)
            }
        }
        if refused.isEmpty { return false }
        if allThatGrow {
            for (index, save) in staged.enumerated() where !refused.contains(index) {
                if grownBytes(save, in: zone) <= 0 { continue }
                fail(stagedSave: index, overQuota("records of the request", "need more bytes", left: room, of: quota))
                refused.insert(index)
            }
        }
        keepStaged { index, _ in !refused.contains(index) }
        return true
    }

    /// What is left to each user; nil where nobody can come to the end of it.
    private func userRooms(of quota: QuotaRoom, in zone: ZoneState) -> CreatorRoom? {
        guard let limit = quota.limitOfUser else { return nil }
        let most =
            quota.used + Limits.overheadAllowanceBytes + records.count + staged.count * Limits.recordOverheadBytes
        return most > limit ? CreatorRoom(limit: limit, stored: zone.creatorBytes) : nil
    }

    private func creator(of save: StagedSave, in zone: ZoneState) -> CreatorBytes.User {
        save.existing.map { CreatorBytes.User(ofRecord: zone[$0]) } ?? CreatorBytes.User(caller.user)
    }

    private static let overUsersPart = ServiceError(
        .quotaExceeded,
        "what this record's creator has made leaves no room for it in one user's part of the app's public database:"
            + " delete some of those records, or ask the operator for more")

    private func grownBytes(_ save: StagedSave, in zone: ZoneState) -> Int {
        save.range.count - (save.existing.map { zone.slots.byteCount(of: $0) } ?? 0)
    }

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
                "the \(subject) \(need), and \(max(0, left)) of the account's quota of \(quota.limit) are left: delete records or zones of"
                    + " the account, or ask the operator for more")
        case .public:
            ServiceError(
                .quotaExceeded,
                "the app's public database has no room for the \(subject): delete others from it, or ask the operator for"
                    + " more")
        }
    }
}
