internal import BrumeGeodesy
package import BrumeModel
internal import BrumeRecord

/// Says which records match a predicate: for queries, and for query subscriptions.
///
/// Made once for a predicate, then asked for any number of records in their stored form; a record costs one walk over
/// its fields, which stops after the last one that is needed, and no allocation (but for words of other scripts than
/// Latin in a search). Not thread-safe: it belongs to the loop of its database.
///
/// One record may cost the terms of the predicate times the elements of a list, which is seconds at worst. So an
/// evaluation counts what it does and stops within the record when it has spent what it was given; see
/// ``evaluate(_:parts:units:)``.
///
/// The rules are Kleene's (see `Predicate`): a comparison is true, false or unknown, and a record matches when the
/// whole is true. Unknown is
/// - any comparison with a field that the record does not have,
/// - a comparison of values of different types: a number with a text, a list with a single value, or `<` of locations.
///   Int64 and double are one type here (``ScalarOrder``).
///
/// `IN` is the OR of its `==`. `ANY` of a list is true where it holds for an element, unknown where it holds for none
/// and some element is of another type, else false; so it is false for an empty list. Two lists compare by `==` and
/// `!=` only, element by element. A search is true or false; one without any word in it, or of stop words alone,
/// matches nothing.
package final class PredicateEvaluator {
    /// One node of the tree, in preorder. Trivial.
    struct Node {
        enum Kind: UInt8 {
            case constant, comparison, listComparison, between, isIn, anyElement, anyElementIsIn, text, distance
            case and, or, not
        }

        var kind: Kind
        var comparison = ComparisonOperator.equal
        /// For a constant, whether it is true; for a search, whether all words must be there.
        var flag = false
        /// Index of the key in the look-up.
        var key: Int32 = 0
        /// The index of its first constant or word, or of its circle.
        var first: Int32 = 0
        var count: Int32 = 0
        /// The index of the next sibling.
        var end: Int32 = 0
    }

    let nodes: [Node]
    /// The indexes of the operands of the outermost AND, in the order of ``PredicateCompiler/parts(of:)``; a predicate
    /// that is no AND is its only part. A record matches when all parts are true.
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
    @exclusivity(unchecked) private var foundWords: [Bool]
    @exclusivity(unchecked) private var isTextRead = false
    /// What is left of the record's texts while they are read.
    @exclusivity(unchecked) private var text: SearchableText?
    /// What the evaluation under way may still spend.
    @exclusivity(unchecked) private var unitsLeft = 0
    /// Whether the evaluation under way has spent all: then its result means nothing.
    @exclusivity(unchecked) private var hasRunOut = false
    /// Set from the first time on that the record's evaluation ran out.
    @exclusivity(unchecked) private var notes: EvaluationNotes?
    @exclusivity(unchecked) private var takesNotes = false

    /// - Parameter searchableFields: Where searches look.
    package convenience init(_ predicate: Predicate, searchableFields: SearchableFields = .all) {
        self.init(predicate, alsoReading: [], searchableFields: searchableFields, breaker: nil)
    }

    /// - Parameters:
    ///   - otherKeys: More keys to look up, for the caller.
    ///   - breaker: One to share, or nil to make one when it is needed.
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

    /// Whether the record matches, whatever finding out costs. Its type does not count. For tests.
    package func matches(_ record: [UInt8]) -> Bool {
        record.withUnsafeBytes { bytes in
            load(bytes)
            var units = Int.max
            return evaluate(bytes, units: &units) == .matches
        }
    }

    /// Puts the values of the keys into `fields`, and forgets what was known of another record.
    func load(_ record: UnsafeRawBufferPointer) {
        fields.load(record)
        isTextRead = false
        text = nil
        notes = nil
        takesNotes = false
    }

    /// What an evaluation has found out.
    enum Verdict {
        case matches
        case fails
        /// The units are spent. Ask again, with more of them.
        case unfinished
    }

    /// Evaluates the predicate for the record that is loaded, and spends about so many units at most: a unit is a
    /// comparison, an element of a list, or four bytes of a text, some ten to twenty nanoseconds.
    ///
    /// An evaluation that ran out of units continues where it stopped when it is called again; the record must be the
    /// same one, at the same place in memory, and not be loaded again. Each call makes progress, however few units it
    /// is given. (The first time that it runs out it begins anew, so that the many that never do take no notes.)
    ///
    /// - Parameters:
    ///   - wanted: The parts that have to hold, by their places in ``parts``; nil for the whole predicate.
    ///   - units: What the evaluation may spend, and then what is left of it, which may be a little below 0.
    func evaluate(_ record: UnsafeRawBufferPointer, parts wanted: [Int]? = nil, units: inout Int) -> Verdict {
        unitsLeft = max(units, 1)
        hasRunOut = false
        var holds = true
        if let wanted {
            for part in wanted where truth(at: parts[part], record) != .isTrue {
                holds = false
                break
            }
        } else {
            holds = truth(at: 0, record) == .isTrue
        }
        units = unitsLeft
        guard hasRunOut else { return holds ? .matches : .fails }
        if !takesNotes {
            takesNotes = true
            notes = EvaluationNotes(nodeCount: nodes.count)
        }
        return .unfinished
    }

    /// The index of a key's value in `fields`.
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
                if result == .isFalse || hasRunOut { return result }
                child = Int(nodes[child].end)
            }
            return result
        case .or:
            var result = Truth.isFalse
            var child = index + 1
            while child < node.end {
                result = max(result, truth(at: child, record))
                if result == .isTrue || hasRunOut { return result }
                child = Int(nodes[child].end)
            }
            return result
        case .not: return truth(at: index + 1, record).negated
        default: return truth(ofTermAt: index, node, record)
        }
    }

    private func truth(ofTermAt index: Int, _ node: Node, _ record: UnsafeRawBufferPointer) -> Truth {
        if takesNotes, let known = notes!.truth(at: index) { return known }
        guard unitsLeft > 0 else {
            hasRunOut = true
            return .isUnknown
        }
        unitsLeft -= 1
        let truth =
            node.kind == .text ? Truth(hasWords(of: node, record)) : truth(of: node, at: index, fields[Int(node.key)])
        if takesNotes, !hasRunOut { notes!.set(truth, at: index) }
        return truth
    }

    private func truth(of node: Node, at index: Int, _ value: StoredValue) -> Truth {
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
        case (.anyElement, .list(let list)), (.anyElementIsIn, .list(let list)):
            return truth(ofAnyElement: node, at: index, list)
        case (.listComparison, .list(let list)): return compare(node, list)
        default: return .isUnknown
        }
    }

    /// Compares the elements one by one, from where the evaluation stopped in the list if it did.
    private func truth(ofAnyElement node: Node, at index: Int, _ list: StoredList) -> Truth {
        var list = list
        var result = Truth.isFalse
        if takesNotes, let known = notes!.takeList(at: index) { (list, result) = known }
        var left = unitsLeft
        defer { unitsLeft = left }
        let constant = node.kind == .anyElement ? constants[Int(node.first)] : nil
        // A search by halving is a few comparisons.
        let elementUnits = node.kind == .anyElement ? 1 : 1 + (Int32.bitWidth - node.count.leadingZeroBitCount) / 2
        while let element = list.next() {
            left -= elementUnits
            let truth =
                if let constant { PredicateEvaluator.holds(node.comparison, element, constant) } else {
                    isOneOf(node, element)
                }
            result = max(result, truth)
            if result == .isTrue { break }
            if left <= 0 {
                hasRunOut = true
                if takesNotes { notes!.keep(list, result, at: index) }
                break
            }
        }
        return result
    }

    /// The result of comparing two values that are no lists.
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

    /// Whether the value equals one of the node's constants, which are sorted, by binary search.
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
            // The rest of a longer list says nothing more.
            guard count < node.count else {
                isEqual = false
                break
            }
            unitsLeft -= 1
            switch ScalarOrder.compare(element, constants[Int(node.first + count)]) {
            case .equal: break
            case .mismatched: return .isUnknown
            default: isEqual = false
            }
            count += 1
        }
        if count != node.count { isEqual = false }
        return Truth(isEqual == (node.comparison == .equal))
    }

    // MARK: Full text

    private func hasWords(of node: Node, _ record: UnsafeRawBufferPointer) -> Bool {
        if node.count == 0 { return false }
        if !isTextRead, !readText(of: record) { return false }
        unitsLeft -= Int(node.count)
        for position in Int(node.first)..<Int(node.first + node.count)
        where foundWords[Int(wordIndexes[position])] != node.flag {
            return !node.flag
        }
        return node.flag
    }

    /// Continues to read the record's texts, for all searches at once. Returns whether they are read to their end.
    private func readText(of record: UnsafeRawBufferPointer) -> Bool {
        if text == nil {
            text = SearchableText(of: record, searchableFields)
            for index in foundWords.indices { foundWords[index] = false }
        }
        while let part = text!.next() {
            breaker!.forEachWord(in: part) { note(WordHash.of($0)) }
            unitsLeft -= 1 + PredicateEvaluator.units(ofText: part)
            if unitsLeft <= 0 {
                hasRunOut = true
                return false
            }
        }
        text = nil
        isTextRead = true
        return true
    }

    /// What cutting a text into words costs: ASCII some nanoseconds a byte, all else ICU's time.
    private static func units(ofText part: UnsafeRawBufferPointer) -> Int {
        part.contains { $0 >= 0x80 } ? part.count * 8 : part.count / 4
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
