internal import BrumeGeodesy
internal import BrumeModel
internal import BrumeWire

/// Finds the ways that indexes offer to a predicate's matches.
struct AccessBuilder {
    let recordType: String
    let searchableFields: SearchableFields
    let breaker: WordBreaker
    private let arena = ByteArena()

    init(recordType: String, searchableFields: SearchableFields, breaker: WordBreaker) {
        self.recordType = recordType
        self.searchableFields = searchableFields
        self.breaker = breaker
    }

    /// One way for each part of the outermost AND that has any. All hold, each by itself is enough.
    func accesses(for predicate: Predicate) -> [Access] {
        switch predicate {
        case .and(let operands): AccessBuilder.joiningRanges(operands.flatMap { accesses(for: $0) })
        case .text(let text, .allWords):
            WordHash.words(of: text, breaker).map { .stream(id(.words(searchableFields)), [PostingTree.Key($0)]) }
        default: access(for: predicate).map { [$0] } ?? []
        }
    }

    /// `x >= 1 AND x < 5` is one range: what bounds the same key from both sides is joined.
    private static func joiningRanges(_ accesses: [Access]) -> [Access] {
        var joined: [Access] = []
        var placeOfIndex: [IndexID: Int] = [:]
        for access in accesses {
            guard case .ranges(let id, let ranges) = access, case .order = id.kind, ranges.count == 1 else {
                joined.append(access)
                continue
            }
            guard let place = placeOfIndex[id], case .ranges(_, let others) = joined[place] else {
                placeOfIndex[id] = joined.count
                joined.append(access)
                continue
            }
            // No record has two values of a key: without a common one nothing matches.
            guard others[0].overlaps(ranges[0]) else { return [.union([])] }
            joined[place] = .ranges(id, [others[0].clamped(to: ranges[0])])
        }
        return joined
    }

    private func access(for predicate: Predicate) -> Access? {
        switch predicate {
        case .constant(false): return .union([])
        case .comparison(let key, let comparison, let value):
            return scalar(value).flatMap { access(key, comparison, $0) }
        case .between(let key, let low, let high):
            guard let low = scalar(low), let high = scalar(high), ScalarOrder.rank(low) == ScalarOrder.rank(high),
                ScalarOrder.rank(low) < 5
            else { return nil }
            let (first, last) = (IndexKeys.order(low), IndexKeys.order(high))
            return first <= last ? .ranges(id(.order(key)), [first...last]) : .union([])
        case .isIn(let key, let values): return access(key, values)
        case .anyElement(let key, .equal, let value): return scalar(value).flatMap { members(key, [$0]) }
        case .anyElementIsIn(let key, let values): return members(key, values.compactMap { scalar($0) })
        case .text(let text, _):
            let words = WordHash.words(of: text, breaker)
            return keyed(.words(searchableFields), words.map { PostingTree.Key($0) })
        case .distance(let key, let latitude, let longitude, let metres, let isInclusive):
            let circle = GeoCircle(
                centre: .init(latitude: latitude, longitude: longitude), metres: metres, isInclusive: isInclusive)
            return IndexKeys.ranges(covering: circle).map { .ranges(id(.places(key)), $0) }
        case .and(let operands):
            // Which part leads to the fewest records is not known here; where two bound one key, it is their range.
            let parts = accesses(for: .and(operands))
            return parts.first { if case .ranges = $0 { false } else { true } } ?? parts.first
        case .or(let operands):
            var branches: [Access] = []
            for operand in operands {
                guard let branch = access(for: operand) else { return nil }
                branches.append(branch)
            }
            return .union(branches)
        case .not, .constant, .anyElement: return nil
        }
    }

    private func access(_ key: QueryKey, _ comparison: ComparisonOperator, _ value: StoredScalar) -> Access? {
        switch comparison {
        case .notEqual: return nil
        case .equal: return equality(key, [value])
        case .beginsWith:
            guard case .string(let text) = value else { return .union([]) }
            return .ranges(id(.order(key)), [IndexKeys.beginning(with: text)])
        default:
            if case .location = value { return nil }
            let all = IndexKeys.all(like: value)
            let own = IndexKeys.order(value)
            let isUpper = comparison == .less || comparison == .lessOrEqual
            return .ranges(id(.order(key)), [isUpper ? all.lowerBound...own : own...all.upperBound])
        }
    }

    private func access(_ key: QueryKey, _ values: [FieldValue]) -> Access? {
        let scalars = values.compactMap { scalar($0) }
        var numbers: [StoredScalar] = []
        var others: [StoredScalar] = []
        for scalar in scalars {
            if ScalarOrder.rank(scalar) < 2 { numbers.append(scalar) } else { others.append(scalar) }
        }
        switch (numbers.isEmpty, others.isEmpty) {
        case (false, true): return equality(key, numbers)
        case (true, _): return equality(key, others)
        case (false, false):
            guard let first = equality(key, numbers), let second = equality(key, others) else { return nil }
            return .union([first, second])
        }
    }

    /// Of values that are all numbers and dates, or none.
    private func equality(_ key: QueryKey, _ values: [StoredScalar]) -> Access? {
        guard let first = values.first else { return .union([]) }
        if ScalarOrder.rank(first) < 2 { return keyed(.order(key), values.map { IndexKeys.order($0) }) }
        if key == .recordID {
            return .names(
                values.compactMap { value in
                    if case .reference(let name) = value { return String(decoding: name, as: UTF8.self) }
                    return nil
                })
        }
        return keyed(.equality(key), values.compactMap { IndexKeys.equality($0) })
    }

    private func members(_ key: QueryKey, _ values: [StoredScalar]) -> Access? {
        keyed(.members(key), values.compactMap { IndexKeys.equality($0) })
    }

    private func keyed(_ kind: IndexID.Kind, _ keys: [PostingTree.Key]) -> Access {
        let keys = Set(keys).sorted()
        if keys.isEmpty { return .union([]) }
        if keys.count <= Access.streamKeys { return .stream(id(kind), keys) }
        return .ranges(id(kind), keys.map { $0...$0 })
    }

    private func id(_ kind: IndexID.Kind) -> IndexID { IndexID(recordType: recordType, kind: kind) }

    private func scalar(_ value: FieldValue) -> StoredScalar? {
        let scalars = PredicateCompiler.scalars(of: value, arena)
        return scalars.isList ? nil : scalars.values.first
    }
}
