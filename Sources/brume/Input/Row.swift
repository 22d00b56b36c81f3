/// One row of an imported file.
struct Row: Equatable, Sendable {
    /// Where it starts in the file, counted from 1.
    let line: Int
    /// Counted from 1, without a header.
    let number: Int
    let fields: [(key: String, value: JSONValue)]

    static func == (left: Row, right: Row) -> Bool {
        left.line == right.line && left.number == right.number && JSONValue.object(left.fields) == .object(right.fields)
    }
}
