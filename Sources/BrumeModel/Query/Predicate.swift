/// Which records a query or a query subscription wants: the syntax tree of a predicate (Documentation/CloudKit.md,
/// Queries).
///
/// A comparison with a field that the record does not have is neither true nor false, and so is its negation: Kleene's
/// logic of three values, in which a record matches when the whole is true. So `x != 5` and `NOT x == 5` both leave out
/// the records without an `x`.
///
/// Trees are bounded by ``Limits/predicateDepth``, ``Limits/predicateTerms`` and ``Limits/predicateValues`` wherever
/// they come from outside, so that functions on them may recurse.
package indirect enum Predicate: Hashable, Sendable {
    /// `TRUEPREDICATE` and `FALSEPREDICATE`.
    case constant(Bool)
    case comparison(QueryKey, ComparisonOperator, FieldValue)
    /// Both ends included.
    case between(QueryKey, FieldValue, FieldValue)
    /// The field's value is one of these: values that are no lists.
    case isIn(QueryKey, [FieldValue])
    /// The field is a list and has an element for which this holds: `tags CONTAINS "x"` and `ANY tags == "x"` are
    /// `.equal`.
    case anyElement(QueryKey, ComparisonOperator, FieldValue)
    /// The field is a list that shares an element with these: `ANY tags IN {"x", "y"}`.
    case anyElementIsIn(QueryKey, [FieldValue])
    /// Full text in all searchable fields of the record: `self CONTAINS "word another"`.
    case text(String, TextMatch)
    /// The field is a location within (or, exclusive, nearer than) so many metres of a place.
    case distance(QueryKey, latitude: Double, longitude: Double, metres: Double, isInclusive: Bool)
    case and([Predicate])
    case or([Predicate])
    case not(Predicate)
}

/// How a field and a value compare. Raw values are those of `brume.v1.ComparisonOperator`.
package enum ComparisonOperator: UInt8, Hashable, Sendable, CaseIterable {
    case equal = 1
    case notEqual = 2
    case less = 3
    case lessOrEqual = 4
    case greater = 5
    case greaterOrEqual = 6
    /// Strings only; exact.
    case beginsWith = 7

    /// As a predicate's text spells it.
    package var symbol: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        case .beginsWith: "BEGINSWITH"
        }
    }
}

/// Which words of a search a record must have. Raw values are those of `brume.v1.TextMatch`.
package enum TextMatch: UInt8, Hashable, Sendable {
    /// `self CONTAINS "a b"`: either.
    case anyWord = 1
    /// `allTokens TOKENMATCHES[cdl] "a b"`: both, in whatever fields.
    case allWords = 2
}

/// How large a predicate is.
package struct PredicateSize: Equatable, Sendable {
    /// Comparisons, searches and constants.
    package var terms = 0
    /// Values that fields are compared with.
    package var values = 0
    /// Bytes of the texts that are searched for.
    package var searchBytes = 0
    /// The depth of the tree; a comparison alone has 1.
    package var depth = 0

    package init() {}

    /// What is wrong with the size, or nil.
    package var problem: ServiceError? {
        if depth > Limits.predicateDepth {
            return ServiceError(
                .limitExceeded,
                "a predicate is nested \(depth) deep; the limit is \(Limits.predicateDepth): write it flatter")
        }
        if terms > Limits.predicateTerms {
            return ServiceError(
                .limitExceeded,
                "a predicate has \(terms) terms; the limit is \(Limits.predicateTerms): use IN, or several queries")
        }
        if searchBytes > Limits.predicateSearchBytes {
            return ServiceError(
                .limitExceeded,
                "a predicate searches for texts of \(searchBytes) bytes; the limit is \(Limits.predicateSearchBytes): search for fewer words"
            )
        }
        if values > Limits.predicateValues {
            return ServiceError(
                .limitExceeded,
                "a predicate has \(values) values; the limit is \(Limits.predicateValues): split its lists over several queries"
            )
        }
        return nil
    }
}

extension Predicate {
    /// The size of the tree, whose depth has to be bounded: the function recurses.
    package var size: PredicateSize {
        var size = PredicateSize()
        measure(depth: 1, into: &size)
        return size
    }

    private func measure(depth: Int, into size: inout PredicateSize) {
        size.depth = max(size.depth, depth)
        switch self {
        case .and(let operands), .or(let operands):
            for operand in operands { operand.measure(depth: depth + 1, into: &size) }
        case .not(let operand):
            operand.measure(depth: depth + 1, into: &size)
        case .isIn(_, let values), .anyElementIsIn(_, let values):
            size.terms += 1
            size.values += values.count
        case .between:
            size.terms += 1
            size.values += 2
        case .text(let text, _):
            size.terms += 1
            size.values += 1
            size.searchBytes += text.utf8.count
        case .comparison, .anyElement, .distance:
            size.terms += 1
            size.values += 1
        case .constant:
            size.terms += 1
        }
    }
}
