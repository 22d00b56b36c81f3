public import Foundation

/// The domain of the errors of this framework.
public let CKErrorDomain = "CKErrorDomain"

/// In `userInfo`: each failed item's error under its id.
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"

/// In `userInfo`: after how many seconds to try again, as a number.
public let CKErrorRetryAfterKey = "CKRetryAfter"

/// In `userInfo` of a conflict: the version that the client's changes started from.
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"

/// In `userInfo` of a conflict: the record as the server has it.
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"

/// In `userInfo` of a conflict: the record as the client sent it.
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"

/// In `userInfo` of `zoneNotFound`: whether the user's encrypted data were reset.
public let CKErrorUserDidResetEncryptedDataKey = "CKErrorUserDidResetEncryptedData"

/// What went wrong, with what an app needs to go on.
///
/// The codes, their raw values and the keys of ``userInfo`` are CloudKit's. `localizedDescription` is the server's
/// sentence: what was wrong and what to do next.
///
/// ```swift
/// do {
///     try await database.save(record)
/// } catch CKError.serverRecordChanged {
///     …
/// } catch let error as CKError where error.retryAfterSeconds != nil {
///     …
/// }
/// ```
///
/// `error as NSError` keeps domain, code and `userInfo`, and an `NSError` of ``CKErrorDomain`` casts back.
///
/// Differs from CloudKit: a code that this version does not know, in an `NSError` from elsewhere, reads as
/// `internalError`.
public struct CKError: CustomNSError, Hashable, Sendable {
    // Sendable: an NSError is immutable, and the values that this module puts into its userInfo are Sendable.
    private let error: NSError

    /// An error with the given code and details. Without a description among them, it gets the code's own sentence.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        let userInfo = userInfo.merging([NSLocalizedDescriptionKey: code.sentence]) { given, _ in given }
        error = NSError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo)
    }

    /// The error that an `NSError` is. One of another domain becomes `internalError`, with it as the underlying error.
    public init(_nsError error: NSError) {
        self = CKError(error) ?? CKError(.internalError, userInfo: [NSUnderlyingErrorKey: error])
    }

    /// The error as an `NSError`.
    public var _nsError: NSError { error }

    /// Nil for errors of other domains.
    init?(_ error: NSError) {
        guard error.domain == CKErrorDomain else { return nil }
        self.error = error
    }

    /// ``CKErrorDomain``.
    public static var errorDomain: String { CKErrorDomain }

    /// What went wrong.
    public var code: Code { Code(rawValue: error.code) ?? .internalError }

    /// The raw value of ``code``.
    public var errorCode: Int { error.code }

    /// The details, under the keys of this framework and of `NSError`.
    public var userInfo: [String: Any] { error.userInfo }

    /// The same as ``userInfo``.
    public var errorUserInfo: [String: Any] { error.userInfo }

    /// For `partialFailure`: each failed item's error under its id (`CKRecord.ID`, `CKRecordZone.ID` or a
    /// subscription's id).
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// For `serverRecordChanged`: the version that the client's changes started from, if this client knows it.
    public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }

    /// For `serverRecordChanged`: the record as the server has it. Merge into this one and save it.
    public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }

    /// For `serverRecordChanged`: the record as the client sent it.
    public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }

    /// After how many seconds to try again, if the server said.
    public var retryAfterSeconds: Double? { userInfo[CKErrorRetryAfterKey] as? Double }

    /// The server's sentence, or the code's own when there is none.
    public var localizedDescription: String {
        userInfo[NSLocalizedDescriptionKey] as? String ?? code.sentence
    }

    /// Whether domain, code and details are equal.
    public static func == (left: CKError, right: CKError) -> Bool {
        left.error.isEqual(right.error)
    }

    /// Feeds the code, which equal errors share.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(error.code)
    }
}

extension CKError.Code {
    /// Whether an error is a ``CKError`` of the given code, for `catch CKError.zoneNotFound`.
    public static func ~= (code: CKError.Code, error: any Error) -> Bool {
        (error as? CKError)?.code == code
    }
}

extension CKError: CustomStringConvertible {
    /// The code's name and number, and the sentence.
    public var description: String {
        "<CKError \(code) (\(errorCode)): \(localizedDescription)>"
    }
}

/// The bridge that the compiler uses for `as NSError` and `as? CKError`.
extension CKError: _ObjectiveCBridgeable {
    /// The error as an `NSError`.
    public func _bridgeToObjectiveC() -> NSError { error }

    /// Traps for errors of other domains.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        guard let error = CKError(source) else {
            preconditionFailure("an NSError of domain \(source.domain) is no CKError: cast it with as? and check")
        }
        result = error
    }

    /// False for errors of other domains.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
        result = CKError(source)
        return result != nil
    }

    /// Traps for nil and for errors of other domains.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
        guard let source, let error = CKError(source) else {
            preconditionFailure("nil or an NSError of another domain is no CKError: cast it with as? and check")
        }
        return error
    }
}
