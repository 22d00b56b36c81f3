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
    /// The app's fields, sorted by name: saves bring their fields in the same order.
    package private(set) var fields: [Field]
    /// Options of system fields; those without any are left out.
    package private(set) var systemOptions: [SystemField: IndexOptions]
    /// What roles may do in the public database; a role without permissions is left out. What is not granted is not
    /// allowed.
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

    /// Adds fields, in any order and each name once. One takes the place of another of its name.
    ///
    /// - Complexity: O(fields of the type + n log n) for n new ones.
    package mutating func put(_ newFields: [Field]) {
        let added = newFields.sorted { $0.name < $1.name }
        if added.isEmpty { return }
        var merged: [Field] = []
        merged.reserveCapacity(fields.count + added.count)
        var next = 0
        for field in fields {
            while next < added.count, added[next].name < field.name {
                merged.append(added[next])
                next += 1
            }
            if next < added.count, added[next].name == field.name {
                merged.append(added[next])
                next += 1
            } else {
                merged.append(field)
            }
        }
        merged += added[next...]
        fields = merged
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

    /// The field's index, or the index at which it would be inserted.
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
