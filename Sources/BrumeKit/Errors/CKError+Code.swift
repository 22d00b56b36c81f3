/// The codes of ``CKError``; raw values are CloudKit's.
extension CKError {
    /// What went wrong.
    public enum Code: Int, Sendable {
        /// Something failed inside that the app can't mend.
        case internalError = 1
        /// Some items failed; see ``CKError/partialErrorsByItemID``.
        case partialFailure = 2
        /// There is no network. Try again when there is.
        case networkUnavailable = 3
        /// There is a network, but the service can't be reached. Try again with growing pauses.
        case networkFailure = 4
        /// The container is unknown or not the account's.
        case badContainer = 5
        /// The service is away. Try again after ``CKError/retryAfterSeconds``.
        case serviceUnavailable = 6
        /// Too many requests. Try again after ``CKError/retryAfterSeconds``.
        case requestRateLimited = 7
        /// The app lacks an entitlement.
        case missingEntitlement = 8
        /// There is no account, or its token is not valid.
        case notAuthenticated = 9
        /// The account may not do this. Trying again does not help.
        case permissionFailure = 10
        /// The record or subscription does not exist.
        case unknownItem = 11
        /// The request breaks a rule.
        case invalidArguments = 12
        /// Never returned.
        case resultsTruncated = 13
        /// The record on the server is a newer one: ``CKError/serverRecord``. Merge and save again.
        case serverRecordChanged = 14
        /// The server refused the request. Trying again does not help.
        case serverRejectedRequest = 15
        /// An asset's file is missing.
        case assetFileNotFound = 16
        /// An asset's file changed during the save.
        case assetFileModified = 17
        /// The app is too old for the server.
        case incompatibleVersion = 18
        /// A value that has to be unique is not.
        case constraintViolation = 19
        /// The operation was cancelled.
        case operationCancelled = 20
        /// The change token is not valid any more: drop what was fetched and fetch from nil.
        case changeTokenExpired = 21
        /// Another item of the atomic batch failed, so this one was not saved.
        case batchRequestFailed = 22
        /// The zone is busy. Try again after ``CKError/retryAfterSeconds``.
        case zoneBusy = 23
        /// The database can't do this; zones, for example, are made in a private one.
        case badDatabase = 24
        /// The database is full.
        case quotaExceeded = 25
        /// The zone does not exist.
        case zoneNotFound = 26
        /// The request is too large: over 400 items or 2 MB. Split it in half.
        case limitExceeded = 27
        /// The user deleted the app's data. Do not save them again without asking.
        case userDeletedZone = 28
        /// The share has more than 100 participants.
        case tooManyParticipants = 29
        /// The record is in a share already.
        case alreadyShared = 30
        /// The parent that the record names does not exist, or the record is still a parent.
        case referenceViolation = 31
        /// The account is a managed one and restricted.
        case managedAccountRestricted = 32
        /// The participant has to be verified first.
        case participantMayNeedVerification = 33
        /// The connection was lost before the answer: the outcome is not known.
        case serverResponseLost = 34
        /// The asset can't be downloaded.
        case assetNotAvailable = 35
        /// The account can't be used just now. Wait for `CKAccountChanged`.
        case accountTemporarilyUnavailable = 36
        /// The participant was invited already.
        case participantAlreadyInvited = 37
    }

    /// Something failed inside that the app can't mend.
    public static var internalError: Code { .internalError }
    /// Some items failed; see ``CKError/partialErrorsByItemID``.
    public static var partialFailure: Code { .partialFailure }
    /// There is no network. Try again when there is.
    public static var networkUnavailable: Code { .networkUnavailable }
    /// There is a network, but the service can't be reached. Try again with growing pauses.
    public static var networkFailure: Code { .networkFailure }
    /// The container is unknown or not the account's.
    public static var badContainer: Code { .badContainer }
    /// The service is away. Try again after ``CKError/retryAfterSeconds``.
    public static var serviceUnavailable: Code { .serviceUnavailable }
    /// Too many requests. Try again after ``CKError/retryAfterSeconds``.
    public static var requestRateLimited: Code { .requestRateLimited }
    /// The app lacks an entitlement.
    public static var missingEntitlement: Code { .missingEntitlement }
    /// There is no account, or its token is not valid.
    public static var notAuthenticated: Code { .notAuthenticated }
    /// The account may not do this. Trying again does not help.
    public static var permissionFailure: Code { .permissionFailure }
    /// The record or subscription does not exist.
    public static var unknownItem: Code { .unknownItem }
    /// The request breaks a rule.
    public static var invalidArguments: Code { .invalidArguments }
    /// Never returned.
    public static var resultsTruncated: Code { .resultsTruncated }
    /// The record on the server is a newer one: ``CKError/serverRecord``. Merge and save again.
    public static var serverRecordChanged: Code { .serverRecordChanged }
    /// The server refused the request. Trying again does not help.
    public static var serverRejectedRequest: Code { .serverRejectedRequest }
    /// An asset's file is missing.
    public static var assetFileNotFound: Code { .assetFileNotFound }
    /// An asset's file changed during the save.
    public static var assetFileModified: Code { .assetFileModified }
    /// The app is too old for the server.
    public static var incompatibleVersion: Code { .incompatibleVersion }
    /// A value that has to be unique is not.
    public static var constraintViolation: Code { .constraintViolation }
    /// The operation was cancelled.
    public static var operationCancelled: Code { .operationCancelled }
    /// The change token is not valid any more: drop what was fetched and fetch from nil.
    public static var changeTokenExpired: Code { .changeTokenExpired }
    /// Another item of the atomic batch failed, so this one was not saved.
    public static var batchRequestFailed: Code { .batchRequestFailed }
    /// The zone is busy. Try again after ``CKError/retryAfterSeconds``.
    public static var zoneBusy: Code { .zoneBusy }
    /// The database can't do this; zones, for example, are made in a private one.
    public static var badDatabase: Code { .badDatabase }
    /// The database is full.
    public static var quotaExceeded: Code { .quotaExceeded }
    /// The zone does not exist.
    public static var zoneNotFound: Code { .zoneNotFound }
    /// The request is too large: over 400 items or 2 MB. Split it in half.
    public static var limitExceeded: Code { .limitExceeded }
    /// The user deleted the app's data. Do not save them again without asking.
    public static var userDeletedZone: Code { .userDeletedZone }
    /// The share has more than 100 participants.
    public static var tooManyParticipants: Code { .tooManyParticipants }
    /// The record is in a share already.
    public static var alreadyShared: Code { .alreadyShared }
    /// The parent that the record names does not exist, or the record is still a parent.
    public static var referenceViolation: Code { .referenceViolation }
    /// The account is a managed one and restricted.
    public static var managedAccountRestricted: Code { .managedAccountRestricted }
    /// The participant has to be verified first.
    public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
    /// The connection was lost before the answer: the outcome is not known.
    public static var serverResponseLost: Code { .serverResponseLost }
    /// The asset can't be downloaded.
    public static var assetNotAvailable: Code { .assetNotAvailable }
    /// The account can't be used just now. Wait for `CKAccountChanged`.
    public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
    /// The participant was invited already.
    public static var participantAlreadyInvited: Code { .participantAlreadyInvited }
}
