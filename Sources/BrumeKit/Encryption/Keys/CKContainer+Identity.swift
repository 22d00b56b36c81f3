package import BrumeEncryption

/// What the testing kit takes of a device whose keys help a server to lie.
extension CKContainer {
    /// The account's identity, as this device has it; nil where the account has none.
    package func encryptionIdentity() async throws(CKError) -> Identity? {
        try await core.account.keys.identityIfAny(for: core.account)
    }
}
