/// Cuts a schema's text into words and signs. Reads each byte once; comments are left out.
struct SchemaScanner {
    struct Token: Equatable {
        enum Kind: Equatable {
            /// A name or keyword; in double quotes it is no keyword.
            case word(isQuoted: Bool)
            /// One of `( ) < > , ;`.
            case sign
            case end
        }

        let kind: Kind
        /// Without quotes; empty at the end.
        let text: String
        /// The offset of its first byte.
        let offset: Int

        func isKeyword(_ keyword: String) -> Bool {
            kind == .word(isQuoted: false) && text.utf8.count == keyword.utf8.count && text.uppercased() == keyword
        }

        func isSign(_ sign: String) -> Bool { kind == .sign && text == sign }

        /// For messages: what was found.
        var found: String {
            switch kind {
            case .end: "the end of the text"
            case .sign: "\"\(text)\""
            case .word: "\"\(text.prefix(64))\""
            }
        }
    }

    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func next() throws(SchemaSyntaxError) -> Token {
        try skipSpace()
        guard offset < bytes.count else { return Token(kind: .end, text: "", offset: offset) }
        let start = offset
        switch bytes[offset] {
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: ","),
            UInt8(ascii: ";"):
            offset += 1
            return Token(kind: .sign, text: text(start..<offset), offset: start)
        case UInt8(ascii: "\""):
            offset += 1
            while offset < bytes.count, bytes[offset] != UInt8(ascii: "\""), bytes[offset] != UInt8(ascii: "\n") {
                offset += 1
            }
            guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else {
                throw error("a name in quotes has no end on its line; close it with \"", at: start)
            }
            offset += 1
            return Token(kind: .word(isQuoted: true), text: text(start + 1..<offset - 1), offset: start)
        case let byte where Self.isWord(byte):
            while offset < bytes.count, Self.isWord(bytes[offset]) { offset += 1 }
            return Token(kind: .word(isQuoted: false), text: text(start..<offset), offset: start)
        default:
            throw error(
                "this character has no meaning here; names hold ASCII letters, digits and underscores", at: start)
        }
    }

    func error(_ problem: String, at offset: Int) -> SchemaSyntaxError {
        var line = 1
        var column = 1
        for byte in bytes[..<min(offset, bytes.count)] {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return SchemaSyntaxError(line: line, column: column, problem: problem)
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private static func isWord(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            || byte == UInt8(ascii: "_")
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        offset + distance < bytes.count ? bytes[offset + distance] : nil
    }

    /// Skips white space and comments: `// …`, `-- …` and `/* … */`.
    private mutating func skipSpace() throws(SchemaSyntaxError) {
        while let byte = peek() {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: offset += 1
            case 0xEF where offset == 0 && peek(1) == 0xBB && peek(2) == 0xBF: offset += 3
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"),
                UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"):
                while let byte = peek(), byte != UInt8(ascii: "\n") { offset += 1 }
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"):
                let start = offset
                offset += 2
                while peek() != UInt8(ascii: "*") || peek(1) != UInt8(ascii: "/") {
                    guard offset < bytes.count else { throw error("a comment has no end; close it with */", at: start) }
                    offset += 1
                }
                offset += 2
            default: return
            }
        }
    }
}
