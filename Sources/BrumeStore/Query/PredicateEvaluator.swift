internal import BrumeGeodesy
package import BrumeModel
internal import BrumeWire

/// Says which records match a predicate: for queries, and for query subscriptions.
///
/// Made once for a predicate, then asked for any number of records in their stored form; a record costs one walk over its fields,
/// which stops behind the last one that is needed, and no allocation (but for words of other scripts than Latin in a search). Not
/// thread-safe: it belongs to the loop of its database.
///
/// The rules are Kleene's (see `Predicate`): a comparison is true, false or unknown, and a record matches when the whole is true.
/// Unknown is
/// - any comparison with a field that the record does not have,
/// - a comparison of values of different types: a number with a text, a list with a single value, or `<` of locations. Int64 and
///   double are one type here (``ScalarOrder``).
///
/// `IN` is the OR of its `==`. `ANY` of a list is true where it holds for an element, unknown where it holds for none and some
/// element is of another type, else false; so it is false for an empty list. Two lists compare by `==` and `!=` only, element
/// by element. A search is true or false; one without any word in it, or of stop words alone, matches nothing.
package final class PredicateEvaluator {
    /// One node of the tree, in preorder. Trivial.
    struct Node {
        enum Kind: UInt8 {
            case constant, comparison, listComparison, between, isIn, anyElement, anyElementIsIn, text, distance
            case and, or, not
        }

        var kind: Kind
        var comparison = ComparisonOperator.equal
        /// Of a constant: whether it is true. Of a search: whether all words must be there.
        var flag = false
        /// Index of the key in the look-up.
        var key: Int32 = 0
        /// Where its constants, words or circle stand.
        var first: Int32 = 0
        var count: Int32 = 0
        /// Where the next sibling stands.
        var end: Int32 = 0
    }

    let nodes: [Node]
    /// Where the operands of the outermost AND stand, in the order of ``PredicateCompiler/parts(of:)``; a predicate that is no AND
    /// is its only part. A record matches when all parts are true.
    let parts: [Int]
    /// Point into `arena`. Those of an `IN` are sorted.
    let constants: [StoredScalar]
    let circles: [GeoCircle]
    /// All words of all searches, sorted.
    let words: [UInt64]
    /// Indexes into `words`, search by search.
    let wordIndexes: [Int32]
    let fields: FieldLookup
    /// In the order of the look-up's indexes.
    let keys: [QueryKey]
    let searchableFields: SearchableFields
    private let arena: ByteArena
    private let breaker: WordBreaker?
    /// Which of `words` the record has.
    private var foundWords: [Bool]
    private var isTextRead = false

    /// - Parameter searchableFields: Where searches look.
    package convenience init(_ predicate: Predicate, searchableFields: SearchableFields = .all) {
        self.init(predicate, alsoReading: [], searchableFields: searchableFields, breaker: nil)
    }

    /// - Parameters:
    ///   - otherKeys: Are looked up as well, for the caller.
    ///   - breaker: One to share, or nil for an own one where it is needed.
    init(
        _ predicate: Predicate, alsoReading otherKeys: [QueryKey], searchableFields: SearchableFields,
        breaker: WordBreaker?
    ) {
        var compiler = PredicateCompiler(breaker: breaker)
        compiler.compile(predicate)
        for key in otherKeys { _ = compiler.index(of: key) }
        nodes = compiler.nodes
        parts = compiler.parts
        constants = compiler.constants
        circles = compiler.circles
        let words = Set(compiler.words.joined()).sorted()
        self.words = words
        let indexes = Dictionary(uniqueKeysWithValues: words.enumerated().map { ($0.element, Int32($0.offset)) })
        wordIndexes = compiler.words.joined().map { indexes[$0]! }
        foundWords = [Bool](repeating: false, count: words.count)
        keys = compiler.keys
        fields = FieldLookup(compiler.keys)
        arena = compiler.arena
        self.breaker = words.isEmpty ? nil : compiler.sharedBreaker
        self.searchableFields = searchableFields
    }

    /// Whether the record matches. Its type does not count.
    package func matches(_ record: [UInt8]) -> Bool {
        record.withUnsafeBytes { matches($0) }
    }

    /// Leaves the values of the keys in `fields`.
    func matches(_ record: UnsafeRawBufferPointer) -> Bool {
        load(record)
        return matchesLoaded(record)
    }

    func load(_ record: UnsafeRawBufferPointer) {
        fields.load(record)
        isTextRead = false
    }

    /// Of a record that is loaded.
    func matchesLoaded(_ record: UnsafeRawBufferPointer) -> Bool { truth(at: 0, record) == .isTrue }

    /// Whether these parts hold for a record that is loaded: by their places in ``parts``.
    func matchesLoaded(_ record: UnsafeRawBufferPointer, parts wanted: [Int]) -> Bool {
        for part in wanted where truth(at: parts[part], record) != .isTrue { return false }
        return true
    }

    /// Where a key's value stands in `fields`.
    func index(of key: QueryKey) -> Int? { keys.firstIndex(of: key) }

    private func truth(at index: Int, _ record: UnsafeRawBufferPointer) -> Truth {
        let node = nodes[index]
        switch node.kind {
        case .constant: return Truth(node.flag)
        case .and:
            var result = Truth.isTrue
            var child = index + 1
            while child < node.end {
                result = min(result, truth(at: child, record))
                if result == .isFalse { return .isFalse }
                child = Int(nodes[child].end)
            }
            return result
        case .or:
            var result = Truth.isFalse
            var child = index + 1
            while child < node.end {
                result = max(result, truth(at: child, record))
                if result == .isTrue { return .isTrue }
                child = Int(nodes[child].end)
            }
            return result
        case .not: return truth(at: index + 1, record).negated
        case .text: return Truth(hasWords(of: node, record))
        default: return truth(of: node, fields[Int(node.key)])
        }
    }

    private func truth(of node: Node, _ value: StoredValue) -> Truth {
        let first = Int(node.first)
        switch (node.kind, value) {
        case (.comparison, .scalar(let scalar)):
            return PredicateEvaluator.holds(node.comparison, scalar, constants[first])
        case (.between, .scalar(let scalar)):
            return min(
                PredicateEvaluator.holds(.greaterOrEqual, scalar, constants[first]),
                PredicateEvaluator.holds(.lessOrEqual, scalar, constants[first + 1]))
        case (.isIn, .scalar(let scalar)): return isOneOf(node, scalar)
        case (.distance, .scalar(.location(let latitude, let longitude))):
            return Truth(circles[first].contains(.init(latitude: latitude, longitude: longitude)))
        case (.anyElement, .list(var list)):
            var result = Truth.isFalse
            while let element = list.next() {
                result = max(result, PredicateEvaluator.holds(node.comparison, element, constants[first]))
                if result == .isTrue { break }
            }
            return result
        case (.anyElementIsIn, .list(var list)):
            var result = Truth.isFalse
            while let element = list.next() {
                result = max(result, isOneOf(node, element))
                if result == .isTrue { break }
            }
            return result
        case (.listComparison, .list(let list)): return compare(node, list)
        default: return .isUnknown
        }
    }

    /// What a comparison says of two values that are no lists.
    static func holds(_ comparison: ComparisonOperator, _ value: StoredScalar, _ constant: StoredScalar) -> Truth {
        if comparison == .beginsWith {
            guard case .string(let text) = value, case .string(let prefix) = constant else { return .isUnknown }
            return Truth(ByteOrder.hasPrefix(text, prefix))
        }
        let order = ScalarOrder.compare(value, constant)
        if order == .mismatched { return .isUnknown }
        switch comparison {
        case .equal: return Truth(order == .equal)
        case .notEqual: return Truth(order != .equal)
        default: break
        }
        if case .location = value { return .isUnknown }
        return switch comparison {
        case .less: Truth(order == .less)
        case .lessOrEqual: Truth(order == .less || order == .equal)
        case .greater: Truth(order == .greater)
        default: Truth(order == .greater || order == .equal)
        }
    }

    /// Few are compared one by one, many by halving.
    private func isOneOf(_ node: Node, _ value: StoredScalar) -> Truth {
        let rank = ScalarOrder.rank(value)
        let end = Int(node.first + node.count)
        var low = Int(node.first)
        var high = end
        while low < high {
            let middle = (low + high) / 2
            if ScalarOrder.precedes(constants[middle], value) { low = middle + 1 } else { high = middle }
        }
        if low < end, ScalarOrder.compare(constants[low], value) == .equal { return .isTrue }
        // Sorted by type first: any of another type stands at an end.
        guard node.count > 0 else { return .isFalse }
        let isMixed =
            ScalarOrder.rank(constants[Int(node.first)]) != rank
            || ScalarOrder.rank(constants[end - 1]) != rank
        return isMixed ? .isUnknown : .isFalse
    }

    private func compare(_ node: Node, _ list: StoredList) -> Truth {
        guard node.comparison == .equal || node.comparison == .notEqual else { return .isUnknown }
        var list = list
        var isEqual = true
        var count: Int32 = 0
        while let element = list.next() {
            if count < node.count {
                switch ScalarOrder.compare(element, constants[Int(node.first + count)]) {
                case .equal: break
                case .mismatched: return .isUnknown
                default: isEqual = false
                }
            }
            count += 1
        }
        if count != node.count { isEqual = false }
        return Truth(isEqual == (node.comparison == .equal))
    }

    // MARK: Full text

    private func hasWords(of node: Node, _ record: UnsafeRawBufferPointer) -> Bool {
        if node.count == 0 { return false }
        if !isTextRead { readText(of: record) }
        for position in Int(node.first)..<Int(node.first + node.count)
        where foundWords[Int(wordIndexes[position])] != node.flag {
            return !node.flag
        }
        return node.flag
    }

    private func readText(of record: UnsafeRawBufferPointer) {
        isTextRead = true
        for index in foundWords.indices { foundWords[index] = false }
        RecordText.forEachWord(in: record, searchableFields, breaker!) { note($0) }
    }

    private func note(_ hash: UInt64) {
        var low = 0
        var high = words.count
        while low < high {
            let middle = (low + high) / 2
            if words[middle] < hash { low = middle + 1 } else { high = middle }
        }
        if low < words.count, words[low] == hash { foundWords[low] = true }
    }
}
