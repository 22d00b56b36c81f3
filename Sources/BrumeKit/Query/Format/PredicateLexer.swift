/// Cuts a predicate's text into tokens, one at a time. Reads each byte once.
struct PredicateLexer {
    /// Bytes of a predicate's text: far beyond what a server takes, and read within milliseconds.
    static let textBytesLimit = 1_048_576

    let text: [UInt8]
    private var position = 0
    /// A string had what looks like a placeholder in it, which explains an argument too many.
    private(set) var hasPlaceholderInString = false

    init(_ format: String) throws(PredicateFormatError) {
        text = Array(format.utf8)
        if text.count > Self.textBytesLimit {
            throw PredicateFormatError(
                "the text has \(text.count) bytes; the limit is \(Self.textBytesLimit): pass long lists with IN %@",
                at: Self.textBytesLimit, in: text)
        }
    }

    static func startsName(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    static func continuesName(_ byte: UInt8) -> Bool {
        startsName(byte) || isDigit(byte)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte)
    }

    func error(_ problem: String, at offset: Int) -> PredicateFormatError {
        PredicateFormatError(problem, at: offset, in: text)
    }

    mutating func next() throws(PredicateFormatError) -> PredicateToken {
        while let byte = peek(), byte == 0x20 || (0x09...0x0D).contains(byte) { position += 1 }
        let start = position
        return PredicateToken(kind: try kind(), offset: start)
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        position + distance < text.count ? text[position + distance] : nil
    }

