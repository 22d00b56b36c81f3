internal import BrumeGeodesy
internal import BrumeModel
internal import BrumeRecord

/// Finds the ways that indexes offer to a predicate's matches, and says what they leave to be checked.
///
/// Keys of words, elements and texts as a whole are hashes with a random key, and equal hashes are taken for equal
/// values, as ``WordHash`` has it. Keys of an order decide where ``IndexKeys/isExact(_:)`` says so, and records under
/// the others are checked.
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

    /// A path for each part of the outermost AND that has one, and a path for each word where all words are searched
    /// for. A match is on all of them, so each by itself is enough.
    func paths(for predicate: Predicate) -> [AccessPath] {
        var paths: [AccessPath] = []
        for (part, term) in PredicateCompiler.parts(of: predicate).enumerated() {
            if case .text(let text, .allWords) = term {
                for word in WordHash.words(of: text, breaker) {
                    paths.append(
                        AccessPath(
                            access: .stream(id(.words(searchableFields)), [PostingTree.Key(word)]), parts: [part]))
                }
            } else if let found = access(for: term) {
                paths.append(
                    AccessPath(
                        access: found.access, parts: found.isExact ? [part] : [],
                        doubtfulKeys: found.isExact ? found.doubtfulKeys : []))
            }
        }
        return AccessBuilder.joiningRanges(paths)
    }

    /// `x >= 1 AND x < 5` is one range: what bounds the same key from both sides is joined.
    private static func joiningRanges(_ paths: [AccessPath]) -> [AccessPath] {
        var joined: [AccessPath] = []
        var placeOfIndex: [IndexID: Int] = [:]
        for path in paths {
            guard case .ranges(let id, let ranges) = path.access, case .order = id.kind, ranges.count == 1 else {
                joined.append(path)
                continue
            }
            guard let place = placeOfIndex[id], case .ranges(_, let others) = joined[place].access else {
                placeOfIndex[id] = joined.count
                joined.append(path)
                continue
            }
            // No record has two values of a key: without a common value nothing matches.
            guard others[0].overlaps(ranges[0]) else { return [AccessPath(access: .union([]))] }
            joined[place].access = .ranges(id, [others[0].clamped(to: ranges[0])])
            joined[place].parts += path.parts
            joined[place].doubtfulKeys += path.doubtfulKeys
        }
        return joined
    }

    private func access(for predicate: Predicate) -> TermAccess? {
        switch predicate {
        case .constant(false): return .nothing
        case .comparison(let key, let comparison, let value):
            return scalar(value).flatMap { access(key, comparison, $0) }
        case .between(let key, let low, let high):
            guard let low = scalar(low), let high = scalar(high), ScalarOrder.rank(low) == ScalarOrder.rank(high),
                let first = range(.greaterOrEqual, low), let last = range(.lessOrEqual, high)
            else { return nil }
            guard let lower = first.range, let upper = last.range, lower.overlaps(upper) else { return .nothing }
            return TermAccess(
                access: .ranges(id(.order(key)), [lower.clamped(to: upper)]), isExact: true,
                doubtfulKeys: first.doubtfulKeys + last.doubtfulKeys)
        case .isIn(let key, let values): return access(key, values)
        case .anyElement(let key, .equal, let value): return scalar(value).map { members(key, [$0]) }
        case .anyElementIsIn(let key, let values): return members(key, values.compactMap { scalar($0) })
        case .text(let text, let match):
            let words = WordHash.words(of: text, breaker)
            return TermAccess(
                access: keyed(.words(searchableFields), words.map { PostingTree.Key($0) }),
                isExact: match == .anyWord || words.count < 2)
        case .distance(let key, let latitude, let longitude, let metres, let isInclusive):
            let circle = GeoCircle(
                centre: .init(latitude: latitude, longitude: longitude), metres: metres, isInclusive: isInclusive)
            return IndexKeys.ranges(covering: circle).map {
                TermAccess(access: .ranges(id(.places(key)), $0), isExact: false)
            }
        case .and(let operands):
            // Which part leads to the fewest records is not known here; where two bound one key, it is their range.
            let accesses = paths(for: .and(operands)).map(\.access)
            let best = accesses.first { if case .ranges = $0 { false } else { true } } ?? accesses.first
            return best.map { TermAccess(access: $0, isExact: false) }
        case .or(let operands):
            var branches: [TermAccess] = []
            for operand in operands {
                guard let branch = access(for: operand) else { return nil }
                branches.append(branch)
            }
            return TermAccess(
                access: .union(branches.map(\.access)),
                isExact: branches.allSatisfy { $0.isExact && $0.doubtfulKeys.isEmpty })
        case .not, .constant, .anyElement: return nil
        }
    }

    private func access(_ key: QueryKey, _ comparison: ComparisonOperator, _ value: StoredScalar) -> TermAccess? {
        switch comparison {
        case .notEqual: return nil
        case .equal: return equality(key, [value])
        case .beginsWith:
            guard case .string(let text) = value else { return .nothing }
            return TermAccess(
                access: .ranges(id(.order(key)), [IndexKeys.beginning(with: text)]),
                isExact: IndexKeys.isExact(beginning: text))
        default:
            guard let found = range(comparison, value) else { return nil }
            guard let range = found.range else { return .nothing }
            return TermAccess(
                access: .ranges(id(.order(key)), [range]), isExact: true, doubtfulKeys: found.doubtfulKeys)
        }
    }

    /// The keys of all values that compare so with the given one; no range when none does. Returns nil for a value
    /// without an order.
    private func range(
        _ comparison: ComparisonOperator, _ value: StoredScalar
    ) -> (range: ClosedRange<PostingTree.Key>?, doubtfulKeys: [PostingTree.Key])? {
        if case .location = value { return nil }
        let all = IndexKeys.all(like: value)
        let own = IndexKeys.order(value)
        let notANumber = IndexKeys.notANumber(like: value)
        if own == notANumber { return (nil, []) }
        var (first, last) = (own, own)
        if comparison == .less || comparison == .lessOrEqual { first = all.lowerBound } else { last = all.upperBound }
        // NaN comes after all numbers, but is not greater than any.
        var doubtful = notANumber.map { [$0] } ?? []
        if !IndexKeys.isExact(own) {
            doubtful.append(own)
        } else if comparison == .greater {
            first += 1
        } else if comparison == .less {
            if own == all.lowerBound { return (nil, []) }
            last -= 1
        }
        return (first...last, doubtful)
    }

    private func access(_ key: QueryKey, _ values: [FieldValue]) -> TermAccess? {
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
            let (first, second) = (equality(key, numbers), equality(key, others))
            return TermAccess(access: .union([first.access, second.access]), isExact: first.isExact && second.isExact)
        }
    }

    /// The access to the records that equal one of some values, which are all numbers and dates, or none of them is.
    private func equality(_ key: QueryKey, _ values: [StoredScalar]) -> TermAccess {
        guard let first = values.first else { return .nothing }
        if ScalarOrder.rank(first) < 2 {
            return TermAccess(
                access: keyed(.order(key), values.map { IndexKeys.order($0) }),
                isExact: values.allSatisfy { IndexKeys.isEqualityExact($0) })
        }
        if key == .recordID {
            let names: [String] = values.compactMap { value in
                if case .reference(let name) = value { return String(decoding: name, as: UTF8.self) }
                return nil
            }
            return TermAccess(access: .names(names), isExact: false)
        }
        return TermAccess(
            access: keyed(.equality(key), values.compactMap { IndexKeys.equality($0) }),
            isExact: values.allSatisfy { IndexKeys.isEqualityExact($0) })
    }

    private func members(_ key: QueryKey, _ values: [StoredScalar]) -> TermAccess {
        TermAccess(
            access: keyed(.members(key), values.compactMap { IndexKeys.equality($0) }),
            isExact: values.allSatisfy { IndexKeys.isEqualityExact($0) })
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
