package import BrumeModel
package import CBrumeProto

/// The leaves of a predicate's tree: comparisons, memberships, ranges, searches, distances and constants.
extension MessageArena {
    package func queryKey(_ key: QueryKey) -> Pointer<Brume__V1__QueryKey> {
        let message = make(brume__v1__query_key__init)
        if case .field(let name) = key {
            message.pointee.kind_case = BRUME__V1__QUERY_KEY__KIND_FIELD
            message.pointee.field = data(name)
        } else {
            message.pointee.kind_case = BRUME__V1__QUERY_KEY__KIND_SYSTEM
            message.pointee.system = key.systemKey
        }
        return message
    }

    /// Writes a term: any node except AND, OR and NOT.
    package func term(_ term: Predicate, into node: Pointer<Brume__V1__PredicateNode>) {
        switch term {
        case .constant(let value):
            node.pointee.kind_case = BRUME__V1__PREDICATE_NODE__KIND_CONSTANT
            node.pointee.constant = value ? 1 : 0
        case .comparison(let key, let comparison, let value):
            set(node, comparison: key, comparison, value, anyElement: false)
        case .anyElement(let key, let comparison, let value):
            set(node, comparison: key, comparison, value, anyElement: true)
        case .isIn(let key, let values):
            set(node, membership: key, values, anyElement: false)
        case .anyElementIsIn(let key, let values):
            set(node, membership: key, values, anyElement: true)
        case .between(let key, let low, let high):
            let message = make(brume__v1__between__init)
            message.pointee.key = queryKey(key)
            message.pointee.low = value(low)
            message.pointee.high = value(high)
            node.pointee.kind_case = BRUME__V1__PREDICATE_NODE__KIND_BETWEEN
            node.pointee.between = message
        case .text(let words, let match):
            let message = make(brume__v1__text_search__init)
            message.pointee.text = data(words)
            message.pointee.match = Brume__V1__TextMatch(UInt32(match.rawValue))
            node.pointee.kind_case = BRUME__V1__PREDICATE_NODE__KIND_TEXT
            node.pointee.text = message
        case .distance(let key, let latitude, let longitude, let metres, let isInclusive):
            let message = make(brume__v1__distance__init)
            message.pointee.key = queryKey(key)
            message.pointee.latitude = latitude
            message.pointee.longitude = longitude
            message.pointee.metres = metres
            message.pointee.inclusive = isInclusive ? 1 : 0
            node.pointee.kind_case = BRUME__V1__PREDICATE_NODE__KIND_DISTANCE
            node.pointee.distance = message
        case .and, .or, .not:
            preconditionFailure("a connective of a predicate is no term")
        }
    }

    private func set(
        _ node: Pointer<Brume__V1__PredicateNode>, comparison key: QueryKey, _ comparison: ComparisonOperator,
        _ value: FieldValue, anyElement: Bool
    ) {
        let message = make(brume__v1__comparison__init)
        message.pointee.key = queryKey(key)
        message.pointee.operator_ = Brume__V1__ComparisonOperator(UInt32(comparison.rawValue))
        message.pointee.value = self.value(value)
        message.pointee.any_element = anyElement ? 1 : 0
        node.pointee.kind_case = BRUME__V1__PREDICATE_NODE__KIND_COMPARISON
        node.pointee.comparison = message
    }

    private func set(
        _ node: Pointer<Brume__V1__PredicateNode>, membership key: QueryKey, _ values: [FieldValue], anyElement: Bool
    ) {
        let message = make(brume__v1__membership__init)
        message.pointee.key = queryKey(key)
        message.pointee.n_values = values.count
        message.pointee.values = messages(values, value)
        message.pointee.any_element = anyElement ? 1 : 0
        node.pointee.kind_case = BRUME__V1__PREDICATE_NODE__KIND_MEMBERSHIP
        node.pointee.membership = message
    }
}

extension Predicate {
    /// Reads a leaf and adds its terms and values to `size`.
    package init(term node: UnsafeMutablePointer<Brume__V1__PredicateNode>, size: inout PredicateSize)
        throws(ServiceError)
    {
        size.terms += 1
        switch node.pointee.kind_case {
        case BRUME__V1__PREDICATE_NODE__KIND_CONSTANT:
            self = .constant(node.pointee.constant != 0)
        case BRUME__V1__PREDICATE_NODE__KIND_COMPARISON:
            size.values += 1
            let message = node.pointee.comparison.pointee
            guard
                let comparison = UInt8(exactly: message.operator_.rawValue).flatMap(ComparisonOperator.init(rawValue:))
            else {
                throw ServiceError(
                    .invalidArguments,
                    "a comparison has the unknown operator \(message.operator_.rawValue); use one of brume.v1.ComparisonOperator"
                )
            }
            let terms = try TermReader(message.key, isAnyElement: message.any_element != 0)
            let value = try terms.value(message.value, comparison)
            self =
                message.any_element != 0
                ? .anyElement(terms.key, comparison, value) : .comparison(terms.key, comparison, value)
        case BRUME__V1__PREDICATE_NODE__KIND_MEMBERSHIP:
            let message = node.pointee.membership.pointee
            size.values += message.n_values
            if let problem = size.problem { throw problem }
            let terms = try TermReader(message.key, isAnyElement: message.any_element != 0)
            let list = try values(message.values, message.n_values) { (value) throws(ServiceError) in
                try terms.value(value, .equal)
            }
            self = message.any_element != 0 ? .anyElementIsIn(terms.key, list) : .isIn(terms.key, list)
        case BRUME__V1__PREDICATE_NODE__KIND_BETWEEN:
            size.values += 2
            let message = node.pointee.between.pointee
            let terms = try TermReader(message.key, isAnyElement: false)
            self = .between(
                terms.key, try terms.value(message.low, .greaterOrEqual), try terms.value(message.high, .lessOrEqual))
        case BRUME__V1__PREDICATE_NODE__KIND_TEXT:
            size.values += 1
            let message = node.pointee.text.pointee
            guard let match = UInt8(exactly: message.match.rawValue).flatMap(TextMatch.init(rawValue:)) else {
                throw ServiceError(
                    .invalidArguments,
                    "a text search has the unknown match \(message.match.rawValue); use one of brume.v1.TextMatch")
            }
            size.searchBytes += message.text.len
            self = .text(try BrumeRecord.text(message.text, "the text of a search"), match)
        case BRUME__V1__PREDICATE_NODE__KIND_DISTANCE:
            size.values += 1
            self = try Self(distance: node.pointee.distance.pointee)
        default:
            throw ServiceError(
                .invalidArguments,
                "a predicate has a node without a kind that this server knows; send one of brume.v1.PredicateNode's")
        }
    }

    private init(distance message: Brume__V1__Distance) throws(ServiceError) {
        let key = try QueryKey(message.key)
        guard case .field = key else {
            throw ServiceError(
                .invalidArguments, "\"\(key.name)\" is no location; ask for the distance of a field with locations")
        }
        if let problem = QuerySort.Place.problem(latitude: message.latitude, longitude: message.longitude) {
            throw ServiceError(.invalidArguments, problem)
        }
        guard message.metres.isFinite, message.metres >= 0 else {
            throw ServiceError(
                .invalidArguments, "a distance is no finite number of metres; give it 0 or more metres")
        }
        self = .distance(
            key, latitude: message.latitude, longitude: message.longitude, metres: message.metres,
            isInclusive: message.inclusive != 0)
    }
}
