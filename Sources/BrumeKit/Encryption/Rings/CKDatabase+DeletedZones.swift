extension CKDatabase {
    /// Zones were deleted, here or on another device: what comes of their names has other keys.
    ///
    /// - Parameter isOwnDoing: Whether the app has just deleted them.
    ///
    /// What can't be noted costs nothing but the question at the next save whether the zone still has its ring.
    func zonesAreGone(_ zones: [CKRecordZone.ID], isOwnDoing: Bool = false, _ account: AccountBinding) async {
        guard databaseScope == .private else { return }
        for zone in Set(zones.map(\.zoneName)).sorted() {
            try? await account.encryptedZones.zoneWasDeleted(zone, isOwnDoing: isOwnDoing, for: account)
        }
    }
}
