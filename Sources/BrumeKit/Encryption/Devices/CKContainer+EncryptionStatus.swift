extension CKContainer {
    /// Brume's addition: whether this device can encrypt and decrypt for the account; see
    /// ``CKContainer/encryptionStatus()``.
    ///
    /// There may be more of them in later versions: a `switch` needs a `default`.
    public enum EncryptionStatus: Hashable, Sendable {
        /// This device has the account's keys.
        case available
        /// The account has no keys yet; ``CKContainer/recoveryCode()`` makes them.
        case notSetUp
        /// The account has keys, and this device does not. Another device lets it in
        /// (``CKContainer/requestEnrolment()``), and so does the recovery code (``CKContainer/useRecoveryCode(_:)``).
        case noKeys(Reason)
        /// The server shows other keys of the account than this device knows, and nothing is encrypted or decrypted
        /// with them before a person has decided.
        ///
        /// Either the account's owner began anew on another device (``CKContainer/resetEncryption()``), or devices went
        /// on after the operator restored a backup, or the server lies. A device that has the keys which the server
        /// shows lets this one in (``CKContainer/requestEnrolment()``), and so does its new recovery code: this device
        /// then gives up what it knew before.
        case conflict

        /// Why a device does not have the account's keys.
        public enum Reason: Hashable, Sendable {
            /// It was never let in.
            case notEnrolled
            /// Another device removed it.
            case removed
            /// What the newest statement of the account's keys has for this device is damaged.
            case unreadable
        }
    }
}

extension CKContainer.EncryptionStatus {
    init(_ standing: AccountKeysStateMachine.Standing) {
        self =
            switch standing {
            case .available: .available
            case .notSetUp: .notSetUp
            case .noKeys(.notEnrolled, _): .noKeys(.notEnrolled)
            case .noKeys(.removed, _): .noKeys(.removed)
            case .noKeys(.unreadable, _): .noKeys(.unreadable)
            case .conflict: .conflict
            }
    }
}
