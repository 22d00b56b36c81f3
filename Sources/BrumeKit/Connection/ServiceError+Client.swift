internal import BrumeModel
internal import BrumeProtocol

/// The failures that the client finds itself, each with the sentence that its user reads.
extension ServiceError {
    /// A status that says success where only a failure can stand is one of the server's.
    init(_ status: CallStatus) {
        self =
            status.error
            ?? ServiceError(.internalError, "the server ended the call or the connection without saying why; try again")
    }

    static let cancelled = ServiceError(.operationCancelled, "the task that made the call was cancelled")

    static let accountChanged = ServiceError(
        .notAuthenticated,
        "the container's account was signed out or switched meanwhile; what the call sent may have happened for the account "
            + "before. Ask accountStatus(), and begin anew")

    static let tooManyCalls = ServiceError(
        .requestRateLimited,
        "\(ClientSessionLimits.callsMax) calls, or calls with \(ClientSessionLimits.callBytesMax) bytes, wait for the "
            + "server already; let some end first",
        retryAfterMilliseconds: 1_000)

    static func noAnswer(_ server: String, seconds: UInt64) -> ServiceError {
        ServiceError(.networkFailure, "\(server) did not answer within \(seconds) s; try again")
    }

    /// The same failure to reach the server as calls are told that don't wait for it.
    var asAbsence: ServiceError {
        code == .networkFailure ? ServiceError(.networkUnavailable, message) : self
    }

    static func answerLost(_ server: String) -> ServiceError {
        ServiceError(
            .serverResponseLost,
            "the connection to \(server) broke before the answer; fetch to learn the outcome, or send the same again")
    }

    static func connectionLost(_ server: String, _ reason: String) -> ServiceError {
        ServiceError(.networkFailure, "the connection to \(server) broke: \(reason); try again")
    }

    static func connectionRefusedLater(_ error: ServiceError) -> ServiceError {
        error.concernsAccount
            ? error : ServiceError(.internalError, "the server ended the connection: \(error.message)")
    }

    static func tooLarge(_ byteCount: Int, limit: Int) -> ServiceError {
        ServiceError(
            .limitExceeded, "a request has \(byteCount) bytes; the server takes \(limit): send less at a time")
    }

    /// Whether it says that the server does not take the account, or not just now.
    var concernsAccount: Bool {
        switch code {
        case .notAuthenticated, .managedAccountRestricted, .accountTemporarilyUnavailable: true
        default: false
        }
    }

    /// Whether the same call may succeed later without anybody's doing.
    var isWorthRepeating: Bool {
        switch code {
        case .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy: true
        default: false
        }
    }
}

extension ServiceError {
    init(_ failure: TransportFailure, server: String) {
        switch failure {
        case .noNetwork(let reason):
            self.init(.networkUnavailable, "\(server) can't be reached: \(reason); check the network and BRUME_SERVER")
        case .offline(let reason):
            self.init(.networkUnavailable, "\(server) can't be reached: \(reason); try again when there is a network")
        case .unreachable(let reason):
            self.init(.networkFailure, "\(server) can't be reached: \(reason); check that the server runs there")
        case .unfit(let reason):
            self.init(
                .networkFailure,
                "no secure connection to \(server): \(reason); check BRUME_SERVER, and that BRUME_CA is its CA's certificate"
            )
        case .lost(let reason):
            self = .connectionLost(server, reason)
        case .misconfigured(let reason):
            self.init(.internalError, reason)
        }
    }
}
