/// Whose schema it is, and what its rules are there: what checks and their messages need beside the schema.
package struct SchemaPlace: Hashable, Sendable {
    package let container: String
    package let environment: Environment
    /// CloudKit's own rules where Brume's are milder: system fields of learned types have no index in development.
    package let isStrict: Bool
    /// Whether who asks may teach development's schema.
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

    package var environmentName: String { environment == .production ? "production" : "development" }

    /// What to do for a schema that has to know something that development knows already, or is to know.
    package func remedy(_ what: String) -> String {
        let file = "`brume schema import --container \(container) --file FILE`"
        return environment == .production
            ? "\(what) in development (\(file)) if it isn't there yet, then run `brume schema deploy --container \(container)`"
            : "\(what) in the schema file and run \(file)"
    }
}
