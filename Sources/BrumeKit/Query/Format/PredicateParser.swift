/// Reads a predicate's text. Precedence from the weakest: OR, AND, NOT, comparisons.
///
/// Descends recursively, at most ``depthLimit`` levels; everything else is a loop, so the time is linear in the text.
struct PredicateParser {
    /// Levels of parentheses and negations. Twice what a server takes, so that an app which nests too deep learns it as
    /// an error of the query. A level costs a few hundred bytes of the stack.
    static let depthLimit = 128

    /// Levels of lists and function calls within one another, those of the arguments' own lists included.
    static let expressionDepthLimit = 32

    /// What stands where the grammar wants a predicate or an expression: parentheses may hold both.
    enum Operand {
        case predicate(PredicateNode)
        case expression(PredicateExpression)
    }

    private var lexer: PredicateLexer
    private var token: PredicateToken
    private var arguments: PredicateArguments
    private var depth = 0
    private var expressionDepth = 0

    /// The predicate of a text. Each placeholder takes the next argument, and none may be left over.
    static func predicate(_ format: String, arguments: [Any?]) throws(PredicateFormatError) -> PredicateNode {
        var parser = try PredicateParser(format, arguments: arguments)
        let operand = try parser.disjunction()
        let predicate = try parser.requirePredicate(operand)
        try parser.end()
        return predicate
    }

    /// The expression of a text.
    static func expression(_ format: String, arguments: [Any?]) throws(PredicateFormatError) -> PredicateExpression {
        var parser = try PredicateParser(format, arguments: arguments)
        let expression = try parser.expression("an expression")
        try parser.end()
        return expression
    }

    private init(_ format: String, arguments: [Any?]) throws(PredicateFormatError) {
        lexer = try PredicateLexer(format)
        token = try lexer.next()
        self.arguments = PredicateArguments(arguments)
    }

    // MARK: Tokens

    private mutating func advance() throws(PredicateFormatError) {
        token = try lexer.next()
    }

