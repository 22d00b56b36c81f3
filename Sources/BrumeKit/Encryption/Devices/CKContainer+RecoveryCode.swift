internal import BrumeEncryption

extension CKContainer {
    /// Brume's addition: what a user writes down to get at encrypted data when all devices are lost.
    ///
    /// A secret: whoever has it and the account's token reads everything. Descriptions and `dump` don't show it.
    public struct RecoveryCode: Sendable {
        /// The code as a person writes it down: 28 letters and digits in seven groups.
        public let text: String

        init(_ code: BrumeEncryption.RecoveryCode) { text = code.text }
    }

    /// The account's recovery code, to be shown to the user, who keeps it somewhere safe.
    ///
    /// It is handed out once: by this device, where it made the account's keys or replaced the code, and nobody has
    /// asked before. An account that has no keys gets them, with this device and a code.
    ///
    /// - Throws: `unknownItem` where the code was handed out before or made on another device: make a new one with
    ///   ``replaceRecoveryCode()``. `accountTemporarilyUnavailable` where this device does not have the account's keys
    ///   (``encryptionStatus()`` says why), `notAuthenticated` without an account, `internalError` where the device
    ///   can't keep the keys.
    public func recoveryCode() async throws(CKError) -> RecoveryCode { try await code(.takeCode) }

    /// Makes a new recovery code in the place of the one before, which opens nothing that is encrypted from now on.
    ///
    /// For a user who lost the code, or showed it to somebody. The account's keys are replaced with it.
    ///
    /// - Throws: `unknownItem` where the account has no keys yet, else as ``recoveryCode()``. Where the answer was lost
    ///   on the way, call it again, or ``recoveryCode()``.
    public func replaceRecoveryCode() async throws(CKError) -> RecoveryCode { try await code(.replaceCode) }

    /// Lets this device in with the recovery code: it gets the account's keys, and is listed among its devices.
    ///
    /// A person compares ``encryptionDevices()`` afterwards, and removes those that are lost. Does nothing where this
    /// device has the keys already and the code is right.
    ///
    /// - Parameter text: The code as a person typed it: small letters, spaces and hyphens don't matter, and the letters
    ///   I, L and O count as the digits that they look like.
    /// - Throws: `invalidArguments` for what is no code, and for one that is not the account's or was replaced;
    ///   `unknownItem` where the server has no keys of the account; `limitExceeded` where it has 64 devices;
    ///   `accountTemporarilyUnavailable` where the server shows other keys than this device knows and the code does not
    ///   explain them; `notAuthenticated` without an account.
    public func useRecoveryCode(_ text: String) async throws(CKError) {
        let code: BrumeEncryption.RecoveryCode
        do throws(EncryptionRefusal) {
            code = try BrumeEncryption.RecoveryCode(text)
        } catch {
            throw AccountKeysFailure.malformedCode.error
        }
        let account = core.account
        _ = try await account.keys.run(.useCode(code), for: account)
    }

    /// Gives the account new keys in the place of all that it has, for a user who has lost all devices and the recovery
    /// code. This device has the new ones.
    ///
    /// **What was encrypted before can't be read any more**, by this device or by any that is let in later. Ask the
    /// user. The account's other devices see a ``EncryptionStatus/conflict`` until they are let in again.
    /// The server deletes the zones of the account whose keys are lost with them, and every device's fetch of changes
    /// says of each that it went by ``CKDatabase/DatabaseChange/Deletion/Reason/encryptedDataReset``: what in them was
    /// not encrypted is gone, too, assets and shares as well. Records of the default zone stay.
    ///
    /// A call that failed may have had its effect, which the next call of any of these functions finds out; none but
    /// this one tries again.
    ///
    /// - Returns: The new recovery code.
    /// - Throws: `serverRecordChanged` where another device changed the account's keys at the same time: ask the user
    ///   again. `limitExceeded` where more than 400 zones have keys, which are to be deleted first, or after 1,024
    ///   resets. Else as ``recoveryCode()``.
    public func resetEncryption() async throws(CKError) -> RecoveryCode { try await code(.beginAnew) }

    private func code(_ goal: AccountKeysStateMachine.Goal) async throws(CKError) -> RecoveryCode {
        let account = core.account
        guard let code = try await account.keys.run(goal, for: account).code else {
            preconditionFailure("an operation for a code ended without one")
        }
        return RecoveryCode(code)
    }
}

extension CKContainer.RecoveryCode: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the code: descriptions end up in logs.
    public var description: String { "RecoveryCode(hidden)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// Without the code, for `dump`.
    public var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
