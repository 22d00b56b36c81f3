internal import BrumeEncryption

extension CKContainer {
    /// Brume's addition: whether this device can encrypt and decrypt for the account.
    ///
    /// Asks the server for what is new of the account's keys, and makes none. The keys are this device's: they stay in
    /// the state folder when the account is signed out or switched, apart for each server, account, container and
    /// environment, and are there when it comes back. In memory they go with the account.
    ///
    /// - Throws: `notAuthenticated` without an account; `internalError` where the keys on the disk are damaged, with
    ///   what to do; what calls to the server throw.
    public func encryptionStatus() async throws(CKError) -> EncryptionStatus {
        let account = core.account
        return EncryptionStatus(try await account.keys.run(.look, for: account).standing)
    }

    /// Brume's addition: the devices that the account gives its encryption keys, in the order in which they were
    /// listed.
    ///
    /// None where the account has no keys. A device that does not have the keys sees how many there are, without names.
    ///
    /// - Throws: `accountTemporarilyUnavailable` where the server shows other keys than this device knows; else as
    ///   ``encryptionStatus()``.
    public func encryptionDevices() async throws(CKError) -> [EncryptionDevice] {
        let account = core.account
        let report = try await account.keys.run(.look, for: account)
        if case .conflict = report.standing { throw AccountKeysFailure.conflict.error }
        return EncryptionDevice.devices(report.standing, listedAs: report.listedAs)
    }

    /// Brume's addition: takes a device out of those that have the account's keys, which are replaced by new ones: it
    /// can't read what is encrypted from now on.
    ///
    /// What it could read it may have kept. Have the operator revoke its token; and where it may know the recovery
    /// code, replace that, too (``replaceRecoveryCode()``): with both it would let itself in again. The device that
    /// made the code knows it until it has handed it out. Does nothing where another device has removed it meanwhile.
    ///
    /// - Throws: `invalidArguments` for the device that asks; `unknownItem` for one that the account never had;
    ///   `accountTemporarilyUnavailable` where this device does not have the account's keys; else as
    ///   ``encryptionStatus()``.
    public func removeEncryptionDevice(_ device: EncryptionDevice) async throws(CKError) {
        let account = core.account
        _ = try await account.keys.run(.removeDevice(device.keys), for: account)
    }
}
