/// One side of a comparison. Immutable.
indirect enum PredicateExpression: Hashable, Sendable {
    case constant(PredicateValue)
    /// A field's key, or several with dots between them.
    case keyPath(String)
    /// `SELF`: the record.
    case evaluatedObject
    /// `$NAME`, which gets its value later.
    case variable(String)
    case function(name: String, arguments: [PredicateExpression])
    /// `{a, b}`.
    case aggregate([PredicateExpression])

    static let distanceFunction = "distanceToLocation:fromLocation:"
    static let tokenizeFunction = "tokenize:using:"
    static let nowFunction = "now"

    /// See ``PredicateNode/canonical``.
    var canonical: PredicateExpression {
        switch self {
        case .constant, .keyPath, .evaluatedObject, .variable: return self
        case .function(let name, let arguments):
            return .function(name: name, arguments: arguments.map(\.canonical))
        case .aggregate(let elements):
            let elements = elements.map(\.canonical)
            var values: [PredicateValue] = []
            values.reserveCapacity(elements.count)
            for element in elements {
                guard case .constant(let value) = element else { return .aggregate(elements) }
                values.append(value)
            }
            return .constant(.list(values))
        }
    }

    func substituting(_ values: [String: PredicateExpression]) -> PredicateExpression {
        switch self {
        case .constant, .keyPath, .evaluatedObject: self
        case .variable(let name): values[name] ?? self
        case .function(let name, let arguments):
            .function(name: name, arguments: arguments.map { $0.substituting(values) })
        case .aggregate(let elements): .aggregate(elements.map { $0.substituting(values) })
        }
    }
}
