/// Why a server doesn't start, or an account can't be changed: a sentence for the operator that says what to do.
package struct ServerError: Error, CustomStringConvertible, Sendable {
    package enum Code: Sendable {
        /// Another server has the data folder.
        case folderInUse
        /// The data folder can't be read or written.
        case folder
        /// The folder is another user's.
        case notPermitted
        /// There is no room for a change on the data folder's disk. Nothing changed.
        case diskFull
        /// A file of the data folder is damaged.
        case damaged
        /// The certificate, its key or the CA can't be used.
        case certificate
        /// The address can't be listened on.
        case listen
        /// The account's name is taken, unknown or not allowed.
        case accountExists, accountUnknown, accountInvalid
        /// The account can't be removed, because it has a token.
        case accountInUse
        /// A limit of the server.
        case limit
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
