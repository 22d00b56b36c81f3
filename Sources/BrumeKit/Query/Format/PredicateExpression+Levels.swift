extension PredicateExpression {
    /// Lists and calls within one another in the expression's text, casts included. Twice the limit at most: what is
    /// deeper is not counted on.
    var textLevels: Int {
        levels(within: 2 * PredicateParser.expressionDepthLimit)
    }

    private func levels(within limit: Int) -> Int {
        if limit == 0 { return 1 }
        return switch self {
        case .constant(let value): value.textLevels
        case .keyPath(let path): PredicateToken.isPlain(keyPath: path) ? 0 : 1
        case .evaluatedObject, .variable: 0
        case .function(_, let elements), .aggregate(let elements):
            1 + (elements.lazy.map { $0.levels(within: limit - 1) }.max() ?? 0)
        }
    }
}

extension PredicateValue {
    /// Lists are at most as deep as they are read: see ``PredicateValue/init(_:)``.
    fileprivate var textLevels: Int {
        switch self {
        case .null, .integer, .string, .unsupported: 0
        case .double(let value): value.isFinite ? 0 : 1
        case .date, .data: 1
        case .location, .reference, .recordID: 2
        case .list(let values): 1 + (values.lazy.map(\.textLevels).max() ?? 0)
        }
    }
}
