/// A piece of a predicate's text.
struct PredicateToken: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        case end
        /// A key path, a function's name or a keyword.
        case name(String)
        /// `#name`: a key path, whatever it is called.
        case escapedName(String)
        case variable(String)
        case string(String)
        case integer(Int64)
        case double(Double)
        case placeholder(Placeholder)
        case symbol(Symbol)
    }

    /// What the next argument has to be.
    enum Placeholder: Equatable, Sendable {
        /// `%@`.
        case value
        /// `%K`.
        case key
        /// `%d`, `%ld`, `%llu` and so on, as the text spells it.
        case integer(String)
        /// `%f`, `%g`.
        case double(String)
    }

    enum Symbol: String, Equatable, Sendable {
        case openParenthesis = "("
        case closeParenthesis = ")"
        case openBrace = "{"
        case closeBrace = "}"
        case openBracket = "["
        case closeBracket = "]"
        case comma = ","
        case equal = "=="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case and = "&&"
        case or = "||"
        case not = "!"
    }

    var kind: Kind
    /// Where it starts, in UTF-8 bytes.
    var offset: Int

    /// As an error names it.
    var description: String {
        switch kind {
        case .end: "the end"
        case .name(let name): "\"\(Self.shortened(name))\""
        case .escapedName(let name): "\"#\(Self.shortened(name))\""
        case .variable(let name): "\"$\(Self.shortened(name))\""
        case .string: "a string"
        case .integer, .double: "a number"
        case .placeholder(.value): "%@"
        case .placeholder(.key): "%K"
        case .placeholder(.integer(let text)), .placeholder(.double(let text)): text
        case .symbol(let symbol): "\"\(symbol.rawValue)\""
        }
    }

    private static func shortened(_ name: String) -> String {
        name.count > 40 ? "\(name.prefix(40))…" : name
    }

    /// The words of the grammar in upper case. A key of such a name is written with a "#" before it.
    private static let keywords: Set<String> = [
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE",
        "MATCHES", "TOKENMATCHES", "TRUEPREDICATE", "FALSEPREDICATE", "TRUE", "FALSE", "YES", "NO", "NIL", "NULL",
        "SELF",
    ]

    /// The word of the grammar that a name is, in whatever case; in upper case.
    static func keyword(_ name: some StringProtocol) -> String? {
        guard name.utf8.count <= 14, name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let word = name.uppercased()
        return keywords.contains(word) ? word : nil
    }

    /// Whether a key path can be written as it is: names with dots between them.
    static func isPlain(keyPath: String) -> Bool {
        var isFirst = true
        for component in keyPath.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            let name = !isFirst && component.first == UInt8(ascii: "@") ? component.dropFirst() : component
            isFirst = false
            guard let start = name.first, PredicateLexer.startsName(start),
                name.allSatisfy(PredicateLexer.continuesName)
            else { return false }
        }
        return true
    }
}
