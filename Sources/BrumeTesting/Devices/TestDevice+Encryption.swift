internal import BrumeKit

/// Encryption keys of an account's devices.
///
/// The first device of an account that saves an encrypted value, or asks for the recovery code, has the account's keys.
/// Any other is a device without keys until it is let in: its app shows what users of a new device see.
extension TestDevice {
    /// Lets another device of the same account in: from now on it can encrypt and decrypt. Makes the account's keys
    /// where there are none.
    ///
    /// ```swift
    /// let (phone, laptop) = (try server.device(for: ada), try server.device(for: ada))
    /// try await phone.letIn(laptop)
    /// ```
    ///
    /// It takes the account's recovery code from this device: `recoveryCode()` of the app's container fails with
    /// `unknownItem` afterwards, as for a user who has it. Where the app has taken the code before, that is replaced.
    ///
    /// - Throws: ``TestServerError`` for a device of another account; what the calls of `CKContainer` throw, such as
    ///   `accountTemporarilyUnavailable` where this device has no keys itself.
    public func letIn(_ other: TestDevice) async throws {
        guard let account, other.account == account else {
            throw TestServerError("\(other) can't be let in by \(self): they are devices of different accounts")
        }
        if let code = list.recoveryCode(of: account) {
            do throws(CKError) {
                return try await other.container.useRecoveryCode(code.text)
            } catch {
                // The app has replaced it meanwhile, or has begun anew.
                guard error.code == .invalidArguments || error.code == .accountTemporarilyUnavailable else {
                    throw error
                }
            }
        }
        let code = try await newestCode()
        list.setRecoveryCode(code, of: account)
        try await other.container.useRecoveryCode(code.text)
    }

    /// Has the account's keys, to seed its databases with encrypted values.
    func takeKeysForSeeding(of account: TestAccount) async throws {
        switch try await container.encryptionStatus() {
        case .available: return
        case .notSetUp: list.setRecoveryCode(try await container.recoveryCode(), of: account)
        default:
            guard let code = list.recoveryCode(of: account) else {
                throw TestServerError(
                    "encrypted values of \(account.name) can't be seeded: a device made the account's keys, and the "
                        + "server has none of them; let another device in with letIn(_:) first")
            }
            try await container.useRecoveryCode(code.text)
        }
    }

    private func newestCode() async throws(CKError) -> CKContainer.RecoveryCode {
        do throws(CKError) {
            return try await container.recoveryCode()
        } catch {
            guard error.code == .unknownItem else { throw error }
            return try await container.replaceRecoveryCode()
        }
    }
}
