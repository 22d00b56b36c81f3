internal import BrumeGeodesy
internal import BrumeModel
internal import BrumeWire

/// One index of one type of a zone's records, in memory only.
///
/// Made record by record in the order of their numbers; commits keep what is made so far, and leave the rest to the making.
///
/// An index by hashes (words, elements, whole values) is gathered in a ``TermTable`` first, which no entry can be taken out of:
/// what commits change meanwhile is noted, and made good in the tree before the index is ready.
final class FieldIndex {
    let id: IndexID
    /// Unchecked: the check takes longer than the access, and nothing that has the tree calls what changes it.
    @exclusivity(unchecked) private(set) var tree = PostingTree()
    /// Records with smaller numbers are in it, or in `table`.
    private(set) var builtCount: UInt32 = 0
    private(set) var isReady = false
    private var table: TermTable?
    /// Whether there is to be a table, when the first record comes.
    private var needsTable: Bool
    /// Whether the table has all that it will have.
    private var isTableComplete = false
    /// Changed since they were put into the table: what they stand under there. Each record once, so it is smaller than the index.
    private var outdated: [UInt32: [PostingTree.Key]] = [:]
    private let lookup: FieldLookup?
    private let breaker: WordBreaker

    init(_ id: IndexID, breaker: WordBreaker) {
        self.id = id
        self.breaker = breaker
        switch id.kind {
        case .order(let key), .equality(let key), .members(let key), .places(let key): lookup = FieldLookup([key])
        case .all, .words: lookup = nil
        }
        switch id.kind {
        case .words, .members, .equality: needsTable = true
        case .all, .order, .places: needsTable = false
        }
    }

    // MARK: Making

    /// Takes the next records in, for about so many units.
    func build(_ ordinals: OrdinalTable, _ zone: RecordSlots, _ budget: Int) {
        if needsTable {
            needsTable = false
            table = TermTable(recordCount: ordinals.count)
        }
        var budget = budget
        while budget > 0, !isReady { budget -= buildNext(ordinals, zone) }
    }

    /// Returns the work in units.
    private func buildNext(_ ordinals: OrdinalTable, _ zone: RecordSlots) -> Int {
        if let table, isTableComplete {
            if let work = table.movePart(to: &tree) { return work }
            self.table = nil
            return 1
        }
        if table == nil, let (ordinal, keys) = outdated.popFirst() {
            for key in keys { tree.remove(key, ordinal) }
            return 1 + keys.count + insert(ordinal, ordinals, zone)
        }
        guard Int(builtCount) < ordinals.count else {
            if table == nil { isReady = true }
            isTableComplete = true
            return 1
        }
        builtCount += 1
        return 1 + insert(builtCount - 1, ordinals, zone)
    }

    /// Returns the work in units.
    private func insert(_ ordinal: UInt32, _ ordinals: OrdinalTable, _ zone: RecordSlots) -> Int {
        guard let slot = ordinals.slot(of: ordinal), id.covers(zone[slot].type) else { return 0 }
        return zone.withBytes(of: slot) { record in
            if let table {
                var work = record.count / 256
                forEachKey(of: record) { work += table.add(UInt64(truncatingIfNeeded: $0), ordinal) }
                return work
            }
            let keys = keys(of: record)
            for key in keys { tree.insert(key, ordinal) }
            return keys.count + record.count / 512
        }
    }

    /// A record of the type changed: nil where there was, or is, none.
    func noteChange(_ ordinal: UInt32, from old: SharedBytes?, to new: SharedBytes?) {
        if !isReady {
            if ordinal >= builtCount || outdated[ordinal] != nil { return }
            if table != nil {
                outdated[ordinal] = old.map { keys(of: $0) } ?? []
                return
            }
        }
        let oldKeys = old.map { keys(of: $0) } ?? []
        let newKeys = new.map { keys(of: $0) } ?? []
        if oldKeys == newKeys { return }
        var (left, right) = (0, 0)
        while left < oldKeys.count || right < newKeys.count {
            if right == newKeys.count || left < oldKeys.count && oldKeys[left] < newKeys[right] {
                tree.remove(oldKeys[left], ordinal)
                left += 1
            } else if left == oldKeys.count || newKeys[right] < oldKeys[left] {
                tree.insert(newKeys[right], ordinal)
                right += 1
            } else {
                left += 1
                right += 1
            }
        }
    }

    // MARK: Keys

    /// What a record stands under: rising, each once.
    private func keys(of record: SharedBytes) -> [PostingTree.Key] { record.withUnsafeBytes { keys(of: $0) } }

    private func keys(of record: UnsafeRawBufferPointer) -> [PostingTree.Key] {
        var keys: [PostingTree.Key] = []
        forEachKey(of: record) { keys.append($0) }
        if keys.count < 2 { return keys }
        keys.sort()
        var count = 0
        for index in keys.indices where index == 0 || keys[index] != keys[count - 1] {
            keys[count] = keys[index]
            count += 1
        }
        keys.removeSubrange(count...)
        return keys
    }

    /// What a record stands under, in no order, and some perhaps several times.
    private func forEachKey(of record: UnsafeRawBufferPointer, _ body: (PostingTree.Key) -> Void) {
        lookup?.load(record)
        switch id.kind {
        case .all: body(0)
        case .order: body(SortOrder.scalar(lookup![0], from: nil).map { IndexKeys.order($0) } ?? IndexKeys.missing)
        case .equality:
            if case .scalar(let scalar) = lookup![0], let key = IndexKeys.equality(scalar) { body(key) }
        case .places:
            if case .scalar(.location(let latitude, let longitude)) = lookup![0],
                let key = IndexKeys.place(.init(latitude: latitude, longitude: longitude))
            {
                body(key)
            }
        case .members:
            guard case .list(var list) = lookup![0] else { return }
            while let element = list.next() {
                if let key = IndexKeys.equality(element) { body(key) }
            }
        case .words(let fields): RecordText.forEachWord(in: record, fields, breaker) { body(PostingTree.Key($0)) }
        }
    }
}
