/// A container's schemas, one for each environment, and who is in which security role there: what the data folder keeps.
package struct ContainerSchemas: Equatable, Sendable {
    /// A schema, and who is in its roles.
    package struct Stage: Equatable, Sendable {
        package var schema: Schema
        /// Roles by user record name; a user without roles is left out.
        package private(set) var members: [String: Set<String>]

        package init(schema: Schema = Schema(), members: [String: Set<String>] = [:]) {
            self.schema = schema
            self.members = members.filter { !$0.value.isEmpty }
        }

        /// Puts a user into a role of the schema, or takes them out.
        ///
        /// Throws `unknownItem` for a role that the schema does not make, and `limitExceeded`.
        package mutating func setMember(_ user: String, of role: String, _ isMember: Bool) throws(ServiceError) {
            var roles = members[user] ?? []
            if isMember {
                guard schema.roles.contains(role) else {
                    let known = schema.roles.sorted().prefix(20).joined(separator: ", ")
                    throw ServiceError(
                        .unknownItem,
                        "the schema makes no role \(role.prefix(64)); "
                            + (known.isEmpty ? "it makes none: add CREATE ROLE to it" : "its roles are \(known)"))
                }
                guard roles.isEmpty == false || members.count < Limits.roleMembersPerSchema else {
                    throw ServiceError(
                        .limitExceeded, "\(members.count) accounts are in roles, which is the limit; take some out")
                }
                roles.insert(role)
            } else {
                roles.remove(role)
            }
            members[user] = roles.isEmpty ? nil : roles
        }
    }

    package let container: String
    package var development: Stage
    package var production: Stage

    package init(container: String, development: Stage = Stage(), production: Stage = Stage()) {
        self.container = container
        self.development = development
        self.production = production
    }

    package subscript(environment: Environment) -> Stage {
        get { environment == .production ? production : development }
        set {
            switch environment {
            case .production: production = newValue
            case .development: development = newValue
            }
        }
    }
}
