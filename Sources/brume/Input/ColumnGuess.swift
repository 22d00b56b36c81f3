internal import Foundation

/// The type that fits all values of a column seen so far. When in doubt it is text: a number loses what a text keeps.
struct ColumnGuess: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        /// No value was seen.
        case nothing
        case int64
        case double
        case date
        case bool
        case text
    }

    /// Why a column that looks numeric is text.
    enum Doubt: Equatable, Sendable {
        /// A value such as 007, or a postcode: as a number it would be a different value.
        case leadingZero
        /// A whole number that 64 bits don't hold, or that would be rounded in a column of doubles.
        case tooLarge
    }

    private(set) var kind = Kind.nothing
    private(set) var doubt: Doubt?
    /// The largest absolute value of the whole numbers: a column that becomes one of doubles has to hold them exactly.
    private var magnitude: UInt64 = 0

    /// Below it a double holds every whole number.
    private static let exactInDouble: UInt64 = 1 << 53

    /// Adds one more value. An empty cell does not count.
    mutating func add(_ text: String) {
        if text.isEmpty || (kind == .text && doubt == nil) { return }
        let value = Self.kind(of: text)
        let isNumber = value.kind == .int64 || value.kind == .double
        magnitude = max(magnitude, value.magnitude)
        // A column in doubt would be numeric otherwise; any other kind of value makes it plain text.
        let looksNumeric = kind == .int64 || kind == .double || doubt != nil || kind == .nothing
        if let doubt = value.doubt {
            self.doubt = looksNumeric ? self.doubt ?? doubt : nil
            kind = .text
            return
        }
        switch (kind, value.kind) {
        case (.text, _): if !isNumber { doubt = nil }
        case (.nothing, let new): kind = new
        case (let old, let new) where old == new: break
        case (.int64, .double), (.double, .int64): kind = .double
        default: kind = .text
        }
        if kind == .double, magnitude > Self.exactInDouble {
            kind = .text
            doubt = .tooLarge
        }
    }

    private static func kind(of text: String) -> (kind: Kind, magnitude: UInt64, doubt: Doubt?) {
        if Self.isBool(text) { return (.bool, 0, nil) }
        if let number = NumberText(text) {
            if number.hasLeadingZero { return (.text, 0, .leadingZero) }
            if number.isWhole {
                guard let value = Int64(text) else { return (.text, 0, .tooLarge) }
                return (.int64, value.magnitude, nil)
            }
            guard let value = Double(text), value.isFinite else { return (.text, 0, .tooLarge) }
            return (.double, 0, nil)
        }
        return (isDate(text) ? .date : .text, 0, nil)
    }

    static func isBool(_ text: String) -> Bool {
        switch text {
        case "true", "false", "TRUE", "FALSE", "True", "False": true
        default: false
        }
    }

    /// Whether a text is a day, or a day and a time with its offset from UTC, in ISO 8601. Forms that only lenient
    /// readers accept are not dates.
    static func isDate(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        // 2026-01-02, 2026-01-02T03:04:05Z, …05.678+01:00: a day and 'T', the time of whole seconds, a fraction, the
        // zone.
        guard matches(bytes.prefix(10), "dddd-dd-dd"), bytes.count == 10 || matches(bytes[10...].prefix(9), "Tdd:dd:dd")
        else { return false }
        if bytes.count > 10 {
            var zone = bytes[19...]
            if zone.first == UInt8(ascii: ".") {
                let digits = zone.dropFirst().prefix { isDigit($0) }
                guard (1...9).contains(digits.count) else { return false }
                zone = zone.dropFirst(1 + digits.count)
            }
            guard ["Z", "+dd:dd", "-dd:dd", "+dddd", "-dddd"].contains(where: { matches(zone, $0) }) else {
                return false
            }
        }
        // Days that the calendar does not have, and times that no day has, would be read as other ones.
        let day = String(decoding: bytes[..<10], as: UTF8.self)
        guard let date = TypedValue.date(day), TypedValue.text(of: date).hasPrefix(day) else { return false }
        guard bytes.count > 10 else { return true }
        func number(at index: Int) -> UInt8 { (bytes[index] - 0x30) * 10 + bytes[index + 1] - 0x30 }
        return number(at: 11) < 24 && number(at: 14) < 60 && number(at: 17) < 60 && TypedValue.date(text) != nil
    }

    /// Whether the bytes are those of the pattern, in which `d` is any digit.
    private static func matches(_ bytes: ArraySlice<UInt8>, _ pattern: String) -> Bool {
        bytes.count == pattern.utf8.count
            && zip(bytes, pattern.utf8).allSatisfy { $1 == UInt8(ascii: "d") ? isDigit($0) : $0 == $1 }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// A text in the form of a number: no spaces, no plus sign in front, no thousands separators.
    private struct NumberText {
        let isWhole: Bool
        let hasLeadingZero: Bool

        init?(_ text: String) {
            var rest = Substring(text).utf8[...]
            func digits() -> Int {
                let count = rest.prefix { ColumnGuess.isDigit($0) }.count
                rest = rest.dropFirst(count)
                return count
            }
            let isNegative = rest.first == UInt8(ascii: "-")
            if isNegative { rest = rest.dropFirst() }
            let startsWithZero = rest.first == UInt8(ascii: "0")
            let whole = digits()
            guard whole > 0 else { return nil }
            hasLeadingZero = startsWithZero && whole > 1
            var hasFraction = false
            if rest.first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
                guard digits() > 0 else { return nil }
                hasFraction = true
            }
            var hasExponent = false
            if let byte = rest.first, byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
                rest = rest.dropFirst()
                let isSigned = rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+")
                if isSigned { rest = rest.dropFirst() }
                // A text such as 12E4 is more likely a code.
                guard hasFraction || isSigned, digits() > 0 else { return nil }
                hasExponent = true
            }
            guard rest.isEmpty else { return nil }
            // Minus zero would lose its sign as a whole number.
            isWhole = !hasFraction && !hasExponent && !(isNegative && startsWithZero && whole == 1)
        }
    }
}
