internal import BrumeModel
internal import Foundation

extension NSPredicate {
    /// The predicate of an answer, as an app could have written it.
    static func make(_ predicate: BrumeModel.Predicate) -> NSPredicate { make(PredicateNode(predicate)) }
}

extension PredicateNode {
    /// The tree of a predicate from the server. References are of the default zone, since a field says nothing of
    /// theirs. For trees whose depth was checked: it recurses.
    init(_ predicate: BrumeModel.Predicate) {
        switch predicate {
        case .constant(let value): self = .constant(value)
        case .and(let operands): self = .and(operands.map { PredicateNode($0) })
        case .or(let operands): self = .or(operands.map { PredicateNode($0) })
        case .not(let operand): self = .not(PredicateNode(operand))
        case .comparison(let key, let comparison, let value):
            self.init(key, Self.type(of: comparison), PredicateValue(value))
        case .between(let key, let low, let high):
            self.init(key, .between, .list([PredicateValue(low), PredicateValue(high)]))
        case .isIn(let key, let values):
            self.init(key, .in, .list(values.map { PredicateValue($0) }))
        case .anyElement(let key, .equal, let value):
            self.init(key, .contains, PredicateValue(value))
        case .anyElement(let key, let comparison, let value):
            self.init(key, Self.type(of: comparison), PredicateValue(value), .any)
        case .anyElementIsIn(let key, let values):
            self.init(key, .in, .list(values.map { PredicateValue($0) }), .any)
        case .text(let words, .anyWord):
            self = .comparison(
                PredicateComparison(left: .evaluatedObject, right: .constant(.string(words)), type: .contains))
        case .text(let words, .allWords):
            self = .comparison(
                PredicateComparison(left: .keyPath("allTokens"), right: .constant(.string(words)), type: .tokenMatches))
        case .distance(let key, let latitude, let longitude, let metres, let isInclusive):
            let place = CLLocation(latitude: latitude, longitude: longitude)
            let distance = PredicateExpression.function(
                name: PredicateExpression.distanceFunction,
                arguments: [.keyPath(key.name), .constant(.location(place))])
            self = .comparison(
                PredicateComparison(
                    left: distance, right: .constant(.double(metres)),
                    type: isInclusive ? .lessThanOrEqualTo : .lessThan))
        }
    }

    private init(
        _ key: QueryKey, _ type: NSComparisonPredicate.Operator, _ value: PredicateValue,
        _ modifier: NSComparisonPredicate.Modifier = .direct
    ) {
        self = .comparison(
            PredicateComparison(left: .keyPath(key.name), right: .constant(value), modifier: modifier, type: type))
    }

    private static func type(of comparison: ComparisonOperator) -> NSComparisonPredicate.Operator {
        switch comparison {
        case .equal: .equalTo
        case .notEqual: .notEqualTo
        case .less: .lessThan
        case .lessOrEqual: .lessThanOrEqualTo
        case .greater: .greaterThan
        case .greaterOrEqual: .greaterThanOrEqualTo
        case .beginsWith: .beginsWith
        }
    }
}

extension PredicateValue {
    /// A value of a predicate from the server.
    fileprivate init(_ value: FieldValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .int64(let number): self = .integer(number)
        case .double(let number): self = Self.double(checking: number)
        case .date(let seconds): self = Self.date(checking: seconds)
        case .bytes(let bytes): self = .data(Data(bytes))
        case .location(let place): self = Self.location(checking: CLLocation(place))
        case .reference(let reference):
            self =
                CKRecord.ID.problem(withName: reference.recordName) == nil
                ? .recordID(CKRecord.ID(recordName: reference.recordName))
                : .unsupported("a reference has a name that no record can have")
        case .strings(let texts): self = .list(texts.map { .string($0) })
        case .int64s(let numbers): self = .list(numbers.map { .integer($0) })
        case .doubles(let numbers): self = .list(numbers.map { Self.double(checking: $0) })
        case .dates(let dates): self = .list(dates.map { Self.date(checking: $0) })
        case .bytesList(let list): self = .list(list.map { .data(Data($0)) })
        case .locations(let places): self = .list(places.map { Self.location(checking: CLLocation($0)) })
        case .references(let references): self = .list(references.map { PredicateValue(.reference($0)) })
        case .emptyList: self = .list([])
        case .asset, .assets: self = .unsupported("queries don't look at assets")
        case .encrypted: self = .unsupported("queries don't look at encrypted values")
        }
    }
}
