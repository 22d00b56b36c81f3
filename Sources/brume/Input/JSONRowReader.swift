/// Reads rows from a JSON array of objects, or from one JSON object a line (JSON lines).
struct JSONRowReader {
    private enum Layout { case array, lines }

    private var parser: JSONParser
    private let layout: Layout
    private var number = 0
    private var ended = false

    init(_ bytes: UnsafeRawBufferPointer) throws(RowError) {
        parser = JSONParser(bytes)
        parser.cursor.skipWhitespace()
        switch parser.cursor.peek {
        case UInt8(ascii: "["):
            _ = parser.cursor.next()
            layout = .array
        case UInt8(ascii: "{"): layout = .lines
        case nil: throw parser.error("the file is empty")
        default: throw parser.error("the file is neither a JSON array nor JSON objects line by line")
        }
    }

    var offset: Int { parser.cursor.offset }

    /// Whether nothing can be read after an error: in an array the start of the next row is unknown.
    private(set) var isBroken = false

    /// The next row, or nil at the end. After an error in JSON lines the reader goes on with the next line.
    mutating func next() throws(RowError) -> Row? {
        if ended { return nil }
        parser.cursor.skipWhitespace()
        switch layout {
        case .array:
            if try endOfArray() { return nil }
        case .lines:
            if parser.cursor.peek == nil { return nil }
        }
        parser.cursor.skipWhitespace()
        let line = parser.cursor.line
        number += 1
        let value: JSONValue
        do throws(RowError) {
            value = try parser.value()
        } catch {
            recover(from: line)
            throw error
        }
        guard case .object(let members) = value else {
            throw RowError(line: line, message: "the row is \(value.kind), not an object")
        }
        return Row(line: line, number: number, fields: members)
    }

    private mutating func endOfArray() throws(RowError) -> Bool {
        if parser.take("]") {
            ended = true
            parser.cursor.skipWhitespace()
            guard parser.cursor.peek == nil else { throw parser.error("there is more text behind the JSON array") }
            return true
        }
        if number > 0 {
            guard parser.take(",") else {
                ended = true
                isBroken = true
                throw parser.error("a comma or the end of the list is expected")
            }
        }
        return false
    }

    private mutating func recover(from line: Int) {
        if layout == .array {
            ended = true
            isBroken = true
        } else if parser.cursor.line == line {
            parser.cursor.skipLine()
        }
    }
}
