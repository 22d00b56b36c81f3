package import BrumeModel

/// The identity of a client, as its claim proved it. It never changes.
///
/// A class, because every request passes it on: copying a struct would count a reference for each of its parts.
package final class Identity: Sendable {
    package enum Role: Hashable, Sendable {
        /// No credentials: reads the public database.
        case anonymous
        /// An account's token.
        case account(name: String)
        /// A connection through the operator's door or, where the port accepts it, with the operator's token.
        case admin
    }

    package let role: Role
    let container: String
    let environment: Environment
    /// The name of the user's record in this container and environment; empty without an account.
    package let userRecordName: String
    /// 16 bytes.
    let deviceID: [UInt8]
    let clientVersion: String
    /// The hash of the account's token that opened the connection; empty without one.
    let tokenHash: [UInt8]
    /// Whether the account's saves teach development's schema.
    let isTeacher: Bool
    /// The account's id, if the container was new and held no data when the client came; nil otherwise.
    let newContainerOf: [UInt8]?
    /// What the account stores, and may; nil without an account.
    let storage: AccountStorage?

    let publicDatabase: DatabaseID
    /// The account's private database; nil without an account.
    let privateDatabase: DatabaseID?
    /// Where the public database is, and the private one: worked out once, since every request asks.
    let publicPlacement: Placement
    let privatePlacement: Placement?

    package init(
        role: Role, container: String, environment: Environment, userRecordName: String = "", deviceID: [UInt8],
        clientVersion: String, tokenHash: [UInt8] = [], storage: AccountStorage? = nil, isTeacher: Bool = true,
        newContainerOf account: [UInt8]? = nil
    ) {
        self.role = role
        self.container = container
        self.environment = environment
        self.userRecordName = userRecordName
        self.deviceID = deviceID
        self.clientVersion = clientVersion
        self.tokenHash = tokenHash
        self.storage = storage
        self.isTeacher = isTeacher
        newContainerOf = account
        publicDatabase = DatabaseID(container: container, environment: environment, scope: .public, owner: "")
        privateDatabase =
            userRecordName.isEmpty
            ? nil
            : DatabaseID(container: container, environment: environment, scope: .private, owner: userRecordName)
        publicPlacement = Placement(of: publicDatabase)
        privatePlacement = privateDatabase.map { Placement(of: $0) }
    }

    /// Whether it is the user's own private database.
    func owns(_ database: DatabaseID) -> Bool { database.scope == .private && database.owner == userRecordName }

    /// Where the client belongs: to the account's own data, if there is an account.
    var homePlacement: Placement { privatePlacement ?? publicPlacement }

    /// The placement of a database that ``Authorisation`` lets the caller use.
    func placement(of database: DatabaseID) -> Placement {
        switch database.scope {
        case .public:
            assert(database == publicDatabase, "a request was sent to another container's database")
            return publicPlacement
        case .private:
            assert(database == privateDatabase, "a request was sent to another account's database")
            return privatePlacement!
        case .shared: preconditionFailure("no database is a shared one")
        }
    }
}
