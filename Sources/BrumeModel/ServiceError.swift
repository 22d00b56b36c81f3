/// CloudKit's error codes: raw values of `CKError.Code` (Documentation/CloudKit.md, Which error for what). An open set,
/// since a peer may be newer.
package struct ErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let internalError = ErrorCode(rawValue: 1)
    package static let partialFailure = ErrorCode(rawValue: 2)
    package static let networkUnavailable = ErrorCode(rawValue: 3)
    package static let networkFailure = ErrorCode(rawValue: 4)
    package static let badContainer = ErrorCode(rawValue: 5)
    package static let serviceUnavailable = ErrorCode(rawValue: 6)
    package static let requestRateLimited = ErrorCode(rawValue: 7)
    package static let notAuthenticated = ErrorCode(rawValue: 9)
    package static let permissionFailure = ErrorCode(rawValue: 10)
    package static let unknownItem = ErrorCode(rawValue: 11)
    package static let invalidArguments = ErrorCode(rawValue: 12)
    package static let serverRecordChanged = ErrorCode(rawValue: 14)
    package static let serverRejectedRequest = ErrorCode(rawValue: 15)
    package static let assetFileModified = ErrorCode(rawValue: 17)
    package static let incompatibleVersion = ErrorCode(rawValue: 18)
    package static let operationCancelled = ErrorCode(rawValue: 20)
    package static let changeTokenExpired = ErrorCode(rawValue: 21)
    package static let batchRequestFailed = ErrorCode(rawValue: 22)
    package static let zoneBusy = ErrorCode(rawValue: 23)
    package static let badDatabase = ErrorCode(rawValue: 24)
    package static let quotaExceeded = ErrorCode(rawValue: 25)
    package static let zoneNotFound = ErrorCode(rawValue: 26)
    package static let limitExceeded = ErrorCode(rawValue: 27)
    package static let userDeletedZone = ErrorCode(rawValue: 28)
    package static let tooManyParticipants = ErrorCode(rawValue: 29)
    package static let alreadyShared = ErrorCode(rawValue: 30)
    package static let referenceViolation = ErrorCode(rawValue: 31)
    package static let managedAccountRestricted = ErrorCode(rawValue: 32)
    package static let participantMayNeedVerification = ErrorCode(rawValue: 33)
    package static let serverResponseLost = ErrorCode(rawValue: 34)
    package static let assetNotAvailable = ErrorCode(rawValue: 35)
    package static let accountTemporarilyUnavailable = ErrorCode(rawValue: 36)
    package static let participantAlreadyInvited = ErrorCode(rawValue: 37)
}

/// A failure that a client is told: CloudKit's code and a sentence that says what was wrong and what to do next.
///
/// Both a request's failure (thrown) and an item's (a value in its result). Holds nothing of another account.
///
/// An item's result has room for an error, though few items have one: it is one reference in size.
package struct ServiceError: Error, Equatable, Sendable {
    private let content: Content

    private final class Content: Sendable {
        let code: ErrorCode
        let message: String
        let retryAfterMilliseconds: UInt32
        let serverRecord: [UInt8]?
        let detail: Detail

        init(
            _ code: ErrorCode, _ message: String, retryAfterMilliseconds: UInt32, serverRecord: [UInt8]?, detail: Detail
        ) {
            self.code = code
            self.message = message
            self.retryAfterMilliseconds = retryAfterMilliseconds
            self.serverRecord = serverRecord
            self.detail = detail
        }
    }

    package var code: ErrorCode { content.code }
    package var message: String { content.message }
    /// The delay before the next attempt; 0 means no advice.
    package var retryAfterMilliseconds: UInt32 { content.retryAfterMilliseconds }
    /// For `serverRecordChanged`: the record as the server has it, an encoded `brume.v1.Record`.
    package var serverRecord: [UInt8]? { content.serverRecord }
    package var detail: Detail { content.detail }

    /// What a client has to know beyond the code. Raw values are those of the wire.
    package enum Detail: UInt8, Sendable {
        case none = 0
        /// For `changeTokenExpired`: the token's zone was deleted, and the zone of that name is another one.
        case zoneMadeAgain = 1
        /// For `zoneNotFound`: the zone went because its user's encrypted data were reset.
        case encryptedDataReset = 2
        /// For `assetNotAvailable`: the record's field names the asset no more.
        case assetChanged = 3
        /// For `accountTemporarilyUnavailable`: the ring of the record's zone has another key than the save was
        /// encrypted with.
        case keysChanged = 4
        /// For `accountTemporarilyUnavailable`: the save removes what is encrypted, or puts a plain value in its place,
        /// and does not say that the device has the keys.
        case fieldEncrypted = 5
    }

    package init(
        _ code: ErrorCode, _ message: String, retryAfterMilliseconds: UInt32 = 0, serverRecord: [UInt8]? = nil,
        detail: Detail = .none
    ) {
        content = Content(
            code, message, retryAfterMilliseconds: retryAfterMilliseconds, serverRecord: serverRecord, detail: detail)
    }

    package static func == (left: ServiceError, right: ServiceError) -> Bool {
        left.content === right.content
            || left.code == right.code && left.message == right.message
                && left.retryAfterMilliseconds == right.retryAfterMilliseconds
                && left.serverRecord == right.serverRecord && left.detail == right.detail
    }
}
