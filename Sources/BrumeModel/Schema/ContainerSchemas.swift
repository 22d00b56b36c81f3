/// A container's schemas, one for each environment, and the members of the security roles there, as the data folder
/// keeps them.
package struct ContainerSchemas: Equatable, Sendable {
    /// A schema, and who is in its roles.
    package struct Stage: Equatable, Sendable {
        package var schema: Schema
        /// Roles by user record name; a user without roles is left out.
        package private(set) var members: [String: Set<String>]
        /// What saves of each user have taught the schema since the operator made or emptied it, by user record name.
        package private(set) var lessons: [String: SchemaShare]

        package init(
            schema: Schema = Schema(), members: [String: Set<String>] = [:], lessons: [String: SchemaShare] = [:]
        ) {
            self.schema = schema
            self.members = members.filter { !$0.value.isEmpty }
            self.lessons = lessons
        }

        /// Replaces the schema with the operator's, which no user's saves have taught.
        package mutating func replaceSchema(with schema: Schema) {
            self.schema = schema
            lessons = [:]
        }

        /// Has the schema learn from a user's saves.
        ///
        /// Throws `limitExceeded`, and learns nothing, where the schema would have too much, or too much of this user.
        package mutating func learn(
            _ lesson: SchemaLesson, of user: String, share: SchemaShare, isStrict: Bool
        ) throws(ServiceError) {
            if let refusal = refusal(of: lesson, of: user, share: share) { throw refusal }
            let taught = taught(by: user, with: lesson)
            schema = try schema.learning(lesson, isStrict: isStrict)
            lessons[user] = taught
        }

        /// Why the schema can't learn from a user's saves, or nil. Loops ask this before they have it learn, so that a
        /// lesson which will be refused takes none of the time that all containers share.
        package func refusal(of lesson: SchemaLesson, of user: String, share: SchemaShare) -> ServiceError? {
            if let refusal = schema.refusal(of: lesson) { return refusal }
            let taught = taught(by: user, with: lesson)
            if taught.types <= share.types, taught.fields <= share.fields { return nil }
            return ServiceError(
                .limitExceeded,
                "this account's saves would have taught the development schema \(taught.types) record types and"
                    + " \(taught.fields) fields; one account may teach \(share.types) and \(share.fields): have the"
                    + " operator define more with `brume schema import`")
        }

        /// What the user's saves would have taught, with the lesson.
        private func taught(by user: String, with lesson: SchemaLesson) -> SchemaShare {
            var taught = lessons[user] ?? SchemaShare(types: 0, fields: 0)
            let growth = schema.growth(by: lesson)
            taught.types += growth.types
            taught.fields += growth.fields
            return taught
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
                            + (known.isEmpty
                                ? "it makes none: add CREATE ROLE to it"
                                : schema.roles.count == 1 ? "its only role is \(known)" : "its roles are \(known)"))
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
