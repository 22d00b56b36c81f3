/// What tells one schema from another, in the order of names: what a person looks at before a deployment.
package struct SchemaDifference: Equatable, Sendable {
    /// One line of a preview.
    package struct Change: Equatable, Sendable {
        package enum Kind: String, Sendable {
            case addition = "+"
            case removal = "-"
            case change = "~"
        }

        package let kind: Kind
        /// `role Editor`, `record type Note` or `Note.title`.
        package let subject: String
        package let detail: String

        package var line: String {
            detail.isEmpty ? "\(kind.rawValue) \(subject)" : "\(kind.rawValue) \(subject): \(detail)"
        }
    }

    package private(set) var changes: [Change] = []

    package var isEmpty: Bool { changes.isEmpty }

    package init(from old: Schema, to new: Schema) {
        for role in old.roles.union(new.roles).sorted() where old.roles.contains(role) != new.roles.contains(role) {
            add(new.roles.contains(role) ? .addition : .removal, "role \(role)", "")
        }
        for name in Set(old.recordTypes.keys).union(new.recordTypes.keys).sorted() {
            compare(old.recordTypes[name], new.recordTypes[name], name)
        }
    }

    private mutating func compare(_ old: RecordTypeSchema?, _ new: RecordTypeSchema?, _ name: String) {
        if old == new { return }
        guard let new else {
            let count = old?.fields.count ?? 0
            return add(.removal, "record type \(name)", count == 1 ? "with 1 field" : "with \(count) fields")
        }
        guard let old else { return add(new, name) }
        for field in SystemField.allCases {
            let (before, after) = (old.systemOptions[field] ?? [], new.systemOptions[field] ?? [])
            if before != after { add(.change, "\(name).\(field.name)", Self.arrow(before.text, after.text)) }
        }
        let names = Set(old.fields.map(\.name)).union(new.fields.map(\.name))
        for field in names.sorted() {
            compare(old.field(field), new.field(field), "\(name).\(field)")
        }
        for role in Set(old.grants.keys).union(new.grants.keys).sorted() {
            let (before, after) = (old.grants[role] ?? [], new.grants[role] ?? [])
            if before != after { add(.change, "\(name) grants to \(role)", Self.arrow(before.text, after.text)) }
        }
    }

    /// A type that is new: its fields, then what of its system fields is indexed, and its grants, each in one line.
    private mutating func add(_ type: RecordTypeSchema, _ name: String) {
        add(.addition, "record type \(name)", "")
        for field in type.fields.sorted(by: { $0.name < $1.name }) {
            add(.addition, "\(name).\(field.name)", Self.definition(field))
        }
        let indexed = SystemField.allCases.compactMap { field -> String? in
            let options = type.systemOptions[field] ?? []
            return options.isEmpty ? nil : "\(field.name) \(options.text)"
        }
        if !indexed.isEmpty { add(.addition, "\(name) indexes", indexed.joined(separator: ", ")) }
        let grants = type.grants.sorted { $0.key < $1.key }.filter { !$0.value.isEmpty }
        if !grants.isEmpty {
            add(.addition, "\(name) grants", grants.map { "\($0.value.text) to \($0.key)" }.joined(separator: ", "))
        }
    }

    private mutating func compare(
        _ old: RecordTypeSchema.Field?, _ new: RecordTypeSchema.Field?, _ subject: String
    ) {
        if old == new { return }
        guard let old else { return add(.addition, subject, Self.definition(new!)) }
        guard let new else { return add(.removal, subject, Self.definition(old)) }
        add(.change, subject, Self.arrow(Self.definition(old), Self.definition(new)))
    }

    private mutating func add(_ kind: Change.Kind, _ subject: String, _ detail: String) {
        changes.append(Change(kind: kind, subject: subject, detail: detail))
    }

    private static func definition(_ field: RecordTypeSchema.Field) -> String {
        field.options.isEmpty ? field.type.text : "\(field.type.text) \(field.options.text)"
    }

    private static func arrow(_ before: String, _ after: String) -> String {
        "\(before.isEmpty ? "none" : before) -> \(after.isEmpty ? "none" : after)"
    }
}
