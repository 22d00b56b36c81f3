package import BrumeModel
internal import BrumeStore

/// What the operator does with a container's schemas.
extension ContainerSchemas {
    /// Replaces development's schema, unless production would lose something: what is deployed later may only add to
    /// what production has.
    package mutating func importSchema(_ schema: Schema, validatesOnly: Bool) throws(ServiceError) {
        let problems = schema.problems(following: production.schema)
        guard problems.isEmpty else {
            let shown = problems.prefix(20).joined(separator: "; ")
            throw ServiceError(
                .invalidArguments, "the schema does not follow production's and nothing changed: \(shown)")
        }
        if !validatesOnly { development.replaceSchema(with: schema) }
    }

    /// Adds development's schema to production's.
    ///
    /// - Parameter fingerprint: The fingerprint of the development schema that was looked at; another schema is not
    ///   deployed.
    package mutating func deploy(fingerprint: UInt32) throws(ServiceError) {
        guard development.schema.fingerprint == fingerprint else {
            throw ServiceError(
                .serverRejectedRequest, "the development schema has changed since it was looked at; look again")
        }
        production.schema = try production.schema.deploying(development.schema)
    }

    /// Makes development's schema the same as production's again.
    mutating func resetDevelopment() { development.replaceSchema(with: production.schema) }
}

extension Schema {
    /// A checksum that tells a schema from a later one.
    package var fingerprint: UInt32 { CRC32C.checksum(Array(SchemaPrinter.text(self).utf8)) }
}
