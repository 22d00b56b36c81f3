internal import BrumeModel
internal import Foundation

/// Makes the tree of a Swift predicate, whose expressions are types of Foundation. See `SwiftPredicateNode` for what
/// each becomes.
struct SwiftPredicateReader {
    /// What a Swift expression becomes.
    enum Part {
        case predicate(PredicateNode)
        case expression(PredicateExpression)
        case range(lower: PredicateExpression?, upper: PredicateExpression?, includesUpper: Bool)
    }

    /// Stands for the element of a list in `list.contains { … }`. No key has such a name, and no text such a variable.
    private static let element = "element of a list"

    private let fieldKey: (AnyKeyPath) -> String?
    private let root: PredicateExpressions.VariableID
    private var elements: [PredicateExpressions.VariableID] = []

    static func read<Root: CKQueryableFields>(_ predicate: Foundation.Predicate<Root>) throws(CKError) -> PredicateNode
    {
        let reader = SwiftPredicateReader(
            fieldKey: { path in (path as? PartialKeyPath<Root>).flatMap(Root.fieldKey) }, root: predicate.variable.key)
        do throws(ServiceError) {
            return try reader.predicate(predicate.expression)
        } catch {
            throw CKError(error)
        }
    }

    private init(fieldKey: @escaping (AnyKeyPath) -> String?, root: PredicateExpressions.VariableID) {
        self.fieldKey = fieldKey
        self.root = root
    }

    // MARK: Parts

    func part(_ expression: Any) throws(ServiceError) -> Part {
        guard let node = expression as? any SwiftPredicateNode else {
            let type = String(describing: type(of: expression)).prefix { $0 != "<" }
            throw refusal(
                "a Swift predicate has the expression \(type), which is not supported; \(Self.advice[String(type)] ?? Self.supported)"
            )
        }
        return try node.part(in: self)
    }

    private static let supported =
        "supported are comparisons, &&, ||, !, contains on lists and ranges, and starts(with:)"

    /// For expressions that are likely to be tried.
    private static let advice = [
        "CollectionContainsCollection":
            "a part of a string can't be searched for: use starts(with:), or self CONTAINS in a format",
        "StringContainsRegex": "use starts(with:)",
        "NilCoalesce": "compare the property itself with == or \"!\": a record without the field matches no comparison",
        "OptionalFlatMap":
            "compare the property itself with == or \"!\": a record without the field matches no comparison",
        "SequenceAllSatisfy": "only one element of a list can be asked for, with contains",
        "Arithmetic": "calculate the value before the predicate",
    ]

    func predicate(_ expression: Any) throws(ServiceError) -> PredicateNode {
        switch try part(expression) {
        case .predicate(let node): return node
        case .expression(.constant(.integer(let value))): return .constant(value != 0)
        case .expression(.keyPath(let key)):
            return compared(.keyPath(key), .equalTo, .constant(.integer(1)))
        case .expression, .range: throw refusal("a Swift predicate has a value where it needs a condition; compare it")
        }
    }

    func expression(_ expression: Any) throws(ServiceError) -> PredicateExpression {
        switch try part(expression) {
        case .expression(let expression): return expression
        case .predicate:
            throw refusal("a Swift predicate compares conditions with each other; compare keys with values")
        case .range: throw refusal("a Swift predicate compares a range; ask whether it contains a key")
        }
    }

    func variable(_ id: PredicateExpressions.VariableID) throws(ServiceError) -> Part {
        if id == root { return .expression(.evaluatedObject) }
        guard elements.contains(id) else { throw refusal("a Swift predicate has a variable of another predicate") }
        return .expression(.variable(Self.element))
    }

    func keyPath(_ path: AnyKeyPath, of owner: Any) throws(ServiceError) -> Part {
        guard case .expression(.evaluatedObject) = try part(owner) else {
            throw refusal("a Swift predicate reaches into a field's value; only the record's own fields can be reached")
        }
        guard let key = fieldKey(path) else {
            throw refusal("a Swift predicate uses \(path), which stands for no field; name it in fieldKey(for:)")
        }
        return .expression(.keyPath(key))
    }

    // MARK: Conditions

    func compared(
        _ left: PredicateExpression, _ type: NSComparisonPredicate.Operator, _ right: PredicateExpression
    ) -> PredicateNode {
        .comparison(PredicateComparison(left: left, right: right, type: type))
    }

    /// `==` and `!=`, also of a condition with true or false.
    func equality(_ left: Any, _ right: Any, isEqual: Bool) throws(ServiceError) -> Part {
        switch (try part(left), try part(right)) {
        case (.predicate(let node), .expression(.constant(.integer(let value)))),
            (.expression(.constant(.integer(let value))), .predicate(let node)):
            return .predicate((value != 0) == isEqual ? node : .not(node))
        case (.expression(let left), .expression(let right)):
            return .predicate(compared(left, isEqual ? .equalTo : .notEqualTo, right))
        default:
            throw refusal("a Swift predicate compares conditions or ranges with each other; compare keys with values")
        }
    }

    func rangeContains(_ range: Any, _ element: Any) throws(ServiceError) -> Part {
        guard case .range(let lower, let upper, let includesUpper) = try part(range) else {
            throw refusal("a Swift predicate asks something else than a range or a list what it contains")
        }
        let key = try expression(element)
        if let lower, let upper, includesUpper {
            return .predicate(compared(key, .between, .aggregate([lower, upper])))
        }
        var conditions: [PredicateNode] = []
        if let lower { conditions.append(compared(key, .greaterThanOrEqualTo, lower)) }
        if let upper { conditions.append(compared(key, includesUpper ? .lessThanOrEqualTo : .lessThan, upper)) }
        return .predicate(.and(conditions))
    }

    /// `list.contains { $0 > value }`: one comparison of the element.
    func containsWhere(
        _ list: Any, _ variable: PredicateExpressions.VariableID, _ test: Any
    ) throws(ServiceError) -> Part {
        let key = try expression(list)
        var reader = self
        reader.elements.append(variable)
        let element = PredicateExpression.variable(Self.element)
        guard case .comparison(var comparison) = try reader.predicate(test), comparison.modifier == .direct,
            case .keyPath = key, (comparison.left == element) != (comparison.right == element)
        else {
            throw refusal("contains(where:) on a field takes one comparison of the element with a value")
        }
        if comparison.left == element { comparison.left = key } else { comparison.right = key }
        comparison.modifier = .any
        return .predicate(.comparison(comparison))
    }

    func refusal(_ sentence: String) -> ServiceError {
        ServiceError(.invalidArguments, sentence)
    }
}
