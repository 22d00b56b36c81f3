internal import BrumeModel

/// Where records are whose saves leave that to the server: what is encrypted in a record takes the key of its tree, and
/// an instance may know nothing of its parent, or know a former one.
extension CKDatabase {
    /// Asks the server for the parents of the records that are sealed, where the save neither says which they are nor
    /// fails for an instance that does not know them.
    func takeServersPlaces(
        in zone: inout OutgoingZone, _ places: [Int], _ policy: SavePolicy, _ account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) {
        let keys = account.encryptedZones.knownKeys(zone.id.ringID)
        // All records have the same key.
        if keys?.isPerZone == true { return }
        let isGuest = databaseScope == .shared && keys == nil
        for index in zone.saves.indices where zone.saves[index].leavesParent(policy, isGuest: isGuest) {
            zone.saves[index].keepsParent = true
        }
        let names = places.map { zone.saves[$0] }.filter(\.keepsParent).map(\.name)
        if names.isEmpty { return }
        var trees = account.encryptedZones.trees(zone.id.ringID).forOneOperation()
        try await fetchParents(of: names.sorted(), withTrees: true, into: &trees, zone.id, account, options)
        for place in places where zone.saves[place].keepsParent {
            zone.saves[place].sent.showParent(trees.parent(of: zone.saves[place].name) ?? nil)
        }
    }

    /// Whether nothing below a record that was taken for a root is shared with the user, as far as the server says:
    /// then no owner's device hands on keys for it.
    func isOutsideOfShares(
        _ root: String, _ zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        guard databaseScope == .shared, !account.encryptedZones.trees(zoneID.ringID).isShared(root) else {
            return false
        }
        let names = [root, CKRecordNameZoneWideShare]
        let records = try await fetchRaw(names, zoneID, desiredKeys: [], account, options)
        return records.isEmpty
    }
}

extension OutgoingRecord {
    /// Whether a save leaves the parent as the server has it, and is done whatever that is.
    ///
    /// - Parameter isGuest: Whether it is of another's zone of which this device has no keys: in the way of a new
    ///   record without a parent there may be one whose keys it has.
    fileprivate func leavesParent(_ policy: SavePolicy, isGuest: Bool) -> Bool {
        if record is CKShare || isEncryptedAnew || sent.parentEdit != nil { return false }
        switch policy {
        case .ifServerRecordUnchanged: return isGuest && sent.version == nil && sent.parent == nil
        case .changedKeys: return true
        case .allKeys: return sent.parent == nil
        }
    }
}

extension CKError {
    /// What a user's save fails with of a record that is nowhere in what is shared with them.
    static func outsideOfShares(_ name: String) -> CKError {
        CKError(
            .permissionFailure,
            message: "\(name.quotedName) can't be saved here: it is below no record that is shared with this user; "
                + "give it a parent that is")
    }
}
