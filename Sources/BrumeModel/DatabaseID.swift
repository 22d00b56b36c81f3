/// One of a container's two environments. Each has its own data and its own record names for users.
package enum Environment: UInt8, Hashable, Sendable {
    case development = 1
    case production = 2

    /// As people write it, and as file names and signed statements have it.
    package var name: String {
        switch self {
        case .development: "development"
        case .production: "production"
        }
    }
}

/// Raw values are CloudKit's `CKDatabase.Scope`. The shared scope holds no data of its own: it is a view of zones in
/// other users' private databases, and no ``DatabaseID`` has it.
@usableFromInline
package enum DatabaseScope: UInt8, Hashable, Sendable {
    case `public` = 1
    case `private` = 2
    case shared = 3

    /// Written out, since every request asks nearly twenty times: the compiler's own goes through the table of the
    /// protocol in other modules.
    @inlinable package static func == (one: DatabaseScope, other: DatabaseScope) -> Bool {
        switch one {
        case .public: if case .public = other { true } else { false }
        case .private: if case .private = other { true } else { false }
        case .shared: if case .shared = other { true } else { false }
        }
    }
}

/// A database: the unit of ownership, order, loading and snapshots.
///
/// Every commit and every journal entry holds one, so the parts are in one object: a copy costs one reference count.
package struct DatabaseID: Hashable, Sendable {
    private let parts: Parts

    private final class Parts: Sendable {
        let container: String
        let environment: Environment
        let scope: DatabaseScope
        let owner: String

        init(container: String, environment: Environment, scope: DatabaseScope, owner: String) {
            self.container = container
            self.environment = environment
            self.scope = scope
            self.owner = owner
        }
    }

    package var container: String { parts.container }
    package var environment: Environment { parts.environment }
    package var scope: DatabaseScope { parts.scope }
    /// The owner's user record name; empty for the public database.
    package var owner: String { parts.owner }

    package init(container: String, environment: Environment, scope: DatabaseScope, owner: String) {
        precondition(
            scope != .shared && (scope == .public) == owner.isEmpty,
            "a public database has no owner, a private database has exactly one, and a shared database is none")
        parts = Parts(container: container, environment: environment, scope: scope, owner: owner)
    }

    /// The private database that a user has in the same container and environment.
    package func privateDatabase(of user: String) -> DatabaseID {
        DatabaseID(container: container, environment: environment, scope: .private, owner: user)
    }

    package static func == (left: DatabaseID, right: DatabaseID) -> Bool {
        left.parts === right.parts
            || left.owner == right.owner && left.scope == right.scope && left.environment == right.environment
                && left.container == right.container
    }

    /// An order of all databases that is always the same.
    package func isBefore(_ other: DatabaseID) -> Bool {
        (container, owner, environment.rawValue, scope.rawValue)
            < (other.container, other.owner, other.environment.rawValue, other.scope.rawValue)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(owner)
        hasher.combine(scope)
        hasher.combine(environment)
        hasher.combine(container)
    }
}
