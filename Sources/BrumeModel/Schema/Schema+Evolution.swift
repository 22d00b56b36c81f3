/// How schemas change once there are data that rely on them (Documentation/CloudKit.md, Schemas).
extension Schema {
    /// Why this schema can't replace production's, one line for each problem; empty when it can.
    ///
    /// What is in production has to stay: it would be lost if a type, a field or a role were missing here, or if a
    /// field had another type.
    package func problems(following production: Schema) -> [String] {
        var problems: [String] = []
        for role in production.roles.subtracting(roles).sorted() {
            problems.append("role \(role) is in production and missing here")
        }
        for name in production.recordTypes.keys.sorted() {
            let deployed = production.recordTypes[name]!
            // Every container has the type of user records; a text need not name it.
            guard let type = recordTypes[name] else {
                problems.append("record type \(name) is in production and missing here")
                continue
            }
            for field in deployed.fields {
                guard let here = type.field(field.name) else {
                    problems.append("\(name).\(field.name) is in production and missing here")
                    continue
                }
                if !here.type.isSame(as: field.type) {
                    problems.append(
                        "\(name).\(field.name) is \(field.type.text) in production and \(here.type.text) here")
                }
            }
        }
        return problems
    }

    /// Production's schema after development's is deployed: types, fields and roles are added; types that development
    /// has get development's indexes and grants. Nothing is removed.
    ///
    /// Throws `invalidArguments`, naming the fields, when a field has different types in the two: data of both types
    /// rely on it.
    package func deploying(_ development: Schema) throws(ServiceError) -> Schema {
        var production = self
        for role in development.roles { production.addRole(role) }
        var conflicts: [String] = []
        for (name, type) in development.recordTypes {
            guard var deployed = recordTypes[name] else {
                production.put(type)
                continue
            }
            var added: [RecordTypeSchema.Field] = []
            for field in type.fields {
                if let known = deployed.field(field.name), !known.type.isSame(as: field.type) {
                    conflicts.append(
                        "\(name).\(field.name) is \(known.type.text) in production and \(field.type.text) in development"
                    )
                } else {
                    added.append(field)
                }
            }
            deployed.put(added)
            for field in SystemField.allCases { deployed.set(type.systemOptions[field] ?? [], of: field) }
            deployed.setGrants(type.grants)
            production.put(deployed)
        }
        guard conflicts.isEmpty else {
            let shown = conflicts.sorted().prefix(20).joined(separator: "; ")
            throw ServiceError(
                .invalidArguments,
                "the schema can't be deployed: \(shown); use another field in development, the one in production stays")
        }
        if let problem = production.limitProblem { throw ServiceError(.limitExceeded, problem) }
        return production
    }
}