    private mutating func kind() throws(PredicateFormatError) -> PredicateToken.Kind {
        guard let byte = peek() else { return .end }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try string(quote: byte))
        case UInt8(ascii: "%"): return .placeholder(try placeholder())
        case UInt8(ascii: "$"):
            position += 1
            return .variable(try name("a variable's name"))
        case UInt8(ascii: "#"):
            position += 1
            return .escapedName(try path())
        case UInt8(ascii: "-") where peek(1).map(Self.startsNumber) == true: return try number()
        case _ where Self.startsNumber(byte): return try number()
        case _ where Self.startsName(byte): return .name(try path())
        default: return .symbol(try symbol(byte))
        }
    }

    private static func startsNumber(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: ".")
    }

    // MARK: Names

    private mutating func name(_ kind: String) throws(PredicateFormatError) -> String {
        let start = position
        guard let first = peek(), Self.startsName(first) else {
            throw error("expected \(kind), which starts with a letter", at: start)
        }
        while let byte = peek(), Self.continuesName(byte) { position += 1 }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    /// A name, names with dots between them, or a function's name with colons.
    private mutating func path() throws(PredicateFormatError) -> String {
        let start = position
        _ = try name("a key")
        while let byte = peek() {
            if byte == UInt8(ascii: ":") {
                position += 1
                while let byte = peek(), Self.continuesName(byte) { position += 1 }
            } else if byte == UInt8(ascii: ".") {
                position += 1
                if peek() == UInt8(ascii: "@") { position += 1 }
                _ = try name("a key behind the dot")
            } else {
                break
            }
        }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    // MARK: Strings

    private mutating func string(quote: UInt8) throws(PredicateFormatError) -> String {
        let start = position
        position += 1
        var bytes: [UInt8] = []
        while let byte = peek() {
            position += 1
            switch byte {
            case quote: return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &bytes)
            case UInt8(ascii: "%"):
                if let following = peek(), following == UInt8(ascii: "@") || following == UInt8(ascii: "K") {
                    hasPlaceholderInString = true
                }
                bytes.append(byte)
            default: bytes.append(byte)
            }
        }
        throw error("this string has no closing quotation mark", at: start)
    }

    private mutating func escape(into bytes: inout [UInt8]) throws(PredicateFormatError) {
        guard let byte = peek() else { return }
        position += 1
        switch byte {
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "u"): try unicodeEscape(into: &bytes)
        default: bytes.append(byte)
        }
    }

    /// Four hexadecimal digits: a UTF-16 unit, or the first of a pair of them.
    private mutating func unicodeEscape(into bytes: inout [UInt8]) throws(PredicateFormatError) {
        let start = position - 2
        var units = [try hexadecimalUnit(start)]
        if (0xD800...0xDBFF).contains(units[0]), peek() == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") {
            position += 2
            units.append(try hexadecimalUnit(start))
        }
        var decoder = UTF16()
        var iterator = units.makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator), iterator.next() == nil else {
            throw error("\\u names no character", at: start)
        }
        bytes.append(contentsOf: Array(String(Character(scalar)).utf8))
    }

    private mutating func hexadecimalUnit(_ start: Int) throws(PredicateFormatError) -> UInt16 {
        let end = position + 4
        guard end <= text.count,
            text[position..<end].allSatisfy({ $0 < 0x80 && Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt16(String(decoding: text[position..<end], as: UTF8.self), radix: 16)
        else { throw error("expected four hexadecimal digits behind \\u", at: start) }
        position = end
        return unit
    }

    // MARK: Numbers

    private mutating func number() throws(PredicateFormatError) -> PredicateToken.Kind {
        let start = position
        if peek() == UInt8(ascii: "-") { position += 1 }
        if let radix = radixPrefix() {
            position += 2
            return .integer(try integer(from: start, digits: position, radix: radix))
        }
        let digits = position
        var isInteger = true
        skipDigits()
        if peek() == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            skipDigits()
        }
        if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { position += 1 }
            skipDigits()
        }
        if isInteger {
            position = digits
            return .integer(try integer(from: start, digits: digits, radix: 10))
        }
        guard let value = Double(String(decoding: text[start..<position], as: UTF8.self)), try endsNumber(start) else {
            throw error("this is no number", at: start)
        }
        if !value.isFinite { throw error("this number is too large for 64 bits", at: start) }
        return .double(value)
    }

    private mutating func skipDigits() {
        while let byte = peek(), Self.isDigit(byte) { position += 1 }
    }

    private func radixPrefix() -> Int? {
        guard peek() == UInt8(ascii: "0") else { return nil }
        return switch peek(1) {
        case UInt8(ascii: "x"), UInt8(ascii: "X"): 16
        case UInt8(ascii: "o"), UInt8(ascii: "O"): 8
        case UInt8(ascii: "b"), UInt8(ascii: "B"): 2
        default: nil
        }
    }

    private mutating func integer(
        from start: Int, digits: Int, radix: Int
    ) throws(PredicateFormatError) -> Int64 {
        while let byte = peek(), Self.continuesName(byte) { position += 1 }
        let sign = text[start] == UInt8(ascii: "-") ? "-" : ""
        let digits = String(decoding: text[digits..<position], as: UTF8.self)
        if let value = Int64(sign + digits, radix: radix) { return value }
        let isNumber = !digits.isEmpty && digits.allSatisfy { $0.hexDigitValue.map { $0 < radix } ?? false }
        throw error(isNumber ? "this integer does not fit into 64 bits" : "this is no number", at: start)
    }

    private func endsNumber(_ start: Int) throws(PredicateFormatError) -> Bool {
        guard let byte = peek(), Self.continuesName(byte) else { return true }
        throw error("this is no number; a key starts with a letter", at: start)
    }

    // MARK: Placeholders

    private mutating func placeholder() throws(PredicateFormatError) -> PredicateToken.Placeholder {
        let start = position
        position += 1
        while let byte = peek(), "hlqztj".utf8.contains(byte) { position += 1 }
        guard let byte = peek() else { throw error("expected a letter or @ behind %", at: start) }
        position += 1
        let spelling = String(decoding: text[start..<position], as: UTF8.self)
        switch byte {
        case UInt8(ascii: "@") where position == start + 2: return .value
        case UInt8(ascii: "K") where position == start + 2: return .key
        case _ where "dDiuUxXo".utf8.contains(byte): return .integer(spelling)
        case _ where "fFgGeEaA".utf8.contains(byte): return .double(spelling)
        case UInt8(ascii: "%"):
            throw error("arithmetic is not supported; calculate the value before, and pass it with %@", at: start)
        case _ where Self.isDigit(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "$"):
            throw error("placeholders have no position, width or precision; write %@, %K, %d or %f", at: start)
        default: throw error("this placeholder is unknown; use %@, %K, %d (%i, %u, %ld, %llu …) or %f", at: start)
        }
    }

    // MARK: Symbols

    private mutating func symbol(_ byte: UInt8) throws(PredicateFormatError) -> PredicateToken.Symbol {
        let start = position
        let second = peek(1)
        let pair: PredicateToken.Symbol? =
            switch (byte, second) {
            case (UInt8(ascii: "="), UInt8(ascii: "=")): .equal
            case (UInt8(ascii: "!"), UInt8(ascii: "=")), (UInt8(ascii: "<"), UInt8(ascii: ">")): .notEqual
            case (UInt8(ascii: "<"), UInt8(ascii: "=")), (UInt8(ascii: "="), UInt8(ascii: "<")): .lessOrEqual
            case (UInt8(ascii: ">"), UInt8(ascii: "=")), (UInt8(ascii: "="), UInt8(ascii: ">")): .greaterOrEqual
            case (UInt8(ascii: "&"), UInt8(ascii: "&")): .and
            case (UInt8(ascii: "|"), UInt8(ascii: "|")): .or
            default: nil
            }
        if let pair {
            position += 2
            return pair
        }
        position += 1
        if byte == UInt8(ascii: "=") { return .equal }
        if let single = PredicateToken.Symbol(rawValue: String(Unicode.Scalar(byte))) { return single }
        if "+-*/".utf8.contains(byte) {
            throw error("arithmetic is not supported; calculate the value before, and pass it with %@", at: start)
        }
        throw error(
            "this character has no place in a predicate; is it part of a string without quotation marks?", at: start)
    }
}
