/// Zones that others share.
extension EncryptedZones {
    /// What this device keeps of a zone that somebody else shares, also from before the app was started. It looks at
    /// the disk every ten seconds at most.
    ///
    /// - Throws: `internalError` where what is kept can't be read; what keeps from asking whose keys these are.
    func othersZone(_ zone: ZoneRingID, for account: AccountBinding) async throws(CKError) -> OthersZone {
        if account.configuration.token == nil { return OthersZone() }
        let now = account.configuration.clock.nowMilliseconds
        if let kept = rememberedOthersZone(zone, at: now) { return kept }
        return rememberOthersZone(try await driver.othersZone(zone, for: account), zone, at: now)
    }
}
