/// Reads a file of rows in any of the forms that `brume import` takes.
enum RowReader {
    case csv(CSVReader)
    case json(JSONRowReader)

    /// Detects the form from the start of the file: JSON starts with a bracket or a brace, which no header of ours
    /// does.
    init(_ bytes: UnsafeRawBufferPointer) throws(RowError) {
        var cursor = ByteCursor(bytes)
        cursor.skipWhitespace()
        if cursor.peek == UInt8(ascii: "[") || cursor.peek == UInt8(ascii: "{") {
            self = .json(try JSONRowReader(bytes))
        } else {
            self = .csv(try CSVReader(bytes))
        }
    }

    /// Whether a value without a declared type is text.
    var isCSV: Bool {
        if case .csv = self { true } else { false }
    }

    /// The keys of a CSV file's columns; nil for JSON, where each row has its own.
    var keys: [String]? {
        if case .csv(let reader) = self { reader.header.map { FieldArgument.keyAndType($0).key } } else { nil }
    }

    /// Bytes read so far.
    var offset: Int {
        switch self {
        case .csv(let reader): reader.offset
        case .json(let reader): reader.offset
        }
    }

    /// The next row, or nil at the end. After an error it goes on with the next row if it can find it.
    mutating func next() throws(RowError) -> Row? {
        switch self {
        case .csv(var reader):
            defer { self = .csv(reader) }
            return try reader.next()
        case .json(var reader):
            defer { self = .json(reader) }
            return try reader.next()
        }
    }
}
