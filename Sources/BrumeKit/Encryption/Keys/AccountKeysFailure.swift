internal import BrumeEncryption

/// Why an operation on an account's keys did not do what it was for.
enum AccountKeysFailure: Error, Equatable, Sendable {
    case notSetUp
    /// A code was typed, and the server has no keys to which it could belong.
    case nothingToRecover
    case noKeys(KeyAbsence)
    case conflict
    case wrongCode
    /// The text that was typed is no code.
    case malformedCode
    /// What another device said that let this one in does not fit what the server shows.
    case enrolmentBroken
    /// This device got the keys otherwise while another one listed it with other keys.
    case enrolledTwice
    /// The recovery code was handed out before, or another device made it.
    case codeNotHere
    case ownDevice
    case unknownDevice
    case tooManyDevices
    /// The server takes no more statements; its sentence.
    case full(String)
    /// Another identity took the place before this one did.
    case replacedMeanwhile
    /// Others kept changing the statements.
    case busy
    case newer
    /// The server's answer is none; a sentence's part that says why.
    case malformed(String)
    /// The server calls a statement wrong that is right; its sentence.
    case refused(String)
}

extension AccountKeysFailure {
    /// The error that the app gets.
    var error: CKError {
        switch self {
        case .notSetUp:
            CKError(
                .unknownItem,
                message: "the account has no encryption keys yet; CKContainer.recoveryCode() makes them")
        case .nothingToRecover:
            CKError(
                .unknownItem,
                message:
                    "the server has no encryption keys of the account to which a recovery code could belong; if there "
                    + "were some, let a device that has them connect first, which gives them back")
        case .noKeys(let absence): CKError.notEncrypted(.deviceHasNoKeys, absence.sentence)
        case .conflict:
            CKError.notEncrypted(
                .accountKeysDiffer,
                "the server shows other encryption keys of the account than this device knows, and a person has to "
                    + "decide: somebody began anew on another device, or devices went on after a backup was restored, "
                    + "or the server lies; let this device in on one that has those keys and that you trust "
                    + "(CKContainer.requestEnrolment()), or with its new recovery code (CKContainer.useRecoveryCode(_:)), "
                    + "once no device is listed there that was removed or that you don't know")
        case .wrongCode:
            CKError(
                .invalidArguments,
                message: "the recovery code is not the account's, or was replaced; use the newest one")
        case .malformedCode:
            CKError(
                .invalidArguments,
                message:
                    "this is no recovery code, which has 28 letters and digits in seven groups; look for a mistyped "
                    + "character")
        case .enrolmentBroken:
            CKError.notEncrypted(
                .accountKeysDiffer,
                "what the other device said and what the server shows of the account's encryption keys do not fit, and "
                    + "this device takes none; begin anew, and where it happens again ask the server's operator what "
                    + "happened")
        case .enrolledTwice:
            CKError(
                .invalidArguments,
                message:
                    "this device has the account's encryption keys already, and the other one has listed it once more; "
                    + "remove what it has listed there")
        case .codeNotHere:
            CKError(
                .unknownItem,
                message:
                    "the recovery code was handed out before, or made on another device; make a new one with "
                    + "CKContainer.replaceRecoveryCode()")
        case .ownDevice:
            CKError(
                .invalidArguments, message: "a device can't remove itself; remove it on another device of the account")
        case .unknownDevice:
            CKError(
                .unknownItem,
                message: "the account has no such device; fetch them anew with CKContainer.encryptionDevices()")
        case .tooManyDevices:
            CKError(
                .limitExceeded,
                message:
                    "the account has \(KeyLimits.devicesMax) devices, which is the limit; remove one that is not used "
                    + "any more")
        case .full(let sentence): CKError(.limitExceeded, message: sentence)
        case .replacedMeanwhile:
            CKError(
                .serverRecordChanged,
                message:
                    "another device changed the account's encryption keys at the same time; ask the person again before "
                    + "they are replaced")
        case .busy:
            CKError(
                .serviceUnavailable,
                message: "other devices keep changing the account's encryption keys; try again",
                retryAfterSeconds: 1)
        case .newer:
            CKError(
                .incompatibleVersion,
                message: "the account's encryption keys were written by a newer version of Brume; update this app")
        case .malformed(let reason): .malformedResponse(reason)
        case .refused(let sentence): CKError(.serverRejectedRequest, message: sentence)
        }
    }
}

extension AccountKeysFailure {
    /// The error of a value that can't be encrypted or decrypted for it. What the server may answer otherwise the next
    /// time is no reason to give a change up.
    var errorOfValues: CKError {
        guard case .malformed(let reason) = self else { return error }
        return CKError.notEncrypted(
            .accountKeysDiffer,
            "the server's answer about the account's encryption keys can't be used, and nothing is encrypted with it: "
                + "\(reason); ask its operator what happened")
    }
}

extension KeyAbsence {
    fileprivate var sentence: String {
        switch self {
        case .notEnrolled:
            "this device does not have the account's encryption keys; let it in on another device "
                + "(CKContainer.requestEnrolment()), or with the recovery code (CKContainer.useRecoveryCode(_:))"
        case .removed:
            "this device was removed from those that have the account's encryption keys; let it in again on another "
                + "device (CKContainer.requestEnrolment()), or with the recovery code (CKContainer.useRecoveryCode(_:))"
        case .unreadable:
            "what the account's newest statement has for this device is damaged; let it in anew on another device "
                + "(CKContainer.requestEnrolment()), or with the recovery code (CKContainer.useRecoveryCode(_:))"
        }
    }
}
