public import Foundation

/// Why a test server, an account or a device could not be had: a sentence that says what to do.
public struct TestServerError: Error, CustomStringConvertible, LocalizedError, Sendable {
    /// The sentence.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
