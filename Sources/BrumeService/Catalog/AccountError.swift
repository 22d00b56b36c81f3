/// Why an account is not changed: a sentence for the operator that says what to do.
package struct AccountError: Error, CustomStringConvertible, Sendable {
    package enum Code: Sendable {
        /// There is an account of that name.
        case exists
        /// There is none.
        case unknown
        /// The name, the e-mail address or the token is none.
        case invalid
        /// The account can't be removed, because it has a token.
        case inUse
        /// A limit of the server.
        case limit
        /// There is no room for the change. Nothing changed.
        case full
        /// The change could not be kept; the message says whether it may hold nevertheless.
        case notKept
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
