internal import BrumeGeodesy
internal import BrumeModel
internal import BrumeRecord

/// The order of a query's matches: its sort descriptors, then creation.
///
/// Records without a value stand last in either direction, and so do those whose value has no order: a list, a location
/// without a place to be distant from. Values of different types stand type by type: numbers, dates, texts, bytes,
/// references. Of texts and bytes the first ``QueryCursor/SortValue/textBytes`` count.
struct SortOrder {
    struct Key {
        /// The index of its value in the look-up.
        let index: Int
        let isAscending: Bool
        /// Sorts by the distance from here.
        let place: Geodesic.Coordinate?
    }

    let keys: [Key]
    /// The values of the record that was read last; they point into it.
    private(set) var candidate: [StoredScalar?]

    init(_ sorts: [QuerySort], _ evaluator: PredicateEvaluator) {
        keys = sorts.map { sort in
            Key(
                index: evaluator.index(of: sort.key)!, isAscending: sort.isAscending,
                place: sort.relativeTo.map { .init(latitude: $0.latitude, longitude: $0.longitude) })
        }
        candidate = [StoredScalar?](repeating: nil, count: sorts.count)
    }

    var isEmpty: Bool { keys.isEmpty }

    mutating func read(_ fields: FieldLookup) {
        for position in keys.indices {
            candidate[position] = SortOrder.scalar(fields[keys[position].index], from: keys[position].place)
        }
    }

    /// What a value is sorted by; nil for one that comes last.
    static func scalar(_ value: StoredValue, from place: Geodesic.Coordinate?) -> StoredScalar? {
        guard case .scalar(let scalar) = value else { return nil }
        switch scalar {
        case .location(let latitude, let longitude):
            guard let place else { return nil }
            let distance = Geodesic.distance(from: place, to: .init(latitude: latitude, longitude: longitude))
            return distance.isNaN ? nil : .double(distance)
        case _ where place != nil: return nil
        case .string(let text): return .string(beginning(text))
        case .bytes(let bytes): return .bytes(beginning(bytes))
        case .int64, .double, .date, .reference: return scalar
        }
    }

    private static func beginning(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes.prefix(QueryCursor.SortValue.textBytes))
    }

    /// Sets the value of the only sort descriptor, which is known without reading the record.
    mutating func read(_ value: StoredScalar?) {
        candidate[0] = value
    }

    /// Where a row stands in the order. The first value is in place, because one is all that most orders have.
    struct Place {
        let first: QueryCursor.SortValue
        let others: [QueryCursor.SortValue]
        let created: ChangePosition

        /// A cursor after the row.
        func cursor(_ order: SortOrder) -> QueryCursor {
            QueryCursor(values: order.isEmpty ? [] : [first] + others, created: created)
        }
    }

    /// The place of the record that was read last.
    func place(created: ChangePosition) -> Place {
        if candidate.isEmpty { return Place(first: .missing, others: [], created: created) }
        return Place(
            first: .init(candidate[0]), others: candidate.count == 1 ? [] : candidate.dropFirst().map { .init($0) },
            created: created)
    }

    func place(_ cursor: QueryCursor) -> Place {
        Place(first: cursor.values.first ?? .missing, others: Array(cursor.values.dropFirst()), created: cursor.created)
    }

    /// Whether the record that was read last comes before (negative) or after a row.
    func compareCandidate(created: ChangePosition, with row: Place) -> Int {
        for position in keys.indices {
            let order = (position == 0 ? row.first : row.others[position - 1]).withScalar {
                SortOrder.compare(candidate[position], $0, isAscending: keys[position].isAscending)
            }
            if order != 0 { return order }
        }
        return SortOrder.compare(created, row.created)
    }

    func compare(_ left: Place, _ right: Place) -> Int {
        for position in keys.indices {
            let order = (position == 0 ? left.first : left.others[position - 1]).withScalar { leftValue in
                (position == 0 ? right.first : right.others[position - 1]).withScalar { rightValue in
                    SortOrder.compare(leftValue, rightValue, isAscending: keys[position].isAscending)
                }
            }
            if order != 0 { return order }
        }
        return SortOrder.compare(left.created, right.created)
    }

    private static func compare(_ left: ChangePosition, _ right: ChangePosition) -> Int {
        left.rawValue == right.rawValue ? 0 : left.rawValue < right.rawValue ? -1 : 1
    }

    static func compare(_ left: StoredScalar?, _ right: StoredScalar?, isAscending: Bool) -> Int {
        guard let left else { return right == nil ? 0 : 1 }
        guard let right else { return -1 }
        let order = ScalarOrder.total(left, right)
        return isAscending ? order : -order
    }
}

extension QueryCursor.SortValue {
    init(_ scalar: StoredScalar?) {
        switch scalar {
        case .int64(let number): self = .int64(number)
        case .double(let number): self = .double(number)
        case .date(let date): self = .date(date)
        case .string(let text): self = .string([UInt8](text))
        case .bytes(let bytes): self = .bytes([UInt8](bytes))
        case .reference(let name): self = .reference([UInt8](name))
        case .location, nil: self = .missing
        }
    }

    /// The value as one of a record; nil for a missing one.
    func withScalar<Result>(_ body: (StoredScalar?) -> Result) -> Result {
        switch self {
        case .int64(let number): body(.int64(number))
        case .double(let number): body(.double(number))
        case .date(let date): body(.date(date))
        case .string(let text): text.withUnsafeBytes { body(.string($0)) }
        case .bytes(let bytes): bytes.withUnsafeBytes { body(.bytes($0)) }
        case .reference(let name): name.withUnsafeBytes { body(.reference($0)) }
        case .missing: body(nil)
        }
    }
}
