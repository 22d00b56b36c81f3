internal import BrumeGeodesy
internal import BrumeModel
internal import BrumeRecord

/// Turns a predicate into the flat form of ``PredicateEvaluator``: AND in AND and OR in OR are one, constants are
/// values as records hold them, lists are sorted, searches are words.
struct PredicateCompiler {
    private(set) var nodes: [PredicateEvaluator.Node] = []
    private(set) var constants: [StoredScalar] = []
    private(set) var circles: [GeoCircle] = []
    /// The words of each search.
    private(set) var words: [[UInt64]] = []
    private(set) var keys: [QueryKey] = []
    let arena = ByteArena()
    private var indexOfKey: [QueryKey: Int] = [:]
    private var breaker: WordBreaker?
    private var wordCount: Int32 = 0

    init(breaker: WordBreaker?) {
        self.breaker = breaker
    }

    /// The index of the key's value in the look-up.
    mutating func index(of key: QueryKey) -> Int {
        if let known = indexOfKey[key] { return known }
        keys.append(key)
        indexOfKey[key] = keys.count - 1
        return keys.count - 1
    }

    var sharedBreaker: WordBreaker? { breaker }

    mutating func compile(_ predicate: Predicate) {
        let index = nodes.count
        nodes.append(PredicateEvaluator.Node(kind: .constant))
        var node = PredicateEvaluator.Node(kind: .constant)
        switch predicate {
        case .constant(let holds): node.flag = holds
        case .comparison(let key, let comparison, let value):
            node.kind = append(value, to: &node) ? .comparison : .listComparison
            node.comparison = comparison
            node.key = Int32(self.index(of: key))
        case .between(let key, let low, let high):
            node.kind = .between
            node.key = Int32(self.index(of: key))
            // A list can't bound a range: it compares with nothing.
            if !append(low, to: &node) || !append(high, to: &node) { node.kind = .listComparison }
            if node.kind == .listComparison { node.comparison = .less }
            node.first = Int32(constants.count) - 2
        case .isIn(let key, let values):
            node.kind = .isIn
            node.key = Int32(self.index(of: key))
            appendSorted(values, to: &node)
        case .anyElement(let key, let comparison, let value):
            node.kind = append(value, to: &node) ? .anyElement : .listComparison
            node.comparison = node.kind == .anyElement ? comparison : .less
            node.key = Int32(self.index(of: key))
        case .anyElementIsIn(let key, let values):
            node.kind = .anyElementIsIn
            node.key = Int32(self.index(of: key))
            appendSorted(values, to: &node)
        case .text(let text, let match):
            node.kind = .text
            node.flag = match == .allWords
            if breaker == nil { breaker = WordBreaker() }
            let hashes = WordHash.words(of: text, breaker!)
            node.first = wordCount
            node.count = Int32(hashes.count)
            wordCount += node.count
            words.append(hashes)
        case .distance(let key, let latitude, let longitude, let metres, let isInclusive):
            node.kind = .distance
            node.key = Int32(self.index(of: key))
            node.first = Int32(circles.count)
            circles.append(
                GeoCircle(
                    centre: .init(latitude: latitude, longitude: longitude), metres: metres, isInclusive: isInclusive))
        case .and: node.kind = .and; compileOperands(of: predicate)
        case .or: node.kind = .or; compileOperands(of: predicate)
        case .not(let operand):
            node.kind = .not
            compile(operand)
        }
        node.end = Int32(nodes.count)
        nodes[index] = node
    }

    private mutating func compileOperands(of predicate: Predicate) {
        switch predicate {
        case .and(let operands):
            for operand in operands {
                if case .and = operand { compileOperands(of: operand) } else { compile(operand) }
            }
        case .or(let operands):
            for operand in operands {
                if case .or = operand { compileOperands(of: operand) } else { compile(operand) }
            }
        default: preconditionFailure("only AND and OR have operands")
        }
    }

    /// The operands of the outermost AND, those of an AND in it among them; a predicate that is no AND is its only
    /// part.
    static func parts(of predicate: Predicate) -> [Predicate] {
        guard case .and(let operands) = predicate else { return [predicate] }
        return operands.flatMap { operand in
            if case .and = operand { return parts(of: operand) }
            return [operand]
        }
    }

    /// The indexes of the parts in ``nodes``.
    var parts: [Int] {
        guard let root = nodes.first, root.kind == .and else { return nodes.isEmpty ? [] : [0] }
        var parts: [Int] = []
        var child = 1
        while child < root.end {
            parts.append(child)
            child = Int(nodes[child].end)
        }
        return parts
    }

    // MARK: Constants

    /// Appends a constant. Returns false for a list, whose elements are appended all the same.
    private mutating func append(_ value: FieldValue, to node: inout PredicateEvaluator.Node) -> Bool {
        node.first = Int32(constants.count)
        let scalars = PredicateCompiler.scalars(of: value, arena)
        constants += scalars.values
        node.count = Int32(scalars.values.count)
        return !scalars.isList
    }

    /// Appends the constants of an `IN`, sorted. NaN equals nothing, but tells which types are present: it comes after
    /// the numbers, where no search ends.
    private mutating func appendSorted(_ values: [FieldValue], to node: inout PredicateEvaluator.Node) {
        node.first = Int32(constants.count)
        var sorted: [StoredScalar] = []
        for value in values {
            let scalars = PredicateCompiler.scalars(of: value, arena)
            if !scalars.isList { sorted += scalars.values }
        }
        sorted.sort(by: ScalarOrder.precedes)
        constants += sorted
        node.count = Int32(sorted.count)
    }

    /// A value as records hold it, or the elements of a list; texts are kept in the arena.
    static func scalars(of value: FieldValue, _ arena: ByteArena) -> (values: [StoredScalar], isList: Bool) {
        switch value {
        case .string(let text): ([.string(arena.copy(text))], false)
        case .int64(let number): ([.int64(number)], false)
        case .double(let number): ([.double(number)], false)
        case .bytes(let bytes): ([.bytes(arena.copy(bytes))], false)
        case .date(let date): ([.date(date)], false)
        case .location(let place): ([.location(latitude: place.latitude, longitude: place.longitude)], false)
        case .reference(let reference): ([.reference(arena.copy(reference.recordName))], false)
        case .strings(let texts): (texts.map { .string(arena.copy($0)) }, true)
        case .int64s(let numbers): (numbers.map { .int64($0) }, true)
        case .doubles(let numbers): (numbers.map { .double($0) }, true)
        case .bytesList(let list): (list.map { .bytes(arena.copy($0)) }, true)
        case .dates(let dates): (dates.map { .date($0) }, true)
        case .locations(let places): (places.map { .location(latitude: $0.latitude, longitude: $0.longitude) }, true)
        case .references(let references): (references.map { .reference(arena.copy($0.recordName)) }, true)
        case .emptyList: ([], true)
        case .asset, .assets, .encrypted:
            preconditionFailure("a predicate compares with what queries don't look at, though it was checked")
        }
    }
}
