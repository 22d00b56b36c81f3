internal import BrumeModel

/// What a database counts towards a quota.
extension Database {
    /// ``storedBytes`` and, in a private database, its overhead beyond an allowance that usual apps stay below: a quota
    /// of 100 MiB must not be one of 6 GiB for who makes zones, subscriptions and deletions in place of records.
    ///
    /// In a public database the overhead is that of all users together, and has limits of its own for each of them.
    package var quotaBytes: Int {
        id.scope == .public ? storedBytes : storedBytes + max(0, overheadBytes - Limits.overheadAllowanceBytes)
    }

    /// About what is kept besides records: deletions that devices have yet to be told of, zones, and subscriptions.
    private var overheadBytes: Int {
        let zones = zoneStates.count - freeZoneIndexes.count
        return tombstoneCount * Limits.tombstoneBytes + zones * Limits.zoneBytes + subscriptionTable.approximateBytes
    }

    /// How much room a quota leaves; nil without a quota.
    func room(in quota: StorageQuota?) -> QuotaRoom? {
        quota.map { QuotaRoom(limit: $0.limitBytes, used: $0.bytesElsewhere + quotaBytes) }
    }

    /// Why no zone and no subscription may be added: the quota is used up, and the database's overhead is beyond the
    /// allowance. Whose records have used up the quota may still add some.
    func overheadRefusal(_ quota: StorageQuota?) -> ServiceError? {
        guard quotaBytes > storedBytes, let room = room(in: quota), room.bytes <= 0 else { return nil }
        return ServiceError(
            .quotaExceeded,
            "the quota of \(room.limit) bytes is used up, to which this database's zones, subscriptions and deletions add"
                + " \(quotaBytes - storedBytes): delete some of the account, or ask the operator for more")
    }
}
