/// Reads CSV (RFC 4180): a header, then one row per line. Quoted fields may hold commas, doubled quotes and line
/// breaks; lines end in LF or CRLF; a byte order mark and empty lines are skipped.
struct CSVReader {
    /// The largest row in bytes: a record holds no more, and a missing quote should not swallow the rest of a file.
    static let rowBytesLimit = 2_000_000

    private var cursor: ByteCursor
    private(set) var header: [String] = []
    private var number = 0

    init(_ bytes: UnsafeRawBufferPointer) throws(RowError) {
        cursor = ByteCursor(bytes)
        guard let names = try cells() else {
            throw RowError(line: 1, message: "the file is empty; its first line names the columns")
        }
        for name in names {
            if name.isEmpty { throw RowError(line: 1, message: "a column has no name") }
            if header.contains(name) { throw RowError(line: 1, message: "two columns have the name \"\(name)\"") }
            header.append(name)
        }
    }

    var offset: Int { cursor.offset }

    /// The next row, or nil at the end. After an error the reader goes on with the next line.
    mutating func next() throws(RowError) -> Row? {
        let (line, cells) = try lineAndCells()
        guard let cells else { return nil }
        number += 1
        guard cells.count == header.count else {
            throw RowError(line: line, message: "the row has \(cells.count) columns, the header has \(header.count)")
        }
        // An empty cell is no value, as an absent key is in JSON.
        let fields = zip(header, cells).filter { !$1.isEmpty }.map { (key: $0, value: JSONValue.string($1)) }
        return Row(line: line, number: number, fields: fields)
    }

    private mutating func lineAndCells() throws(RowError) -> (Int, [String]?) {
        while let byte = cursor.peek, byte == 0x0A || byte == 0x0D { _ = cursor.next() }
        let line = cursor.line
        return (line, try cells())
    }

    private mutating func cells() throws(RowError) -> [String]? {
        guard cursor.peek != nil else { return nil }
        let line = cursor.line
        let start = cursor.offset
        var cells: [String] = []
        var cell: [UInt8] = []
        var isAtStartOfCell = true
        while true {
            if isAtStartOfCell, cursor.peek == UInt8(ascii: "\"") {
                try quoted(into: &cell, line: line, start: start)
                if let byte = cursor.peek, byte != 0x2C, byte != 0x0A, byte != 0x0D {
                    cursor.skipLine()
                    throw RowError(line: line, message: "text stands behind a closing quote")
                }
            }
            let byte = cursor.next()
            isAtStartOfCell = byte == UInt8(ascii: ",")
            switch byte {
            case UInt8(ascii: ","):
                cells.append(try text(&cell, line: line))
            case nil, 0x0A:
                cells.append(try text(&cell, line: line))
                return cells
            case 0x0D where cursor.peek == 0x0A: break
            case UInt8(ascii: "\""):
                cursor.skipLine()
                throw RowError(
                    line: line,
                    message: "a quote stands inside of an unquoted field; quote the field and double the quote")
            case let byte?:
                if cursor.offset - start > Self.rowBytesLimit { throw tooLong(line) }
                cell.append(byte)
            }
        }
    }

    private mutating func quoted(into cell: inout [UInt8], line: Int, start: Int) throws(RowError) {
        _ = cursor.next()
        while let byte = cursor.next() {
            if cursor.offset - start > Self.rowBytesLimit { throw tooLong(line) }
            if byte != UInt8(ascii: "\"") {
                cell.append(byte)
            } else if cursor.peek == UInt8(ascii: "\"") {
                cell.append(byte)
                _ = cursor.next()
            } else {
                return
            }
        }
        throw RowError(line: line, message: "a quoted field that starts in this row has no closing quote")
    }

    private func tooLong(_ line: Int) -> RowError {
        RowError(line: line, message: "the row is longer than \(Self.rowBytesLimit) bytes; is a quote missing?")
    }

    private func text(_ cell: inout [UInt8], line: Int) throws(RowError) -> String {
        defer { cell.removeAll(keepingCapacity: true) }
        guard let text = String(validating: cell, as: UTF8.self) else {
            throw RowError(line: line, message: "a field is not UTF-8; convert the file first")
        }
        return text
    }
}
