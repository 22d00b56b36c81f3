internal import BrumeModel

/// What a database counts towards a quota.
extension Database {
    /// ``storedBytes``, the contents of the assets that records name, each copy once, and the overhead beyond an
    /// allowance that small apps stay below: a quota of 100 MiB must not be one of 6 GiB for who makes zones,
    /// subscriptions, deletions, and the smallest of records and assets.
    ///
    /// An asset that a commit releases counts until that is durable, and then no more, although its file stays for a
    /// while. What was uploaded and no record names is not in it: that is not kept by a restart.
    package var quotaBytes: Int {
        Database.quotaBytes(
            storedBytes, overhead: overheadBytes, assets: blobs.referencedByteCount, count: blobs.referencedCount)
    }

    /// - Parameters:
    ///   - overhead: Without that of the assets.
    ///   - count: The number of assets.
    static func quotaBytes(_ storedBytes: Int, overhead: Int, assets: UInt64, count: Int) -> Int {
        let overhead = overhead + count * Limits.assetOverheadBytes
        // A damaged record may name assets of any size, as many as it likes.
        return storedBytes + Int(min(assets, StoreLimits.quotaBytesOfSnapshot))
            + max(0, overhead - Limits.overheadAllowanceBytes)
    }

    /// About what is kept besides the bytes of records and the files of assets: their places, zones, subscriptions, and
    /// the deletions of both that the feeds report, statements, and rings.
    var overheadBytes: Int {
        let places = recordCount * Limits.recordOverheadBytes
        // The rest of a public database is that of all users together, and has limits of its own for each of them.
        if id.scope == .public { return places }
        let zones = zoneIndexOfIncarnation.count
        let deletedZones = zoneStates.count - freeZoneIndexes.count - zones
        return places + (tombstoneCount + deletedZones) * Limits.tombstoneBytes + zones * Limits.zoneBytes
            + subscriptionTable.approximateBytes + statements.byteCount + rings.byteCount
    }

    /// How much room a quota leaves; nil without a quota.
    func room(in quota: StorageQuota?) -> QuotaRoom? {
        quota.map {
            QuotaRoom(
                limit: $0.limitBytes, used: $0.bytesElsewhere + $0.uploadBytes + quotaBytes,
                limitOfUser: $0.limitBytesOfUser)
        }
    }

    /// What the records of a user take of a public database, with their assets.
    package func bytes(ofCreator user: String) -> Int { zoneStates[0].creatorBytes[CreatorBytes.User(user)] }

    /// Why no zone and no subscription may be added: the quota is used up, and the database's overhead is beyond the
    /// allowance. Whose records have used up the quota may still add some.
    func overheadRefusal(_ quota: StorageQuota?) -> ServiceError? {
        let overhead = overheadBytes + blobs.referencedCount * Limits.assetOverheadBytes - Limits.overheadAllowanceBytes
        guard overhead > 0, let room = room(in: quota), room.bytes <= 0 else { return nil }
        return ServiceError(
            .quotaExceeded,
            "the account's quota of \(room.limit) bytes is used up, \(overhead) of them by what this database"
                + " keeps besides its records and assets (zones, subscriptions, the places of records, deletions):"
                + " delete zones or records of the account, or ask the operator for more")
    }
}
