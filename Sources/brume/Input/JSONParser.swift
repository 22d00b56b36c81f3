/// Reads JSON (RFC 8259) value by value, so that a file of a million rows is never in memory as a whole.
struct JSONParser {
    /// Deeper nesting is refused: the parser calls itself.
    static let depthLimit = 64

    var cursor: ByteCursor

    init(_ bytes: UnsafeRawBufferPointer) {
        cursor = ByteCursor(bytes)
    }

    /// The only value in `text`.
    static func value(of text: String) throws(RowError) -> JSONValue {
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBytes { bytes -> Result<JSONValue, RowError> in
            Result { () throws(RowError) -> JSONValue in
                var parser = JSONParser(bytes)
                let value = try parser.value()
                parser.cursor.skipWhitespace()
                guard parser.cursor.peek == nil else { throw parser.error("there is more text behind the JSON value") }
                return value
            }
        }
        return try result.get()
    }

    mutating func value(depth: Int = 0) throws(RowError) -> JSONValue {
        guard depth < Self.depthLimit else { throw error("the JSON is nested deeper than \(Self.depthLimit) levels") }
        cursor.skipWhitespace()
        switch cursor.peek {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw error("the JSON ends where a value is expected")
        default: return try number()
        }
    }

    func error(_ message: String) -> RowError { RowError(line: cursor.line, message: message) }

    private mutating func object(depth: Int) throws(RowError) -> JSONValue {
        _ = cursor.next()
        var members: [(key: String, value: JSONValue)] = []
        cursor.skipWhitespace()
        if take("}") { return .object([]) }
        repeat {
            cursor.skipWhitespace()
            guard cursor.peek == UInt8(ascii: "\"") else { throw error("a key in double quotes is expected") }
            let key = try string()
            cursor.skipWhitespace()
            guard take(":") else { throw error("a colon is expected behind the key \"\(key)\"") }
            members.append((key, try value(depth: depth + 1)))
            cursor.skipWhitespace()
        } while take(",")
        guard take("}") else { throw error("a comma or the end of the object is expected") }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(RowError) -> JSONValue {
        _ = cursor.next()
        var elements: [JSONValue] = []
        cursor.skipWhitespace()
        if take("]") { return .array([]) }
        repeat {
            elements.append(try value(depth: depth + 1))
            cursor.skipWhitespace()
        } while take(",")
        guard take("]") else { throw error("a comma or the end of the list is expected") }
        return .array(elements)
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard cursor.peek == UInt8(ascii: character) else { return false }
        _ = cursor.next()
        return true
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(RowError) -> JSONValue {
        for index in 0..<word.utf8CodeUnitCount where cursor.next() != word.utf8Start[index] {
            throw error("this is no JSON value")
        }
        return value
    }

    private mutating func number() throws(RowError) -> JSONValue {
        let start = cursor.offset
        var isWhole = true
        while let byte = cursor.peek {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"): break
            case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): isWhole = false
            default: return try number(start, isWhole: isWhole)
            }
            _ = cursor.next()
        }
        return try number(start, isWhole: isWhole)
    }

    private func number(_ start: Int, isWhole: Bool) throws(RowError) -> JSONValue {
        let text = String(decoding: cursor.bytes[start..<cursor.offset], as: UTF8.self)
        let digits = Array(text.utf8.drop { $0 == UInt8(ascii: "-") })
        let startsWithDigit = digits.first.map { (0x30...0x39).contains($0) } ?? false
        let hasLeadingZero = digits.count > 1 && digits[0] == 0x30 && (0x30...0x39).contains(digits[1])
        guard startsWithDigit, !hasLeadingZero, digits.last.map({ (0x30...0x39).contains($0) }) == true else {
            throw error(text.isEmpty ? "this is no JSON value" : "\"\(text)\" is no JSON number")
        }
        if isWhole, let value = Int64(text) { return .integer(value) }
        guard let value = Double(text), value.isFinite else {
            throw error("\"\(text)\" is no number that fits 64 bits")
        }
        return .number(value)
    }

    private mutating func string() throws(RowError) -> String {
        _ = cursor.next()
        var bytes: [UInt8] = []
        while let byte = cursor.next() {
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: bytes, as: UTF8.self) else { throw error("the text is not UTF-8") }
                return text
            case UInt8(ascii: "\\"): try escape(into: &bytes)
            case 0..<0x20: throw error("a control character stands in a JSON text; write it as \\u00XX")
            default: bytes.append(byte)
            }
        }
        throw error("a JSON text has no closing quote")
    }

    private mutating func escape(into bytes: inout [UInt8]) throws(RowError) {
        switch cursor.next() {
        case UInt8(ascii: "\""): bytes.append(0x22)
        case UInt8(ascii: "\\"): bytes.append(0x5C)
        case UInt8(ascii: "/"): bytes.append(0x2F)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = try hexadecimal()
            if (0xD800..<0xDC00).contains(scalar) {
                guard take("\\"), take("u") else { throw error("half a surrogate pair stands in a JSON text") }
                let low = try hexadecimal()
                guard (0xDC00..<0xE000).contains(low) else {
                    throw error("half a surrogate pair stands in a JSON text")
                }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(scalar) else {
                throw error("half a surrogate pair stands in a JSON text")
            }
            bytes += UTF8.encode(scalar)!
        default: throw error("there is no such escape in a JSON text")
        }
    }

    private mutating func hexadecimal() throws(RowError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = cursor.next(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error("\\u needs four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
