internal import BrumeGeodesy
internal import BrumeModel
internal import BrumeWire

/// The order of a query's matches: its sort descriptors, then creation.
///
/// Records without a value stand last in either direction, and so do those whose value has no order: a list, a location without
/// a place to be distant from. Values of different types stand type by type: numbers, dates, texts, bytes, references. Of texts and
/// bytes the first ``QueryCursor/SortValue/textBytes`` count.
struct SortOrder {
    struct Key {
        /// In the look-up.
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

    /// What a value is sorted by; nil: it stands last.
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

    /// The values of the record that was read last, to keep.
    var values: [QueryCursor.SortValue] { candidate.map(QueryCursor.SortValue.init) }

    /// Whether the record that was read last stands before (negative) or behind a row.
    func compareCandidate(created: ChangePosition, with row: QueryCursor) -> Int {
        for position in keys.indices {
            let order = row.values[position].withScalar {
                SortOrder.compare(candidate[position], $0, isAscending: keys[position].isAscending)
            }
            if order != 0 { return order }
        }
        return created == row.created ? 0 : created < row.created ? -1 : 1
    }

    func compare(_ left: QueryCursor, _ right: QueryCursor) -> Int {
        for position in keys.indices {
            let order = left.values[position].withScalar { left in
                right.values[position].withScalar { right in
                    SortOrder.compare(left, right, isAscending: keys[position].isAscending)
                }
            }
            if order != 0 { return order }
        }
        return left.created == right.created ? 0 : left.created < right.created ? -1 : 1
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
