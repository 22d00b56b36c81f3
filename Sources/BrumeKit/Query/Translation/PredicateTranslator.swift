internal import BrumeModel

/// Makes the server's predicate of an app's (Documentation/CloudKit.md, Queries). What is outside of the language is
/// refused with a sentence that names it and what to write instead; the sentences hold keys and operators, never
/// values.
///
/// The types of fields are the server's business: it refuses what does not suit them.
struct PredicateTranslator {
    /// What `now()` is: seconds since 2001.
    let now: Double

    func predicate(_ node: PredicateNode, depth: Int) throws(ServiceError) -> BrumeModel.Predicate {
        guard depth <= Limits.predicateDepth else {
            throw ServiceError(
                .limitExceeded,
                "a predicate is nested more than \(Limits.predicateDepth) deep, the limit: write it flatter, or use IN")
        }
        switch node {
        case .constant(let value): return .constant(value)
        case .comparison(let comparison): return try term(comparison)
        case .and(let operands): return try joined(operands, depth: depth, whenEmpty: true) { .and($0) }
        case .or(let operands): return try joined(operands, depth: depth, whenEmpty: false) { .or($0) }
        case .not(let operand): return .not(try predicate(operand, depth: depth + 1))
        case .block:
            throw refusal("predicates for CloudKit can't be blocks: write the predicate as a format")
        }
    }

    private func joined(
        _ operands: [PredicateNode], depth: Int, whenEmpty: Bool,
        _ join: ([BrumeModel.Predicate]) -> BrumeModel.Predicate
    ) throws(ServiceError) -> BrumeModel.Predicate {
        if operands.isEmpty { return .constant(whenEmpty) }
        if operands.count == 1 { return try predicate(operands[0], depth: depth) }
        // Each operand is a term at least, so a longer list is refused before the work.
        guard operands.count <= Limits.predicateTerms else {
            throw ServiceError(
                .limitExceeded,
                "a predicate joins \(operands.count) parts; the limit is \(Limits.predicateTerms) terms: use IN, or several queries"
            )
        }
        var parts: [BrumeModel.Predicate] = []
        parts.reserveCapacity(operands.count)
        for operand in operands { parts.append(try predicate(operand, depth: depth + 1)) }
        return join(parts)
    }

    func refusal(_ sentence: String) -> ServiceError {
        ServiceError(.invalidArguments, sentence)
    }

    // MARK: Comparisons

    private func term(_ comparison: PredicateComparison) throws(ServiceError) -> BrumeModel.Predicate {
        if comparison.modifier == .all {
            throw refusal("ALL is not supported; ANY and CONTAINS ask for one element of a list")
        }
        if let search = try search(comparison) { return search }
        if let distance = try distance(comparison) { return distance }
        try checkOperator(comparison)
        let comparison = try withKeyOnTheLeft(asMembership(comparison) ?? comparison)
        guard case .keyPath(let name) = comparison.left else {
            preconditionFailure("a comparison has its key on the left once it is turned")
        }
        let key = try QueryKey(checking: name, "a predicate")
        let value = try value(comparison.right, comparedWith: key)
        switch comparison.modifier {
        case .direct: return try direct(key, comparison.type, value)
        case .any: return try anyElement(key, comparison.type, value)
        case .all: preconditionFailure("ALL was refused before")
        }
    }

    private func checkOperator(_ comparison: PredicateComparison) throws(ServiceError) {
        let name = comparison.type.text
        switch comparison.type {
        case .like, .matches:
            throw refusal(
                "\(name) is not supported; use BEGINSWITH, or self CONTAINS for words in any searchable field")
        case .endsWith:
            throw refusal(
                "ENDSWITH is not supported; use BEGINSWITH, or keep the reversed string in another field and ask for its beginning"
            )
        case .customSelector:
            throw refusal("predicates for CloudKit can't call selectors; use the operators of the format")
        case .tokenMatches:
            throw refusal(
                "TOKENMATCHES searches words in all fields and has no key on its left; write self or allTokens there")
        case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .equalTo, .notEqualTo, .beginsWith,
            .in,
            .contains, .between:
            break
        }
        if !comparison.options.isEmpty {
            throw refusal(
                "\(name) takes no options such as [c]: fields are compared exactly; keep a copy in lower case, or use self CONTAINS"
            )
        }
    }

    /// `ANY {…} = key`, which asks whether the key's value is one of the list's, as `key IN {…}`; nil for other
    /// comparisons.
    private func asMembership(_ comparison: PredicateComparison) -> PredicateComparison? {
        guard comparison.modifier == .any, comparison.type == .equalTo, case .keyPath = comparison.right else {
            return nil
        }
        switch comparison.left.canonical {
        case .constant(.list), .aggregate: break
        default: return nil
        }
        var result = comparison
        swap(&result.left, &result.right)
        (result.modifier, result.type) = (.direct, .in)
        return result
    }

