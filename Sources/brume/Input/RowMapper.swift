internal import BrumeModel

/// A row as the record that it becomes.
struct MappedRow: Equatable, Sendable {
    let line: Int
    let name: String
    let fields: [String: TypedValue]
    /// An estimate, rather too high, of the bytes that it takes in a request.
    let estimatedBytes: Int
}

/// Turns rows into records: names them, and reads their values by the types of their columns.
///
/// The name is the value of the name field, or `row-` and the row's number: the same file gives the same names again,
/// so that an interrupted import can simply be run again.
struct RowMapper {
    let nameField: String?
    /// The types of columns whose header names none.
    let columnTypes: [String: String]
    /// The line of each name so far: a name that occurs twice in a file would silently lose a row.
    private var lines: [String: Int] = [:]
    private var columns: [String: (key: String, type: String?)] = [:]

    init(nameField: String?, columnTypes: [String: String] = [:]) {
        self.nameField = nameField
        self.columnTypes = columnTypes
    }

    mutating func map(_ row: Row) throws(RowError) -> MappedRow {
        var fields: [String: TypedValue] = [:]
        var name: String?
        var bytes = 128
        for (column, json) in row.fields where json != .null {
            let (key, type) = try self.column(column, row: row)
            let value = try value(json, type: type, column: column, row: row)
            if key == nameField { name = try recordName(value, row: row) }
            guard fields.updateValue(value, forKey: key) == nil else {
                throw RowError(line: row.line, message: "the key \"\(key)\" stands twice in the row")
            }
            bytes += key.utf8.count + value.estimatedBytes + 12
        }
        return MappedRow(
            line: row.line, name: try uniqueName(name, row: row), fields: fields, estimatedBytes: bytes)
    }

    private mutating func column(_ column: String, row: Row) throws(RowError) -> (key: String, type: String?) {
        if let known = columns[column] { return known }
        let (key, written) = FieldArgument.keyAndType(column)
        let type = written ?? columnTypes[column]
        if let problem = Names.problemWithFieldKey(key) {
            throw RowError(line: row.line, message: "\"\(key)\" can't be a field: \(problem)")
        }
        // The objects of a file may have any number of keys, the columns of a table are few.
        if columns.count < Limits.fieldsPerRecord { columns[column] = (key, type) }
        return (key, type)
    }

    private func value(_ json: JSONValue, type: String?, column: String, row: Row) throws(RowError) -> TypedValue {
        do throws(ValueError) {
            if let type {
                let text: String
                switch json {
                case .string(let value): text = value
                default: text = json.line
                }
                return try TypedValue(text: text, type: type)
            }
            return try TypedValue(json: json)
        } catch {
            throw RowError(line: row.line, message: "\(column): \(error.message)")
        }
    }

    private func recordName(_ value: TypedValue, row: Row) throws(RowError) -> String {
        switch value {
        case .text(let text): return text
        case .int64(let number): return String(number)
        default:
            throw RowError(line: row.line, message: "\(nameField ?? ""): \(value.typeName) can't be a record's name")
        }
    }

    private mutating func uniqueName(_ name: String?, row: Row) throws(RowError) -> String {
        guard let nameField else { return "row-\(row.number)" }
        guard let name else { throw RowError(line: row.line, message: "the row has no \(nameField) to be named by") }
        if let problem = Names.problemWithRecordName(name) {
            throw RowError(line: row.line, message: "\(nameField): \(problem)")
        }
        if let line = lines[name] {
            throw RowError(line: row.line, message: "the name \"\(name)\" was used in line \(line) already")
        }
        lines[name] = row.line
        return name
    }
}
