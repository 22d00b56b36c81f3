internal import BrumeModel

/// Terms at least one of which holds for every record that a predicate is true of. Without any, it is true of none.
struct SubscriptionAccess {
    var terms: [AccessTerm]
    /// About how many subscriptions a record that it lets through is evaluated for: less is better.
    private var cost: Int
    /// Whether it is about one value: of two such ranges of a key their intersection holds. A list may have an element
    /// in each.
    private var isOfOneValue = false

    /// Guesses, because it is not known how many subscriptions share one of these: they rank better than an equality
    /// that many share.
    private static let prefix = 8
    private static let boundedRange = 64
    private static let openRange = 4_096
    private static let never = SubscriptionAccess(terms: [], cost: -1)

    /// Returns nil when nothing is known of the records, so that the predicate has to be evaluated for each. It
    /// recurses, so the tree has to be of bounded depth.
    ///
    /// - Parameter load: How many subscriptions are filed under an equality already. Of several that all have to hold,
    ///   one that few share is chosen: `done == 0 AND title == "x"` goes under the title when many have `done == 0`.
    init?(_ predicate: Predicate, load: (AccessTerm) -> Int) {
        switch predicate {
        case .constant(false): self = .never
        case .constant(true), .text, .not: return nil
        case .comparison(let key, let comparison, let value), .anyElement(let key, let comparison, let value):
            self.init(key, comparison, value, load)
            if case .comparison = predicate { isOfOneValue = true }
        case .isIn(let key, let values), .anyElementIsIn(let key, let values):
            guard values.allSatisfy(\.isScalar) else { return nil }
            let terms = values.map { AccessTerm.equal(key, $0) }
            self.init(terms: terms, cost: terms.reduce(0) { $0 + load($1) })
        case .between(let key, let low, let high):
            guard let lower = OrderedValue(low), let upper = OrderedValue(high), lower.kind == upper.kind else {
                return nil
            }
            guard lower.order <= upper.order else {
                self = .never
                return
            }
            self.init(
                terms: [.range(key, lower.kind, lower.order...upper.order)], cost: SubscriptionAccess.boundedRange)
            isOfOneValue = true
        case .distance(let key, let latitude, _, let metres, _):
            // A degree of latitude has at least 110,574 metres.
            let degrees = metres / 110_000 + 1e-6
            self.init(
                terms: [
                    .range(
                        key, .latitudes,
                        OrderedValue.order(of: latitude - degrees)...OrderedValue.order(of: latitude + degrees))
                ], cost: SubscriptionAccess.boundedRange)
        case .and(let operands):
            guard let best = SubscriptionAccess.best(of: operands.compactMap { SubscriptionAccess($0, load: load) })
            else {
                return nil
            }
            self = best
        case .or(let operands):
            var union = SubscriptionAccess.never
            // Without operands it is true of no record.
            for operand in operands {
                guard let access = SubscriptionAccess(operand, load: load) else { return nil }
                union.terms += access.terms
                union.cost = max(union.cost, 0) + max(access.cost, 0)
            }
            self = union
        }
    }

    private init(terms: [AccessTerm], cost: Int) {
        self.terms = terms
        self.cost = cost
    }

    private init?(
        _ key: QueryKey, _ comparison: ComparisonOperator, _ value: FieldValue, _ load: (AccessTerm) -> Int
    ) {
        guard value.isScalar else { return nil }
        if comparison == .equal {
            self.init(terms: [.equal(key, value)], cost: load(.equal(key, value)))
            return
        }
        if comparison == .notEqual { return nil }
        if comparison == .beginsWith {
            guard case .string(let text) = value else { return nil }
            // Every text begins with an empty one.
            let prefix = Array(text.utf8.prefix(PrefixIndex.bytesLimit))
            if prefix.isEmpty { return nil }
            self.init(terms: [.prefix(key, prefix)], cost: SubscriptionAccess.prefix)
            return
        }
        guard let bound = OrderedValue(value) else { return nil }
        let isUpper = comparison == .less || comparison == .lessOrEqual
        self.init(
            terms: [.range(key, bound.kind, isUpper ? 0...bound.order : bound.order...UInt64.max)],
            cost: SubscriptionAccess.openRange)
    }

    /// The narrowest of several that all have to hold. Ranges of one key become their intersection.
    private static func best(of accesses: [SubscriptionAccess]) -> SubscriptionAccess? {
        struct RangeKey: Hashable {
            let key: QueryKey
            let kind: AccessTerm.RangeKind
        }
        var best: SubscriptionAccess?
        var ranges: [RangeKey: ClosedRange<UInt64>] = [:]
        func consider(_ access: SubscriptionAccess) {
            guard let known = best else {
                best = access
                return
            }
            if (access.cost, access.terms.count) < (known.cost, known.terms.count) { best = access }
        }
        for access in accesses {
            consider(access)
            guard access.isOfOneValue, case .range(let key, let kind, let range) = access.terms[0] else { continue }
            let rangeKey = RangeKey(key: key, kind: kind)
            guard let known = ranges[rangeKey] else {
                ranges[rangeKey] = range
                continue
            }
            let lower = max(known.lowerBound, range.lowerBound)
            let upper = min(known.upperBound, range.upperBound)
            if lower > upper { return never }
            ranges[rangeKey] = lower...upper
        }
        for (key, range) in ranges where range.lowerBound > 0 && range.upperBound < UInt64.max {
            consider(SubscriptionAccess(terms: [.range(key.key, key.kind, range)], cost: boundedRange))
        }
        return best
    }
}

extension FieldValue {
    /// Whether a term can be filed under it: not for lists, nor for what is equal to nothing.
    fileprivate var isScalar: Bool {
        switch self {
        case .string, .int64, .bytes, .location, .reference: true
        case .double(let number), .date(let number): !number.isNaN
        default: false
        }
    }
}
