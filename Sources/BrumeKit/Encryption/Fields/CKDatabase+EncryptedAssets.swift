internal import BrumeModel

/// In which zones files are encrypted.
extension CKDatabase {
    /// Whether the server gets files of a zone's records only as this device has encrypted them.
    ///
    /// The zone's ring says so, or, in a zone that has none, ``BrumeConfiguration/encryptsAssets``: then it gets one.
    /// What this device has kept of a ring counts, whatever the server says of the zone since: that it was deleted, for
    /// one.
    ///
    /// - Throws: What ``EncryptedZones/keysForWriting(zone:isStale:for:_:)`` throws.
    func encryptsAssets(
        in zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        guard try await mayEncryptAssets(in: zoneID, account, options) else { return false }
        let (zones, name) = (account.encryptedZones, zoneID.zoneName)
        let isWanted = account.configuration.encryptsAssets
        if !isWanted {
            let kept = try await zones.keptAssetPolicy(name, for: account)
            do throws(CKError) {
                let keys = try await zones.keysForReading(zone: name, upTo: 1, for: account, options)
                if kept != true, keys?.encryptsAssets != true { return false }
            } catch {
                // A device that was removed, and knows nothing of the zone's files, saves them as one without keys
                // does.
                guard error.concernsKeys || error.code == .incompatibleVersion, kept != true else { throw error }
                return false
            }
        }
        let keys = try await zones.keysForWriting(zone: name, for: account, options)
        return keys.encryptsAssets || isWanted && !keys.isPlainGenuine
    }

    /// Whether the zone's ring has to be looked at before that is known: on devices that have the account's keys.
    ///
    /// - Throws: What keeps from asking whose keys these are: no connection, for one.
    func mayEncryptAssets(
        in zoneID: CKRecordZone.ID, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> Bool {
        if databaseScope != .private || account.configuration.token == nil { return false }
        if account.configuration.encryptsAssets { return true }
        if let keys = account.encryptedZones.knownKeys(zone: zoneID.zoneName) { return keys.encryptsAssets }
        return try await account.keyFolders.folder(of: account, options).isMade
    }
}
