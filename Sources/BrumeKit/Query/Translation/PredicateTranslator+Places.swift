internal import BrumeModel

extension PredicateTranslator {
    /// `distanceToLocation:fromLocation:(key, place) < metres`; nil when the comparison is about something else.
    func distance(_ comparison: PredicateComparison) throws(ServiceError) -> BrumeModel.Predicate? {
        let call: [PredicateExpression]
        let limit: PredicateExpression
        let type: NSComparisonPredicate.Operator
        switch (Self.distanceArguments(comparison.left), Self.distanceArguments(comparison.right)) {
        case (nil, nil): return nil
        case (.some, .some): throw refusal("two distances are compared; compare a distance with a number of metres")
        case (let arguments?, nil): (call, limit, type) = (arguments, comparison.right, comparison.type)
        case (nil, let arguments?):
            (call, limit, type) = (arguments, comparison.left, comparison.type.turned ?? comparison.type)
        }
        guard type == .lessThan || type == .lessThanOrEqualTo, comparison.modifier == .direct,
            comparison.options.isEmpty
        else {
            throw refusal(
                "a distance is compared by \(type.text); only records nearer than so many metres can be asked for, by < or <="
            )
        }
        let (key, place) = try keyAndPlace(call)
        let metres: Double
        switch try value(limit, "a distance") {
        case .integer(let value): metres = Double(value)
        case .double(let value) where value.isFinite: metres = value
        default: throw refusal("a distance is compared with something else than a number; give it metres")
        }
        guard metres >= 0 else {
            throw refusal("a distance is compared with a negative number; give it 0 or more metres")
        }
        return .distance(
            key, latitude: place.latitude, longitude: place.longitude, metres: metres,
            isInclusive: type == .lessThanOrEqualTo)
    }

    private static func distanceArguments(_ expression: PredicateExpression) -> [PredicateExpression]? {
        guard case .function(PredicateExpression.distanceFunction, let arguments) = expression else { return nil }
        return arguments
    }

    private func keyAndPlace(
        _ arguments: [PredicateExpression]
    ) throws(ServiceError) -> (QueryKey, CLLocationCoordinate2D) {
        let name: String
        let other: PredicateExpression
        switch arguments.count == 2 ? (arguments[0], arguments[1]) : (.evaluatedObject, .evaluatedObject) {
        case (.keyPath(let key), let expression), (let expression, .keyPath(let key)): (name, other) = (key, expression)
        default:
            throw refusal("distanceToLocation:fromLocation: takes a key and a CLLocation: (place, %@)")
        }
        let key = try QueryKey(checking: name, "a predicate")
        guard case .field = key, case .location(let location) = try value(other, "\"\(name)\"") else {
            throw refusal(
                "distanceToLocation:fromLocation: takes the key of a field of places and a CLLocation: (place, %@)")
        }
        if let problem = location.coordinate.problem { throw refusal("a distance \(problem)") }
        return (key, location.coordinate)
    }
}
