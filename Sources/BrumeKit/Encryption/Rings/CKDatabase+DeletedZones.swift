extension CKDatabase {
    /// The app is about to have zones deleted. An answer may be lost, and the app not ask again.
    ///
    /// - Throws: `internalError` where that can't be kept in mind; then nothing is to be sent.
    func willDelete(_ zones: [CKRecordZone.ID], _ account: AccountBinding) async throws(CKError) {
        guard databaseScope == .private, !zones.isEmpty, account.configuration.token != nil else { return }
        guard try await account.keyFolders.folder(of: account).isMade else { return }
        for zone in zones {
            try await account.encryptedZones.willDelete(zone.zoneName, for: account)
        }
    }

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
