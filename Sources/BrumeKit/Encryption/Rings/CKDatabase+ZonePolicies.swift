internal import BrumeModel

/// Zones that say how they are encrypted: as a whole (`CKRecordZone.EncryptionScope.perZone`), and whether their files
/// are.
extension CKDatabase {
    /// Why a zone can't be saved with what it says of its encryption; nil where nothing is in the way.
    ///
    /// Such a zone has its keys from the start, so that nobody makes others: a device without the account's keys makes
    /// none.
    func policyRefusal(of zone: CKRecordZone, _ account: AccountBinding) async -> CKError? {
        let what = zone.encryptionScope == .perZone ? "has the encryption scope perZone" : "sets encryptsAssets"
        if zone.wantedPolicies.isNone { return nil }
        guard databaseScope == .private, !zone.zoneID.isDefault else {
            return CKError(
                .invalidArguments,
                message: "zone \(zone.zoneID.zoneName.quotedName) \(what), and only custom zones of the private "
                    + "database say how they are encrypted")
        }
        do throws(CKError) {
            _ = try await account.keys.identity(for: account)
            return nil
        } catch {
            return error
        }
    }

    /// Gives a zone that was saved its keys, where it says how it is encrypted, and shows how it is.
    func withPolicies(
        _ saved: CKRecordZone, of zone: CKRecordZone, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> CKRecordZone {
        if !zone.wantedPolicies.isNone {
            try await account.encryptedZones.makeKeys(
                ofZone: zone.zoneID.zoneName, zone.wantedPolicies, for: account, options)
        }
        return showingPolicies(saved, account)
    }

    /// A zone of an answer with how it is encrypted, as far as this device knows its keys.
    func showingPolicies(_ zone: CKRecordZone, _ account: AccountBinding) -> CKRecordZone {
        guard databaseScope == .private else { return zone }
        let keys = account.encryptedZones.knownKeys(zone: zone.zoneID.zoneName)
        if keys?.isPerZone == true { zone.encryptionScope = .perZone }
        zone.showEncryptsAssets(keys?.encryptsAssets)
        return zone
    }
}

extension CKRecordZone {
    fileprivate var wantedPolicies: WantedPolicies {
        WantedPolicies(isPerZone: encryptionScope == .perZone, encryptsAssets: wantedEncryptsAssets)
    }
}
