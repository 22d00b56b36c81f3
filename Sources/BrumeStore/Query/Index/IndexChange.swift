internal import BrumeModel

/// A change of a record that a zone's indexes have not all taken over.
struct IndexChange {
    let slot: Int32
    let ordinal: UInt32
    let type: String
    /// The older version; nil when there was none.
    let old: SharedBytes?
    /// The newer version; nil when the record was deleted.
    let new: SharedBytes?

    /// The bytes that are kept for it.
    var byteCount: Int { IndexChange.overheadBytes + (old?.count ?? 0) + (new?.count ?? 0) }

    private static let overheadBytes = 96
}

/// The changes that the indexes of a zone have yet to take over, numbered in the order of the commits.
struct IndexChanges {
    private var changes: [IndexChange?] = []
    private var head = 0
    /// The number of the oldest change that is kept.
    private(set) var firstNumber = 0
    private(set) var bytes = 0

    var count: Int { changes.count - head }
    var isEmpty: Bool { count == 0 }
    /// The number of the next change.
    var endNumber: Int { firstNumber + count }

    subscript(number: Int) -> IndexChange { changes[head + number - firstNumber]! }

    /// The slots of all changes that are kept, and perhaps of some that were: handed out to each query that begins, so
    /// it is not made anew each time.
    private(set) var slots: Set<Int32> = []

    mutating func append(_ change: IndexChange) {
        bytes += change.byteCount
        changes.append(change)
        slots.insert(change.slot)
    }

    mutating func removeFirst() {
        bytes -= changes[head]!.byteCount
        changes[head] = nil
        head += 1
        firstNumber += 1
        if head == changes.count {
            changes = []
            head = 0
            slots = []
        } else if head >= 1024, head * 2 > changes.count {
            changes.removeFirst(head)
            head = 0
            slots = Set(changes.lazy.map { $0!.slot })
        }
    }
}
