internal import BrumeModel

/// Zones that are encrypted as a whole (`CKRecordZone.EncryptionScope.perZone`).
extension CKDatabase {
    /// Why a zone can't be saved with its encryption scope; nil where nothing is in the way.
    ///
    /// A zone of the scope `perZone` has its keys from the start, so that nobody makes others: a device without the
    /// account's keys makes none.
    func scopeRefusal(of zone: CKRecordZone, _ account: AccountBinding) async -> CKError? {
        if zone.encryptionScope == .perRecord { return nil }
        guard databaseScope == .private, !zone.zoneID.isDefault else {
            return CKError(
                .invalidArguments,
                message:
                    "zone \(zone.zoneID.zoneName) has the encryption scope perZone, which custom zones of the private "
                    + "database alone can have")
        }
        do throws(CKError) {
            _ = try await account.keys.identity(for: account)
            return nil
        } catch {
            return error
        }
    }

    /// Gives a zone that was saved its keys, where its scope is `perZone`, and shows which it has.
    func withScope(
        _ saved: CKRecordZone, of zone: CKRecordZone, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> CKRecordZone {
        if zone.encryptionScope == .perZone {
            try await account.encryptedZones.makePerZone(zone.zoneID.zoneName, for: account, options)
        }
        return showingScope(saved, account)
    }

    /// A zone of an answer with its encryption scope, as far as this device knows its keys.
    func showingScope(_ zone: CKRecordZone, _ account: AccountBinding) -> CKRecordZone {
        guard databaseScope == .private else { return zone }
        let isPerZone = account.encryptedZones.knownKeys(zone: zone.zoneID.zoneName)?.isPerZone == true
        if isPerZone { zone.encryptionScope = .perZone }
        return zone
    }
}
