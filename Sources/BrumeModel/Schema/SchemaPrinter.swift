/// Writes a schema in the language of `.ckdb` files, in the form of CloudKit's exporter: upper case, sorted, system
/// fields listed, columns aligned.
package enum SchemaPrinter {
    /// Equal schemas give equal texts, so that a checked-in file changes only when the schema does.
    package static func text(_ schema: Schema) -> String {
        var text = "DEFINE SCHEMA\n"
        let roles = schema.roles.sorted()
        if !roles.isEmpty {
            text += "\n"
            for role in roles { text += "    CREATE ROLE \(quoted(role));\n" }
        }
        for name in schema.recordTypes.keys.sorted() {
            text += "\n"
            append(schema.recordTypes[name]!, to: &text)
        }
        return text
    }

    private static func append(_ type: RecordTypeSchema, to text: inout String) {
        var rows: [(name: String, definition: String)] = SystemField.allCases.map { field in
            (quoted(field.name), definition(field.type, type.systemOptions[field] ?? []))
        }
        rows += type.fields.map { (quoted($0.name), definition($0.type, $0.options)) }
        let width = rows.reduce(0) { max($0, $1.name.utf8.count) }
        var items = rows.map { row in
            row.name + String(repeating: " ", count: width - row.name.utf8.count + 1) + row.definition
        }
        for role in type.grants.keys.sorted() {
            items.append("GRANT \(type.grants[role]!.text) TO \(quoted(role))")
        }
        text += "    RECORD TYPE \(quoted(type.name)) (\n        "
        text += items.joined(separator: ",\n        ")
        text += "\n    );\n"
    }

    private static func definition(_ type: SchemaFieldType, _ options: IndexOptions) -> String {
        options.isEmpty ? type.text : type.text + " " + options.text
    }

    /// A field as the language defines it, for messages.
    package static func text(_ field: RecordTypeSchema.Field) -> String {
        "\(quoted(field.name)) \(definition(field.type, field.options))"
    }

    static func quoted(_ name: String) -> String {
        name.hasPrefix("_") || name.utf8.contains(UInt8(ascii: ".")) || isReserved(name) ? "\"\(name)\"" : name
    }

    /// Whether a word is a name only in quotes.
    static func isReserved(_ word: String) -> Bool {
        switch word.uppercased() {
        case "GRANT", "PREFERRED", "QUERYABLE", "SORTABLE", "SEARCHABLE": true
        default: false
        }
    }
}