    /// The comparison with its sides exchanged when the key is on the right.
    private func withKeyOnTheLeft(_ comparison: PredicateComparison) throws(ServiceError) -> PredicateComparison {
        switch (comparison.left, comparison.right) {
        case (.keyPath, .keyPath):
            throw refusal("\(comparison.type.text) compares two keys; compare each key with a value")
        case (.evaluatedObject, _), (_, .evaluatedObject):
            throw refusal(
                "SELF is for searches alone: self CONTAINS \"words\"; use recordID to compare the record itself")
        case (.keyPath, _):
            return comparison
        case (_, .keyPath):
            guard let turned = comparison.type.turned else {
                throw refusal("\(comparison.type.text) needs the key on its left side; exchange the sides")
            }
            var result = comparison
            swap(&result.left, &result.right)
            result.type = turned
            return result
        case (.function(let name, _), _) where name.lowercased() != PredicateExpression.nowFunction,
            (_, .function(let name, _)) where name.lowercased() != PredicateExpression.nowFunction:
            throw unsupportedFunction(name)
        default:
            throw refusal(
                "\(comparison.type.text) compares two values; one side has to be a key: %K takes one as argument")
        }
    }

    private func direct(
        _ key: QueryKey, _ type: NSComparisonPredicate.Operator, _ value: PredicateValue
    ) throws(ServiceError) -> BrumeModel.Predicate {
        let terms = TermTranslator(key: key)
        switch type {
        case .in: return .isIn(key, try terms.elements(value))
        case .contains: return try anyElement(key, .equalTo, value)
        case .between:
            guard case .list(let ends) = value, ends.count == 2 else {
                throw refusal("\"\(key.name)\" BETWEEN needs a list of two values: BETWEEN {1, 5}")
            }
            let values = try terms.elements(value, .lessOrEqual)
            return .between(key, values[0], values[1])
        default:
            let comparison = comparisonOperator(type)
            return .comparison(key, comparison, try terms.scalar(value, comparison))
        }
    }

    private func anyElement(
        _ key: QueryKey, _ type: NSComparisonPredicate.Operator, _ value: PredicateValue
    ) throws(ServiceError) -> BrumeModel.Predicate {
        guard case .field = key else {
            throw refusal("\"\(key.name)\" is no list; compare it by == or IN, without ANY and CONTAINS")
        }
        let terms = TermTranslator(key: key)
        switch type {
        case .in: return .anyElementIsIn(key, try terms.elements(value))
        case .contains, .between:
            throw refusal("ANY \"\(key.name)\" \(type.text) is not supported; after ANY use ==, IN, <, > or BEGINSWITH")
        default:
            if case .list = value {
                throw refusal(
                    "\"\(key.name)\" is asked for a list as its element; join a CONTAINS for each with AND, or use ANY … IN for one of them"
                )
            }
            let comparison = comparisonOperator(type)
            return .anyElement(key, comparison, try terms.scalar(value, comparison))
        }
    }

    private func comparisonOperator(_ type: NSComparisonPredicate.Operator) -> ComparisonOperator {
        switch type {
        case .lessThan: .less
        case .lessThanOrEqualTo: .lessOrEqual
        case .greaterThan: .greater
        case .greaterThanOrEqualTo: .greaterOrEqual
        case .equalTo: .equal
        case .notEqualTo: .notEqual
        case .beginsWith: .beginsWith
        case .matches, .like, .endsWith, .in, .customSelector, .contains, .between, .tokenMatches:
            preconditionFailure("\(type.text) is no comparison with one value")
        }
    }

    // MARK: Values

    private func value(_ expression: PredicateExpression, comparedWith key: QueryKey) throws(ServiceError)
        -> PredicateValue
    {
        try value(expression, "\"\(key.name)\"")
    }

    /// The value of an expression without keys. `subject` is what it is compared with, for the sentence.
    func value(_ expression: PredicateExpression, _ subject: String) throws(ServiceError) -> PredicateValue {
        switch expression.canonical {
        case .constant(let value): return value
        case .aggregate(let elements):
            var values: [PredicateValue] = []
            for element in elements {
                if case .aggregate = element {
                    throw refusal("\(subject) is compared with a list of lists; use one list")
                }
                values.append(try value(element, subject))
            }
            return .list(values)
        case .function(let name, let arguments):
            guard name.lowercased() == PredicateExpression.nowFunction, arguments.isEmpty else {
                throw unsupportedFunction(name)
            }
            return .date(now)
        case .variable(let name):
            throw refusal("$\(name) has no value; give it one with withSubstitutionVariables(_:)")
        case .keyPath(let name):
            throw refusal("\(subject) is compared with the key \"\(name)\"; compare it with a value")
        case .evaluatedObject:
            throw refusal(
                "SELF is for searches alone: self CONTAINS \"words\"; use recordID to compare the record itself")
        }
    }

    func unsupportedFunction(_ name: String) -> ServiceError {
        refusal(
            "the function \(name) is not supported here; supported are distanceToLocation:fromLocation: with < or <=, now, and tokenize:using: in searches"
        )
    }
}
