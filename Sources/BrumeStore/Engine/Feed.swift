package import BrumeModel

/// An order of changes: where each changed item stands, oldest change first.
///
/// An item that changes again is appended again; its older entry is *stale* and is skipped by readers, who know an item's
/// latest position from the item itself. When more than half of the entries are stale they are removed, so that an append
/// costs a constant on average and a feed takes at most twice the memory of its items. A page is a binary search and a scan.
package struct Feed: Sendable {
    package struct Entry: Equatable, Sendable {
        package let position: ChangePosition
        /// The item's place in the array that it is kept in.
        package let slot: Int32
    }

    /// Below this many entries the feed is not worth compacting.
    private static let compactionMinimum = 64

    package private(set) var entries: [Entry] = []
    private var staleCount = 0

    package init() {}

    /// The index of the first entry behind `position`.
    ///
    /// - Complexity: O(log n).
    package func firstIndex(after position: ChangePosition) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].position <= position {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// Appends a change. `replacesEntry` says that the slot has an entry already, which is stale from now on.
    package mutating func append(_ position: ChangePosition, slot: Int32, replacesEntry: Bool) {
        if let last = entries.last {
            precondition(last.position < position, "a feed goes backwards: a change came before an earlier one")
        }
        entries.append(Entry(position: position, slot: slot))
        if replacesEntry { staleCount += 1 }
    }

    /// Whether ``compact(positionOfSlot:)`` is due.
    package var needsCompaction: Bool {
        entries.count >= Feed.compactionMinimum && staleCount * 2 > entries.count
    }

    /// Removes stale entries: those whose position is not their slot's latest.
    package mutating func compact(positionOfSlot: (Int32) -> ChangePosition) {
        entries.removeAll { positionOfSlot($0.slot) != $0.position }
        staleCount = 0
    }

    /// Makes the feed of items in any order, as a snapshot holds them.
    package init(unordered entries: [Entry]) {
        self.entries = entries.sorted { $0.position < $1.position }
    }
}
