/// One record type of a schema.
package struct RecordTypeSchema: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package let name: String
        package var type: SchemaFieldType
        package var options: IndexOptions

        package init(_ name: String, _ type: SchemaFieldType, _ options: IndexOptions = []) {
            self.name = name
            self.type = type
            self.options = options
        }
    }

    package let name: String
    /// Of the app, by name: saves bring theirs in the same order.
    package private(set) var fields: [Field]
    /// Options of system fields; those without any are left out.
    package private(set) var systemOptions: [SystemField: IndexOptions]
    /// What roles may do in the public database; a role without permissions is left out. Nobody may do what is not granted.
    package private(set) var grants: [String: Permissions]

    /// Fields may come in any order, each name once.
    package init(
        _ name: String, fields: [Field] = [], grants: [String: Permissions] = [:],
        systemOptions: [SystemField: IndexOptions] = [:]
    ) {
        self.name = name
        self.fields = fields.sorted { $0.name < $1.name }
        self.grants = grants.filter { !$0.value.isEmpty }
        self.systemOptions = systemOptions.filter { !$0.value.isEmpty }
    }

    /// The field of that name.
    ///
    /// - Complexity: O(log fields).
    package func field(_ name: String) -> Field? {
        let index = index(of: name)
        return index < fields.count && fields[index].name == name ? fields[index] : nil
    }

    /// Adds a field, or takes the place of the one of its name.
    package mutating func put(_ field: Field) {
        let index = index(of: field.name)
        if index < fields.count, fields[index].name == field.name {
            fields[index] = field
        } else {
            fields.insert(field, at: index)
        }
    }

    package mutating func set(_ options: IndexOptions, of field: SystemField) {
        systemOptions[field] = options.isEmpty ? nil : options
    }

    package mutating func set(_ permissions: Permissions, of role: String) {
        grants[role] = permissions.isEmpty ? nil : permissions
    }

    package mutating func setGrants(_ grants: [String: Permissions]) {
        self.grants = grants.filter { !$0.value.isEmpty }
    }

    /// Where the field stands, or belongs.
    private func index(of name: String) -> Int {
        var low = 0
        var high = fields.count
        while low < high {
            let middle = (low + high) / 2
            if fields[middle].name < name { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The names of the fields that full text looks into.
    package var searchableFields: [String] {
        fields.filter { $0.options.contains(.searchable) }.map(\.name)
    }
}
