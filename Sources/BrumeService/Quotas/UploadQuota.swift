internal import BrumeModel
internal import BrumeStore

/// How much a user may upload to a database: its room is taken when an upload begins, so that no large file is sent in
/// vain, and until a record names it.
///
/// The owner of a private database may fill what is left of the quota. Others, and the users of a public database, have
/// a tenth of the quota for uploads that no record names, so that nobody takes all of it without saving anything; of a
/// public database a user's records and uploads take half of it together. Without a quota there is a fixed limit.
///
/// Figures are for the owner alone, and others get one sentence whatever the reason is. What can't be hidden from who
/// may write to a database is whether there is room for what they want to store.
struct UploadQuota {
    private let quota: StorageQuota?
    private let scope: DatabaseScope
    private let caller: Caller
    private let assetLimit: UInt64

    /// - Parameter assetLimit: Bytes that an asset may have.
    init(_ quota: StorageQuota?, of scope: DatabaseScope, _ caller: Caller, _ assetLimit: UInt64) {
        (self.quota, self.scope, self.caller, self.assetLimit) = (quota, scope, caller, assetLimit)
    }

    /// What the user's uploads may take that no record names.
    func limit(of database: Database) -> UInt64 {
        let part = ServiceLimits.pendingUploadPart
        guard let quota else {
            let all = ServiceLimits.pendingUploadBytes
            return caller.isOwner ? all : max(all / part, assetLimit)
        }
        let all = UInt64(clamping: quota.limitBytes)
        if caller.isOwner { return all }
        guard let limitOfUser = quota.limitBytesOfUser else { return all / part }
        return min(all / part, UInt64(clamping: limitOfUser - database.bytes(ofCreator: caller.user)))
    }

    /// Why an upload may not be; nil when there is room for it.
    ///
    /// - Parameters:
    ///   - usedBytes: What the database holds, the upload included.
    ///   - quota: As it is when the upload is counted.
    func refusal(of byteCount: UInt64, usedBytes: Int, of quota: StorageQuota) -> ServiceError? {
        let left = quota.limitBytes - quota.bytesElsewhere - usedBytes
        if left >= 0 { return nil }
        guard scope == .private, caller.isOwner else { return uploadsAreFull }
        let before = max(0, left + Int(clamping: byteCount))
        return ServiceError(
            .quotaExceeded,
            "the asset has \(byteCount) bytes, and \(before) of the account's quota of \(quota.limitBytes) are left:"
                + " delete records or zones of the account, or ask the operator for more")
    }

    /// Why nothing may be uploaded while so many bytes lie on the disk that records named until lately; nil when all is
    /// well.
    ///
    /// What is removed makes room in the quota at once and on the disk a day later. Whoever uploads, saves and deletes
    /// again and again would fill the disk of all: so a database has at most twice its quota there. Others than its
    /// owner stop at half of that, and can't keep the owner from uploading by it.
    func refusal(unneededByteCount: UInt64) -> ServiceError? {
        guard let quota else { return nil }
        let limit = UInt64(clamping: quota.limitBytes)
        guard caller.isOwner else { return unneededByteCount > limit / 2 ? uploadsAreFull : nil }
        if unneededByteCount <= limit { return nil }
        return ServiceError(
            .quotaExceeded,
            "assets that were removed from records take as much of the disk as the quota allows, until they are a day"
                + " old: try again then")
    }

    /// Why others than the owner may not upload so many bytes more: together they have at most half of the quota for
    /// what no record names, so that any number of them leaves room for saves.
    func refusal(ofOthers byteCount: UInt64, and added: UInt64) -> ServiceError? {
        guard let quota, !caller.isOwner else { return nil }
        let (sum, overflow) = byteCount.addingReportingOverflow(added)
        return overflow || sum > UInt64(clamping: quota.limitBytes) / 2 ? uploadsAreFull : nil
    }

    /// Why nothing more may be uploaded, for whom figures are not.
    var uploadsAreFull: ServiceError {
        if caller.isOwner {
            return ServiceError(
                .quotaExceeded,
                "uploads that no record names hold as many bytes as they may: save the records that they are for, or"
                    + " wait a day")
        }
        if scope == .public {
            return ServiceError(
                .quotaExceeded,
                "the app's public database, or this user's part of it, has no room for the asset: save the records"
                    + " that earlier uploads were for, delete others, or ask the operator for more")
        }
        return ServiceError(
            .quotaExceeded,
            "the zone's owner has no room left for the asset: save the records that earlier uploads were for, delete"
                + " others from the zone, or ask the owner to make room")
    }
}
