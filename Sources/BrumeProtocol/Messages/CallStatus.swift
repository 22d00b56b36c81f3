package import BrumeModel
internal import BrumeRecord

/// The status that ends a call.
package struct CallStatus: Equatable, Sendable {
    /// 0 for success, otherwise a raw value of ``ErrorCode``.
    package var code: Int32
    package var message: String
    /// The delay before the next attempt; 0 means no advice.
    package var retryAfterMilliseconds: UInt32
    package var detail: ServiceError.Detail

    package init(
        code: Int32 = 0, message: String = "", retryAfterMilliseconds: UInt32 = 0, detail: ServiceError.Detail = .none
    ) {
        self.code = code
        self.message = message
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.detail = detail
    }

    package init(_ error: ServiceError) {
        self.init(
            code: error.code.rawValue, message: error.message, retryAfterMilliseconds: error.retryAfterMilliseconds,
            detail: error.detail)
    }

    package static let success = CallStatus()

    /// The failure, or nil for success.
    package var error: ServiceError? {
        code == 0
            ? nil
            : ServiceError(
                ErrorCode(rawValue: code), message, retryAfterMilliseconds: retryAfterMilliseconds, detail: detail)
    }
}

/// The server is about to close the connection: finish what runs, open no call, come back after the delay.
package struct Goaway: Equatable, Sendable {
    package var reason: CallStatus
    package var reconnectAfterMilliseconds: UInt32

    package init(reason: CallStatus = .success, reconnectAfterMilliseconds: UInt32 = 0) {
        self.reason = reason
        self.reconnectAfterMilliseconds = reconnectAfterMilliseconds
    }
}
