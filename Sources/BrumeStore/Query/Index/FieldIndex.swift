internal import BrumeGeodesy
internal import BrumeModel
internal import BrumeWire

/// One index of one type of a zone's records, in memory only.
///
/// Made record by record in the order of their numbers; commits keep what is made so far, and leave the rest to the making.
final class FieldIndex {
    let id: IndexID
    private(set) var tree = PostingTree()
    /// Records with smaller numbers are in it.
    private(set) var builtCount: UInt32 = 0
    private(set) var isReady = false
    private let lookup: FieldLookup?
    private let breaker: WordBreaker

    init(_ id: IndexID, breaker: WordBreaker) {
        self.id = id
        self.breaker = breaker
        switch id.kind {
        case .order(let key), .equality(let key), .members(let key), .places(let key): lookup = FieldLookup([key])
        case .all, .words: lookup = nil
        }
    }

    /// Takes the next records in, for about so many units.
    func build(_ ordinals: OrdinalTable, _ zone: RecordSlots, _ budget: Int) {
        var budget = budget
        while budget > 0, Int(builtCount) < ordinals.count {
            if let slot = ordinals.slot(of: builtCount) {
                let record = zone[slot]
                if id.covers(record.type) {
                    for key in keys(of: record.bytes) {
                        tree.insert(key, builtCount)
                        budget -= 1
                    }
                    budget -= record.bytes.count / 512
                }
            }
            builtCount += 1
            budget -= 1
        }
        if Int(builtCount) == ordinals.count { isReady = true }
    }

    /// A record of the type changed: nil where there was, or is, none.
    func noteChange(_ ordinal: UInt32, from old: [UInt8]?, to new: [UInt8]?) {
        if !isReady, ordinal >= builtCount { return }
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

    /// What a record stands under: rising, each once.
    private func keys(of record: [UInt8]) -> [PostingTree.Key] {
        record.withUnsafeBytes { record in
            var keys: [PostingTree.Key] = []
            lookup?.load(record)
            switch id.kind {
            case .all: return [0]
            case .order:
                return [SortOrder.scalar(lookup![0], from: nil).map { IndexKeys.order($0) } ?? IndexKeys.missing]
            case .equality:
                if case .scalar(let scalar) = lookup![0], let key = IndexKeys.equality(scalar) { return [key] }
                return []
            case .places:
                if case .scalar(.location(let latitude, let longitude)) = lookup![0],
                    let key = IndexKeys.place(.init(latitude: latitude, longitude: longitude))
                {
                    return [key]
                }
                return []
            case .members:
                guard case .list(var list) = lookup![0] else { return [] }
                while let element = list.next() {
                    if let key = IndexKeys.equality(element) { keys.append(key) }
                }
            case .words(let fields):
                RecordText.forEachWord(in: record, fields, breaker) { keys.append(PostingTree.Key($0)) }
            }
            keys.sort()
            var count = 0
            for index in keys.indices where index == 0 || keys[index] != keys[count - 1] {
                keys[count] = keys[index]
                count += 1
            }
            keys.removeSubrange(count...)
            return keys
        }
    }
}
