/// The container and environment of a schema, and the rules there: what checks and their messages need beside the
/// schema.
package struct SchemaPlace: Hashable, Sendable {
    package let container: String
    package let environment: Environment
    /// Whether CloudKit's own rules apply where Brume's are milder: system fields of learned types then have no index
    /// in development.
    package let isStrict: Bool
    /// Whether the caller may teach development's schema.
    package let isTeacher: Bool

    package init(container: String, environment: Environment, isStrict: Bool = false, isTeacher: Bool = true) {
        self.container = container
        self.environment = environment
        self.isStrict = isStrict
        self.isTeacher = isTeacher
    }

    /// Whether saves teach the schema.
    package var learns: Bool { environment == .development && isTeacher }

    /// Whether queries may use system fields without an index.
    package var allowsSystemFields: Bool { environment == .development && !isStrict }

    /// Such as "the development schema of iCloud.com.example".
    package var name: String { "the \(environmentName) schema of \(container)" }

    package var environmentName: String { environment.name }

    /// What the operator has to do so that the schema has what is missing. `what` names the change in development's
    /// schema, which may have it already.
    package func remedy(_ what: String) -> String {
        let file = "`brume schema import --container \(container) --file FILE`"
        return environment == .production
            ? "\(what) in development (\(file)) if it isn't there yet, then run `brume schema deploy --container \(container)`"
            : "\(what) in the schema file and run \(file)"
    }
}
