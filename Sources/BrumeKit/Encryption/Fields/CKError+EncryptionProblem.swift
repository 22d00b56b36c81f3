internal import Foundation

extension CKError {
    /// Brume's addition: what keeps something from being encrypted on this device, for an app to act on; see
    /// ``CKError/encryptionProblem``. The error's message says the same to the app's developer.
    ///
    /// There may be more of them in later versions: a `switch` needs a `default`.
    public enum EncryptionProblem: Int, Hashable, Sendable {
        /// This device does not have the account's keys: let it in (``CKContainer/requestEnrolment()``,
        /// ``CKContainer/useRecoveryCode(_:)``). ``CKContainer/encryptionStatus()`` tells why it has none.
        case deviceHasNoKeys = 1
        /// The server shows other keys of the account than this device knows, and a person has to decide: see
        /// ``CKContainer/EncryptionStatus/conflict``.
        case accountKeysDiffer = 2
        /// The save is of something that somebody shares, and this account has no keys of it, or may not make the next
        /// ones: a device of the owner's hands them on the next time that it fetches, or saves in, what is shared.
        /// Where the share was accepted without the whole link, open that.
        case waitsForOwner = 3
        /// The server shows other keys of a zone, or of what is shared, than this device knows, or none that can be
        /// used. Ask its operator what happened; where a backup was restored,
        /// ``CKDatabase/acceptEncryptionKeys(of:)`` or ``CKDatabase/acceptEncryptionKeys(ofShared:)`` goes on with what
        /// the server shows.
        case keysDiffer = 4
        /// The server shows other keys of a user than this device knows: compare safety numbers
        /// (``CKDatabase/encryptionPeople(ofShared:)``), then call ``CKContainer/trust(_:)``.
        case personChanged = 5
        /// Only the server says that a record is in what is shared: see ``CKError/unprovenRecordID``.
        case placeIsUnproven = 6
        /// The record has to be encrypted anew, and this device can't read all of it, or does not see that it is
        /// shared: let a device do it that can.
        case cannotBeEncryptedAnew = 7
        /// A file was sent plain to a zone whose files are encrypted, by a device that did not have the keys when the
        /// save began: let it in, or save the file on a device that has them.
        case fileIsPlain = 8
        /// The keys were replaced while this device encrypted with the former ones: try again.
        case keysWereReplaced = 9
    }

    private static let problemKey = "BrumeEncryptionProblem"

    /// Brume's addition: what keeps a record's values or files from being encrypted on this device; nil where the
    /// account itself can't be used, and for any error of another code than `accountTemporarilyUnavailable`.
    ///
    /// It is in the error of the one record (``CKDatabase/modifyRecords(saving:deleting:savePolicy:atomically:)``'s
    /// results, an engine's failed saves, `partialErrorsByItemID`), not in a `partialFailure` or in the
    /// `batchRequestFailed` of the others. A ``CKSyncEngine`` keeps the change pending, and sends it once it can be
    /// encrypted.
    public var encryptionProblem: EncryptionProblem? {
        (userInfo[Self.problemKey] as? Int).flatMap(EncryptionProblem.init(rawValue:))
    }

    /// The error of what can't be encrypted here. All else works.
    static func notEncrypted(_ problem: EncryptionProblem, _ message: String) -> CKError {
        CKError(.accountTemporarilyUnavailable, message: message).with(problem)
    }

    /// This error with what keeps something from being encrypted.
    func with(_ problem: EncryptionProblem) -> CKError {
        CKError(code, userInfo: userInfo.merging([Self.problemKey: problem.rawValue]) { $1 })
    }

    /// Whether it concerns the keys of what is encrypted, and not the account or the way to the server.
    var concernsKeys: Bool { userInfo[Self.problemKey] != nil }
}
