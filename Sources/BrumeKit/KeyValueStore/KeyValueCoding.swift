internal import Foundation

/// A property-list value as bytes, the content of a key's record.
///
/// ```
/// value   = version (1) node
/// node    = 0 false | 1 true | 2 int64 | 3 uint64 | 4 double | 5 date (double, seconds since 2001)
///         | 6 count string | 7 count data | 8 count node… | 9 count (count string, node)…
/// ```
/// Numbers are little-endian, counts have 32 bits, strings are UTF-8, and a dictionary's keys come sorted. A format of
/// its own: Foundation's property lists are read by code that trusts their nesting.
enum KeyValueCoding {
    private static let version: UInt8 = 1

    private enum Tag: UInt8 {
        case no, yes, integer, unsigned, real, date, string, data, array, dictionary
    }

    /// Nil: the value is none of a property list, or is nested too deeply.
    static func encode(_ value: Any) -> [UInt8]? {
        var bytes = [version]
        return encode(value, depth: 0, into: &bytes) ? bytes : nil
    }

    /// Nil: the bytes hold no value.
    static func decode(_ bytes: [UInt8]) -> Any? {
        guard bytes.first == version else { return nil }
        var reader = Reader(rest: bytes[1...])
        guard let value = reader.node(depth: 0), reader.rest.isEmpty else { return nil }
        return value
    }

    // MARK: Writing

    private static func encode(_ value: Any, depth: Int, into bytes: inout [UInt8]) -> Bool {
        guard depth <= KeyValueStoreLimits.nestingMax else { return false }
        func append(_ tag: Tag) { bytes.append(tag.rawValue) }
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        func append(counted content: some Collection<UInt8>) -> Bool {
            guard let count = UInt32(exactly: content.count) else { return false }
            append(count)
            bytes.append(contentsOf: content)
            return true
        }
        switch value {
        case let value as String:
            append(.string)
            return append(counted: value.utf8)
        case let value as Data:
            append(.data)
            return append(counted: value)
        case let value as Date:
            append(.date)
            append(value.timeIntervalSinceReferenceDate.bitPattern)
        case let value as [Any]:
            guard let count = UInt32(exactly: value.count) else { return false }
            append(.array)
            append(count)
            for element in value {
                guard encode(element, depth: depth + 1, into: &bytes) else { return false }
            }
        case let value as [String: Any]:
            guard let count = UInt32(exactly: value.count) else { return false }
            append(.dictionary)
            append(count)
            for (key, element) in value.sorted(by: { $0.key < $1.key }) {
                guard append(counted: key.utf8), encode(element, depth: depth + 1, into: &bytes) else { return false }
            }
        default:
            guard let number = number(value) else { return false }
            switch number {
            case .bool(let value): append(value ? .yes : .no)
            case .integer(let value):
                append(.integer)
                append(value)
            case .unsigned(let value):
                append(.unsigned)
                append(value)
            case .real(let value):
                append(.real)
                append(value.bitPattern)
            }
        }
        return true
    }

    private enum Number {
        case bool(Bool)
        case integer(Int64)
        case unsigned(UInt64)
        case real(Double)
    }

    private static func number(_ value: Any) -> Number? {
        // An NSNumber casts to each type that holds it, so it comes first.
        if let number = value as? NSNumber {
            switch UInt8(bitPattern: number.objCType.pointee) {
            case UInt8(ascii: "d"), UInt8(ascii: "f"): return .real(number.doubleValue)
            case UInt8(ascii: "B"),
                UInt8(ascii: "c") where value is Bool:
                return .bool(number.boolValue)
            case UInt8(ascii: "Q"), UInt8(ascii: "L"):
                return Int64(exactly: number.uint64Value).map { .integer($0) } ?? .unsigned(number.uint64Value)
            default: return .integer(number.int64Value)
            }
        }
        switch value {
        case let value as Bool: return .bool(value)
        case let value as any BinaryInteger:
            return Int64(exactly: value).map { .integer($0) } ?? UInt64(exactly: value).map { .unsigned($0) }
        case let value as Double: return .real(value)
        case let value as Float: return .real(Double(value))
        default: return nil
        }
    }

    // MARK: Reading

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func node(depth: Int) -> Any? {
            guard depth <= KeyValueStoreLimits.nestingMax, let tag = rest.popFirst().flatMap(Tag.init(rawValue:)) else {
                return nil
            }
            switch tag {
            case .no: return NSNumber(value: false)
            case .yes: return NSNumber(value: true)
            case .integer: return integer(Int64.self).map { NSNumber(value: $0) }
            case .unsigned: return integer(UInt64.self).map { NSNumber(value: $0) }
            case .real: return integer(UInt64.self).map { NSNumber(value: Double(bitPattern: $0)) }
            case .date:
                return integer(UInt64.self).map { Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0)) }
            case .string: return string()
            case .data: return counted().map { Data($0) }
            case .array:
                // Each element takes a byte at least, so that a count can't ask for more than there is.
                guard let count = integer(UInt32.self), Int(count) <= rest.count else { return nil }
                var elements: [Any] = []
                for _ in 0..<count {
                    guard let element = node(depth: depth + 1) else { return nil }
                    elements.append(element)
                }
                return elements
            case .dictionary:
                guard let count = integer(UInt32.self), Int(count) <= rest.count else { return nil }
                var elements: [String: Any] = [:]
                for _ in 0..<count {
                    guard let key = string(), let element = node(depth: depth + 1) else { return nil }
                    elements[key] = element
                }
                return elements
            }
        }

        private mutating func integer<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
            let count = MemoryLayout<Number>.size
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
        }

        private mutating func counted() -> ArraySlice<UInt8>? {
            guard let count = integer(UInt32.self), Int(count) <= rest.count else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return rest.prefix(Int(count))
        }

        private mutating func string() -> String? {
            counted().flatMap { String(validating: $0, as: UTF8.self) }
        }
    }
}