    private mutating func take(_ symbol: PredicateToken.Symbol) throws(PredicateFormatError) -> Bool {
        guard token.kind == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func take(keyword: String) throws(PredicateFormatError) -> Bool {
        guard self.keyword == keyword else { return false }
        try advance()
        return true
    }

    /// The token in upper case when it is a word of the grammar.
    private var keyword: String? {
        guard case .name(let name) = token.kind else { return nil }
        return PredicateToken.keyword(name)
    }

    private func expected(_ what: String) -> PredicateFormatError {
        lexer.error("expected \(what), but found \(token.description)", at: token.offset)
    }

    private mutating func require(_ symbol: PredicateToken.Symbol, _ purpose: String) throws(PredicateFormatError) {
        guard try take(symbol) else { throw expected("\"\(symbol.rawValue)\" \(purpose)") }
    }

    private mutating func end() throws(PredicateFormatError) {
        guard token.kind == .end else { throw expected("AND, OR or the end") }
        guard let extra = arguments.unused else { return }
        throw lexer.error(
            "there are \(extra.count) arguments, but the placeholders take \(extra.used) of them"
                + (lexer.hasPlaceholderInString
                    ? "; a placeholder in quotation marks is plain text: remove the marks" : ""),
            at: token.offset)
    }

    private mutating func enter() throws(PredicateFormatError) {
        depth += 1
        if depth > Self.depthLimit {
            throw lexer.error(
                "this is nested more than \(Self.depthLimit) deep; write it flatter, or use IN", at: token.offset)
        }
    }

    /// As ``enter()`` for a list or a call; `levels` is 0 for a constant.
    private mutating func enterExpression(levels: Int = 1) throws(PredicateFormatError) {
        expressionDepth += levels
        if expressionDepth > Self.expressionDepthLimit {
            throw lexer.error(
                "lists and calls are nested more than \(Self.expressionDepthLimit) deep; write one list",
                at: token.offset)
        }
    }

    private func requirePredicate(_ operand: Operand) throws(PredicateFormatError) -> PredicateNode {
        switch operand {
        case .predicate(let predicate): return predicate
        case .expression: throw expected("an operator such as == behind the expression")
        }
    }

    private func requireExpression(_ operand: Operand, at offset: Int) throws(PredicateFormatError)
        -> PredicateExpression
    {
        switch operand {
        case .expression(let expression): return expression
        case .predicate: throw lexer.error("expected a key or a value, but found a predicate", at: offset)
        }
    }

    // MARK: Compounds

    private mutating func disjunction() throws(PredicateFormatError) -> Operand {
        let first = try conjunction()
        var operands: [PredicateNode] = []
        while keyword == "OR" || token.kind == .symbol(.or) {
            if operands.isEmpty { operands.append(try requirePredicate(first)) }
            try advance()
            let operand = try conjunction()
            operands.append(try requirePredicate(operand))
        }
        return operands.isEmpty ? first : .predicate(.or(operands))
    }

    private mutating func conjunction() throws(PredicateFormatError) -> Operand {
        let first = try negation()
        var operands: [PredicateNode] = []
        while keyword == "AND" || token.kind == .symbol(.and) {
            if operands.isEmpty { operands.append(try requirePredicate(first)) }
            try advance()
            let operand = try negation()
            operands.append(try requirePredicate(operand))
        }
        return operands.isEmpty ? first : .predicate(.and(operands))
    }

    private mutating func negation() throws(PredicateFormatError) -> Operand {
        var negations = 0
        while keyword == "NOT" || token.kind == .symbol(.not) {
            try enter()
            negations += 1
            try advance()
        }
        let operand = try comparison()
        guard negations > 0 else { return operand }
        depth -= negations
        var predicate = try requirePredicate(operand)
        for _ in 0..<negations { predicate = .not(predicate) }
        return .predicate(predicate)
    }

    // MARK: Comparisons

    private mutating func comparison() throws(PredicateFormatError) -> Operand {
        // NONE is written as a negation, which takes a level when it is read again.
        if keyword == "NONE" { try enter() }
        let modifier = keyword.flatMap { ["ANY", "SOME", "ALL", "NONE"].contains($0) ? $0 : nil }
        if modifier != nil { try advance() }
        let start = token.offset
        let left = try primary()
        guard let type = comparisonOperator() else {
            if modifier == nil { return left }
            throw expected("an operator such as == behind \(modifier ?? "") and a key")
        }
        let leftExpression = try requireExpression(left, at: start)
        try advance()
        let options = try comparisonOptions()
        let rightExpression = try expression("a key or a value behind the operator")
        let comparison = PredicateNode.comparison(
            PredicateComparison(
                left: leftExpression, right: rightExpression,
                modifier: modifier == nil ? .direct : modifier == "ALL" ? .all : .any, type: type, options: options))
        guard modifier == "NONE" else { return .predicate(comparison) }
        depth -= 1
        return .predicate(.not(comparison))
    }

    private func comparisonOperator() -> NSComparisonPredicate.Operator? {
        switch token.kind {
        case .symbol(.equal): .equalTo
        case .symbol(.notEqual): .notEqualTo
        case .symbol(.less): .lessThan
        case .symbol(.lessOrEqual): .lessThanOrEqualTo
        case .symbol(.greater): .greaterThan
        case .symbol(.greaterOrEqual): .greaterThanOrEqualTo
        default: keyword.flatMap { NSComparisonPredicate.Operator.byKeyword[$0] }
        }
    }

    /// `[c]`, `[d]`, `[cd]`, `[cdl]`: any of the letters c, d, n and l.
    private mutating func comparisonOptions() throws(PredicateFormatError) -> NSComparisonPredicate.Options {
        guard try take(.openBracket) else { return [] }
        guard case .name(let letters) = token.kind else { throw expected("c, d, n or l, or several of them") }
        var options: NSComparisonPredicate.Options = []
        for letter in letters.lowercased() {
            guard let option = NSComparisonPredicate.Options.byLetter[letter] else {
                throw expected("c, d, n or l, or several of them")
            }
            options.insert(option)
        }
        try advance()
        try require(.closeBracket, "behind the operator's options")
        return options
    }

    // MARK: Expressions

    private mutating func expression(_ what: String) throws(PredicateFormatError) -> PredicateExpression {
        let start = token.offset
        if token.kind == .end { throw expected(what) }
        let operand = try primary()
        return try requireExpression(operand, at: start)
    }

    private mutating func primary() throws(PredicateFormatError) -> Operand {
        let start = token.offset
        let expression: PredicateExpression
        switch token.kind {
        case .symbol(.openParenthesis): return try parenthesised()
        case .symbol(.openBrace): return .expression(.aggregate(try elements()))
        case .string(let value): expression = .constant(.string(value))
        case .integer(let value): expression = .constant(.integer(value))
        case .double(let value): expression = .constant(.double(value))
        case .variable(let name): expression = .variable(name)
        case .escapedName(let name): expression = .keyPath(name)
        case .placeholder(let placeholder):
            do throws(PredicateArguments.Problem) {
                expression = try arguments.next(for: placeholder)
            } catch {
                throw lexer.error(error.sentence, at: start)
            }
            let levels = expression.textLevels
            try enterExpression(levels: levels)
            expressionDepth -= levels
        case .name(let name):
            if let keyword { return try word(keyword) }
            try advance()
            if token.kind == .symbol(.openParenthesis) { return .expression(try call(name, at: start)) }
            if token.kind == .symbol(.openBracket) {
                throw lexer.error("elements of a list can't be reached by index; use CONTAINS or ANY", at: token.offset)
            }
            return .expression(.keyPath(Self.withoutSelf(name)))
        case .symbol, .end: throw expected("a key, a value or a predicate")
        }
        try advance()
        return .expression(expression)
    }

    /// `self.name` is the record's `name`.
    private static func withoutSelf(_ path: String) -> String {
        path.utf8.count > 5 && path.prefix(5).lowercased() == "self." ? String(path.dropFirst(5)) : path
    }

    private mutating func parenthesised() throws(PredicateFormatError) -> Operand {
        try enter()
        try advance()
        let operand = try disjunction()
        if token.kind == .symbol(.comma) {
            throw lexer.error("a list stands in braces: {1, 2}", at: token.offset)
        }
        try require(.closeParenthesis, "at the end of the parentheses")
        depth -= 1
        return operand
    }

    /// The elements in braces.
    private mutating func elements() throws(PredicateFormatError) -> [PredicateExpression] {
        try enterExpression()
        try advance()
        var elements: [PredicateExpression] = []
        if try !take(.closeBrace) {
            repeat {
                elements.append(try expression("an element of the list"))
            } while try take(.comma)
            try require(.closeBrace, "at the end of the list, or a comma")
        }
        expressionDepth -= 1
        return elements
    }

    private mutating func word(_ keyword: String) throws(PredicateFormatError) -> Operand {
        let operand: Operand
        switch keyword {
        case "TRUEPREDICATE": operand = .predicate(.constant(true))
        case "FALSEPREDICATE": operand = .predicate(.constant(false))
        case "TRUE", "YES": operand = .expression(.constant(.integer(1)))
        case "FALSE", "NO": operand = .expression(.constant(.integer(0)))
        case "NIL", "NULL": operand = .expression(.constant(.null))
        case "SELF": operand = .expression(.evaluatedObject)
        default:
            throw expected("a key, a value or a predicate (a key of that name is written #\(keyword.lowercased()))")
        }
        try advance()
        return operand
    }

    private mutating func call(_ name: String, at start: Int) throws(PredicateFormatError) -> PredicateExpression {
        let upper = name.utf8.count <= 8 ? name.uppercased() : ""
        if upper == "SUBQUERY" {
            throw lexer.error("SUBQUERY is not supported; query the other records by themselves", at: start)
        }
        if upper == "FUNCTION" || upper == "TERNARY" {
            throw lexer.error("\(upper) is not supported; calculate the value before, and pass it with %@", at: start)
        }
        try enterExpression()
        try advance()
        var arguments: [PredicateExpression] = []
        if try !take(.closeParenthesis) {
            repeat {
                arguments.append(try expression("an argument of \(upper.isEmpty ? "the function" : name)"))
            } while try take(.comma)
            try require(.closeParenthesis, "at the end of the arguments, or a comma")
        }
        expressionDepth -= 1
        guard upper == "CAST" else { return .function(name: name, arguments: arguments) }
        guard let value = PredicateCast.read(arguments) else {
            throw lexer.error("expected \(PredicateCast.forms)", at: start)
        }
        return value
    }
}
