internal import COpenSSL

/// A fault in TLS or in a certificate, in words.
package struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was wrong, and where it helps what to do. Never a secret.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }

    package var description: String { message }

    /// Makes an error from the first cause in this thread's OpenSSL error queue, and clears the queue.
    static func takeQueue(_ what: String) -> TLSError {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return TLSError(what) }
        return TLSError("\(what): \(reason(code))")
    }

    /// `ERR_SYSTEM_FLAG`, a macro that Swift does not see.
    private static let errorOfSystem: UInt = 1 << 31

    static func reason(_ code: UInt) -> String {
        // OpenSSL has no text for the error of a system call.
        if code & errorOfSystem != 0 { return SystemError.text(of: Int32(truncatingIfNeeded: code & 0xFFFF)) }
        if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
        return "error \(String(code, radix: 16))"
    }
}
