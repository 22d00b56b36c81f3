internal import BrumeModel

/// Who is on the other side of a connection, as its hello proved. It never changes.
///
/// An object, because every request hands it on: a copy of its parts would cost a count of references for each of them.
final class Identity: Sendable {
    enum Role: Equatable, Sendable {
        /// No credentials: reads the public database.
        case anonymous
        /// An account's token.
        case account(name: String)
        /// The operator's token.
        case admin
    }

    let role: Role
    let container: String
    let environment: Environment
    /// In this container and environment; empty without an account.
    let userRecordName: String
    /// 16 bytes.
    let deviceID: [UInt8]
    let clientVersion: String
    /// Of the account's token that opened the connection; empty without one.
    let tokenHash: [UInt8]

    let publicDatabase: DatabaseID
    /// The account's private database; nil without an account.
    let privateDatabase: DatabaseID?

    init(
        role: Role, container: String, environment: Environment, userRecordName: String = "", deviceID: [UInt8],
        clientVersion: String, tokenHash: [UInt8] = []
    ) {
        self.role = role
        self.container = container
        self.environment = environment
        self.userRecordName = userRecordName
        self.deviceID = deviceID
        self.clientVersion = clientVersion
        self.tokenHash = tokenHash
        publicDatabase = DatabaseID(container: container, environment: environment, scope: .public, owner: "")
        privateDatabase =
            userRecordName.isEmpty
            ? nil
            : DatabaseID(container: container, environment: environment, scope: .private, owner: userRecordName)
    }
}
