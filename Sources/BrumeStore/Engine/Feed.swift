package import BrumeModel

/// An order of changes: where each changed item stands, oldest change first.
///
/// An item that changes again is appended again; its older entry is *stale* and is skipped by readers, who know an
/// item's latest position from the item itself. While more than half of the entries are stale each append also looks
/// through one chunk for them, so that no append takes long however long the feed is, and a feed takes about twice the
/// memory of its items at the most. A page is a binary search and a scan.
package struct Feed: Sendable {
    package struct Entry: Equatable, Sendable {
        package let position: ChangePosition
        /// The item's place in the array that it is kept in.
        package let slot: Int32
    }

    /// A chunk is looked through in a few microseconds.
    static let chunkEntries = 512
    /// Below this many entries the feed is not worth compacting.
    private static let compactionMinimum = 64

    /// In order, none of them empty.
    private var chunks: [[Entry]] = []
    package private(set) var count = 0
    private var staleCount = 0
    /// The chunk that is looked through next.
    private var nextChunk = 0

    package init() {}

    /// Makes the feed of items in any order, as a snapshot holds them.
    package init(unordered entries: [Entry]) {
        // Records that were never changed stand in their order already.
        let isInOrder = zip(entries, entries.dropFirst()).allSatisfy { $0.position <= $1.position }
        let sorted = isInOrder ? entries : entries.sorted { $0.position < $1.position }
        count = sorted.count
        chunks.reserveCapacity(sorted.count / Feed.chunkEntries + 1)
        for start in stride(from: 0, to: sorted.count, by: Feed.chunkEntries) {
            chunks.append(Array(sorted[start..<min(start + Feed.chunkEntries, sorted.count)]))
        }
    }

    package var first: Entry? { chunks.first?.first }
    package var last: Entry? { chunks.last?.last }

    /// All entries, or those after a position, oldest first; stale ones too.
    ///
    /// - Complexity: O(log n) for the first one.
    package func entries(after position: ChangePosition? = nil) -> Entries {
        guard let position else { return Entries(chunks: chunks, chunk: 0, index: 0) }
        // The first chunk that ends after the position.
        let chunk = Feed.partition(chunks.count) { chunks[$0][chunks[$0].count - 1].position > position }
        guard chunk < chunks.count else { return Entries(chunks: [], chunk: 0, index: 0) }
        let entries = chunks[chunk]
        return Entries(
            chunks: chunks, chunk: chunk, index: Feed.partition(entries.count) { entries[$0].position > position })
    }

    package struct Entries: Sequence, IteratorProtocol {
        fileprivate let chunks: [[Entry]]
        fileprivate var chunk: Int
        fileprivate var index: Int

        package mutating func next() -> Entry? {
            guard chunk < chunks.count else { return nil }
            let entry = chunks[chunk][index]
            index += 1
            if index == chunks[chunk].count { (chunk, index) = (chunk + 1, 0) }
            return entry
        }
    }

    /// The first index up to `count` from which on `isBehind` is true.
    private static func partition(_ count: Int, _ isBehind: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBehind(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Appends a change. `replacesEntry` says that the slot has an entry already, which is stale from now on.
    package mutating func append(_ position: ChangePosition, slot: Int32, replacesEntry: Bool) {
        let entry = Entry(position: position, slot: slot)
        if let last {
            precondition(last.position < position, "a feed goes backwards: a change came before an earlier one")
        }
        if chunks.isEmpty || chunks[chunks.count - 1].count >= Feed.chunkEntries {
            chunks.append([entry])
        } else {
            chunks[chunks.count - 1].append(entry)
        }
        count += 1
        if replacesEntry { staleCount += 1 }
    }

    /// Notes that the entries of so many items have become stale without newer ones.
    package mutating func noteStale(_ items: Int = 1) { staleCount += items }

    /// Removes the oldest entry, stale or not. `isStale` says which.
    mutating func removeFirst(isStale: Bool) {
        chunks[0].removeFirst()
        if chunks[0].isEmpty { removeChunk(0) }
        count -= 1
        if isStale { staleCount -= 1 }
    }

    /// Whether ``compact(isCurrent:)`` is due.
    package var needsCompaction: Bool { count >= Feed.compactionMinimum && staleCount * 2 > count }

    /// Removes the stale entries of one chunk; an entry is stale when its position is not its slot's latest. Call it
    /// with each append, while it is due.
    package mutating func compact(isCurrent: (Entry) -> Bool) {
        if nextChunk >= chunks.count { nextChunk = 0 }
        let before = chunks[nextChunk].count
        chunks[nextChunk].removeAll { !isCurrent($0) }
        let removed = before - chunks[nextChunk].count
        count -= removed
        staleCount -= removed
        if chunks[nextChunk].isEmpty {
            removeChunk(nextChunk)
        } else if nextChunk > 0, chunks[nextChunk - 1].count + chunks[nextChunk].count <= Feed.chunkEntries / 2 {
            chunks[nextChunk - 1] += chunks[nextChunk]
            removeChunk(nextChunk)
        } else {
            nextChunk += 1
        }
    }

    /// Removes all stale entries at once: for a feed that is never long.
    mutating func compactWhole(isCurrent: (Entry) -> Bool) {
        self = Feed(unordered: entries().filter(isCurrent))
    }

    private mutating func removeChunk(_ index: Int) {
        chunks.remove(at: index)
        if nextChunk > index { nextChunk -= 1 }
    }
}
