internal import BrumeModel

/// Who is on the other side of a connection, as its hello proved.
struct Identity: Equatable, Sendable {
    enum Role: Equatable, Sendable {
        /// No credentials: reads the public database.
        case anonymous
        /// An account's token.
        case account(name: String)
        /// The operator's token.
        case admin
    }

    var role: Role
    var container: String
    var environment: Environment
    /// In this container and environment; empty without an account.
    var userRecordName: String
    /// 16 bytes.
    var deviceID: [UInt8]
    var clientVersion: String
    /// Of the account's token that opened the connection; empty without one.
    var tokenHash: [UInt8] = []

    var publicDatabase: DatabaseID {
        DatabaseID(container: container, environment: environment, scope: .public, owner: "")
    }

    /// The account's private database; nil without an account.
    var privateDatabase: DatabaseID? {
        guard !userRecordName.isEmpty else { return nil }
        return DatabaseID(container: container, environment: environment, scope: .private, owner: userRecordName)
    }
}
