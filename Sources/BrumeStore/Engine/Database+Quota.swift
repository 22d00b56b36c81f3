internal import BrumeModel

/// What a database counts towards a quota.
extension Database {
    /// ``storedBytes``, and the overhead beyond an allowance that small apps stay below: a quota of 100 MiB must not be
    /// one of 6 GiB for who makes zones, subscriptions, deletions and the smallest of records.
    package var quotaBytes: Int { storedBytes + max(0, overheadBytes - Limits.overheadAllowanceBytes) }

    /// About what is kept besides the bytes of records: their places, zones, subscriptions, and the deletions of both
    /// that the feeds report.
    private var overheadBytes: Int {
        let places = recordCount * Limits.recordOverheadBytes
        // The rest of a public database is that of all users together, and has limits of its own for each of them.
        if id.scope == .public { return places }
        let zones = zoneIndexOfIncarnation.count
        let deletedZones = zoneStates.count - freeZoneIndexes.count - zones
        return places + (tombstoneCount + deletedZones) * Limits.tombstoneBytes + zones * Limits.zoneBytes
            + subscriptionTable.approximateBytes
    }

    /// How much room a quota leaves; nil without a quota.
    func room(in quota: StorageQuota?) -> QuotaRoom? {
        quota.map {
            QuotaRoom(
                limit: $0.limitBytes, used: $0.bytesElsewhere + quotaBytes, limitOfUser: $0.limitBytesOfUser)
        }
    }

    /// Why no zone and no subscription may be added: the quota is used up, and the database's overhead is beyond the
    /// allowance. Whose records have used up the quota may still add some.
    func overheadRefusal(_ quota: StorageQuota?) -> ServiceError? {
        guard quotaBytes > storedBytes, let room = room(in: quota), room.bytes <= 0 else { return nil }
        return ServiceError(
            .quotaExceeded,
            "the account's quota of \(room.limit) bytes is used up, \(quotaBytes - storedBytes) of them by what this database"
                + " keeps besides its records' bytes (zones, subscriptions, the places of records and deletions): delete"
                + " zones or records of the account, or ask the operator for more")
    }
}
