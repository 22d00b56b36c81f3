/// One row of an imported file.
struct Row: Equatable, Sendable {
    /// The line on which it starts, counted from 1.
    let line: Int
    /// The number of the row, counted from 1, without the header.
    let number: Int
    let fields: [(key: String, value: JSONValue)]

    static func == (left: Row, right: Row) -> Bool {
        left.line == right.line && left.number == right.number && JSONValue.object(left.fields) == .object(right.fields)
    }
}
