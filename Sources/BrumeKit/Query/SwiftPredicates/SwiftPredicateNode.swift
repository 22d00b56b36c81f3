internal import BrumeModel
internal import Foundation

/// An expression of a Swift predicate that has a counterpart.
protocol SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part
}

extension PredicateExpressions.Value: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) -> SwiftPredicateReader.Part {
        if let range = value as? any PredicateRange { return range.part }
        return .expression(.constant(PredicateValue(value)))
    }
}

extension PredicateExpressions.NilLiteral: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) -> SwiftPredicateReader.Part { .expression(.constant(.null)) }
}

extension PredicateExpressions.Variable: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        try reader.variable(key)
    }
}

extension PredicateExpressions.KeyPath: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        try reader.keyPath(keyPath, of: root)
    }
}

/// A record without the field matches no comparison, so there is nothing to unwrap.
extension PredicateExpressions.ForcedUnwrap: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        try reader.part(inner)
    }
}

extension PredicateExpressions.UnaryMinus: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        switch try reader.expression(wrapped) {
        case .constant(.integer(let value)) where value != .min: return .expression(.constant(.integer(-value)))
        case .constant(.double(let value)): return .expression(.constant(.double(-value)))
        default:
            throw reader.refusal("a Swift predicate negates something else than a number; calculate the value before")
        }
    }
}

// MARK: Conditions

extension PredicateExpressions.Conjunction: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        // `a && b && c` is nested to the left: one level for all.
        let (left, right) = (try reader.predicate(lhs), try reader.predicate(rhs))
        if case .and(let operands) = left { return .predicate(.and(operands + [right])) }
        return .predicate(.and([left, right]))
    }
}

extension PredicateExpressions.Disjunction: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        let (left, right) = (try reader.predicate(lhs), try reader.predicate(rhs))
        if case .or(let operands) = left { return .predicate(.or(operands + [right])) }
        return .predicate(.or([left, right]))
    }
}

extension PredicateExpressions.Negation: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        .predicate(.not(try reader.predicate(wrapped)))
    }
}

extension PredicateExpressions.Equal: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        try reader.equality(lhs, rhs, isEqual: true)
    }
}

extension PredicateExpressions.NotEqual: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        try reader.equality(lhs, rhs, isEqual: false)
    }
}

extension PredicateExpressions.Comparison: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        let type: NSComparisonPredicate.Operator =
            switch op {
            case .lessThan: .lessThan
            case .lessThanOrEqual: .lessThanOrEqualTo
            case .greaterThan: .greaterThan
            case .greaterThanOrEqual: .greaterThanOrEqualTo
            @unknown default:
                throw reader.refusal("a Swift predicate has an operator that is not known; use <, <=, > or >=")
            }
        return .predicate(reader.compared(try reader.expression(lhs), type, try reader.expression(rhs)))
    }
}

// MARK: Lists, ranges and strings

extension PredicateExpressions.SequenceContains: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        let (list, member) = (try reader.expression(sequence), try reader.expression(element))
        if case .keyPath = list { return .predicate(reader.compared(list, .contains, member)) }
        return .predicate(reader.compared(member, .in, list))
    }
}

extension PredicateExpressions.SequenceContainsWhere: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        try reader.containsWhere(sequence, variable.key, test)
    }
}

extension PredicateExpressions.SequenceStartsWith: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        .predicate(reader.compared(try reader.expression(base), .beginsWith, try reader.expression(prefix)))
    }
}

extension PredicateExpressions.RangeExpressionContains: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        try reader.rangeContains(range, element)
    }
}

extension PredicateExpressions.ClosedRange: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        .range(lower: try reader.expression(lower), upper: try reader.expression(upper), includesUpper: true)
    }
}

extension PredicateExpressions.Range: SwiftPredicateNode {
    func part(in reader: SwiftPredicateReader) throws(ServiceError) -> SwiftPredicateReader.Part {
        .range(lower: try reader.expression(lower), upper: try reader.expression(upper), includesUpper: false)
    }
}

/// A range that was made before the predicate.
private protocol PredicateRange {
    var part: SwiftPredicateReader.Part { get }
}

private func constant(_ value: Any) -> PredicateExpression { .constant(PredicateValue(value)) }

extension ClosedRange: PredicateRange {
    fileprivate var part: SwiftPredicateReader.Part {
        .range(lower: constant(lowerBound), upper: constant(upperBound), includesUpper: true)
    }
}

extension Range: PredicateRange {
    fileprivate var part: SwiftPredicateReader.Part {
        .range(lower: constant(lowerBound), upper: constant(upperBound), includesUpper: false)
    }
}

extension PartialRangeFrom: PredicateRange {
    fileprivate var part: SwiftPredicateReader.Part {
        .range(lower: constant(lowerBound), upper: nil, includesUpper: false)
    }
}

extension PartialRangeThrough: PredicateRange {
    fileprivate var part: SwiftPredicateReader.Part {
        .range(lower: nil, upper: constant(upperBound), includesUpper: true)
    }
}

extension PartialRangeUpTo: PredicateRange {
    fileprivate var part: SwiftPredicateReader.Part {
        .range(lower: nil, upper: constant(upperBound), includesUpper: false)
    }
}
