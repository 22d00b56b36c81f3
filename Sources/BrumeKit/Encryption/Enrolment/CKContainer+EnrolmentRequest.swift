internal import BrumeEncryption
internal import BrumeModel
public import Foundation

extension CKContainer {
    /// Brume's addition: the requests of devices that want the account's encryption keys, the oldest first; on a device
    /// that has them.
    ///
    /// Whoever has a token of the account can ask. Let a person compare ``EnrolmentRequest/id`` with what the new
    /// device shows, ``answer(_:)`` the one that is theirs, and ``reject(_:)`` those that nobody knows of: four can be
    /// open. Nobody is told of new ones; ask every few seconds while the user looks at them.
    ///
    /// - Throws: `unknownItem` where the account has no keys; `accountTemporarilyUnavailable` where this device does
    ///   not have them; what calls to the server throw.
    public func enrolmentRequests() async throws(CKError) -> [EnrolmentRequest] {
        let account = core.account
        let standing = try await account.keys.run(.look, for: account).standing
        guard case .available = standing else { throw AccountKeysStateMachine.failure(standing).error }
        return try await EnrolmentRelay(account: account).enrolments().compactMap { enrolment in
            guard let commitment = enrolment.messages.first else { return nil }
            return EnrolmentRequest(
                requestID: enrolment.id, commitment: commitment, isAnswered: enrolment.messages.count > 1,
                secondsLeft: TimeInterval(enrolment.millisecondsLeft) / 1_000)
        }
    }

    /// Brume's addition: ends a device's request, answered or not. Does nothing where it has ended.
    ///
    /// - Throws: `notAuthenticated` without an account; what calls to the server throw.
    public func reject(_ request: EnrolmentRequest) async throws(CKError) {
        try await EnrolmentRelay(account: core.account).tryToEnd(request.requestID)
    }

    /// Brume's addition: a device's request for the account's encryption keys; see ``CKContainer/enrolmentRequests()``.
    public struct EnrolmentRequest: Identifiable, Hashable, Sendable {
        let requestID: [UInt8]
        let commitment: [UInt8]
        /// Whether a device has answered it, and no other one can: the new device begins anew where that came to
        /// nothing.
        public let isAnswered: Bool
        /// How long the request had left when it was fetched.
        public let secondsLeft: TimeInterval

        /// Eight hexadecimal digits that the new device shows as well (``Enrolment/id``).
        public var id: String { Self.text(requestID) }
    }
}

extension CKContainer.EnrolmentRequest {
    static func newID() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<Limits.enrolmentIDBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    static func text(_ id: [UInt8]) -> String { id.prefix(4).hexadecimal }

    static let isNoCode = CKError(
        .invalidArguments,
        message: "this is no code, which has six letters and digits; look for a mistyped character, and type it again")

    /// Why an enrolment has come to nothing.
    static func error(_ refusal: EncryptionRefusal) -> CKError {
        switch refusal {
        case .wrongCode:
            CKError(
                .invalidArguments,
                message:
                    "the code is not the other device's, and the enrolment has ended: it was mistyped or is another "
                    + "request's, or somebody stands between the devices; begin anew on the new device")
        case .newer: AccountKeysFailure.newer.error
        default:
            CKError(
                .serverRejectedRequest,
                message: "the other device's message is damaged, and the enrolment has ended; begin anew")
        }
    }
}

extension CKContainer.EnrolmentRequest: CustomStringConvertible {
    /// The digits that tell it from others.
    public var description: String { "request \(id)\(isAnswered ? " (answered)" : "")" }
}
