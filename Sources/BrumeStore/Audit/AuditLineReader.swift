internal import BrumeModel

/// Reads the parts of a line of the audit log, one after the other.
struct AuditLineReader {
    private var rest: ArraySlice<UInt8>

    init(_ line: [UInt8]) { rest = line[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Takes a text that comes next; returns false, and takes nothing, where another one does.
    mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        let digits = rest.prefix { $0 == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest.dropFirst(digits.count)
        return Value(String(decoding: digits, as: UTF8.self))
    }

    mutating func hexadecimal(count: Int) -> [UInt8]? {
        let digits = rest.prefix(2 * count)
        rest = rest.dropFirst(digits.count)
        return [UInt8](hexadecimal: String(decoding: digits, as: UTF8.self)).flatMap { $0.count == count ? $0 : nil }
    }

    /// A string with its quotes. Of the escapes of JSON `\u` alone is ever written.
    mutating func string() -> String? {
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return String(validating: text, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard take("u"), let value = UInt32(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16),
                let scalar = Unicode.Scalar(value)
            else { return nil }
            rest = rest.dropFirst(4)
            text.append(contentsOf: Array(String(Character(scalar)).utf8))
        }
        return nil
    }
}
