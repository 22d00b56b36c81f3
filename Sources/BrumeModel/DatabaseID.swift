/// Which of a container's two worlds: their data, and their users' record names, are separate.
package enum Environment: UInt8, Hashable, Sendable {
    case development = 1
    case production = 2
}

/// Raw values are CloudKit's `CKDatabase.Scope`. The shared scope holds no data of its own and is not served yet.
package enum DatabaseScope: UInt8, Hashable, Sendable {
    case `public` = 1
    case `private` = 2
}

/// A database: the unit of ownership, order, loading and snapshots.
package struct DatabaseID: Hashable, Sendable {
    package let container: String
    package let environment: Environment
    package let scope: DatabaseScope
    /// The owner's user record name; empty for the public database.
    package let owner: String

    package init(container: String, environment: Environment, scope: DatabaseScope, owner: String) {
        precondition(
            (scope == .public) == owner.isEmpty,
            "a public database has no owner, and a private database has exactly one")
        self.container = container
        self.environment = environment
        self.scope = scope
        self.owner = owner
    }
}
