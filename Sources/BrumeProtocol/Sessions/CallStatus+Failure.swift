package import BrumeModel

extension CallStatus {
    /// A failure with a sentence that says what was wrong and what to do.
    package init(_ code: ErrorCode, _ message: String, retryAfterMilliseconds: UInt32 = 0) {
        self.init(code: code.rawValue, message: message, retryAfterMilliseconds: retryAfterMilliseconds)
    }
}
