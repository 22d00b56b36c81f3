/// Changes in their order, one for each item: a later change to an item takes the place of the one before at the end,
/// the same change again stays where it is.
///
/// Not limited in its size: it is what the app has not been able to send, and nothing of that may be dropped. A change
/// takes some hundred bytes.
package struct ChangeQueue<ItemID: Hashable & Sendable, Change: Hashable & Sendable>: Sendable {
    private struct Entry: Sendable {
        let id: ItemID
        var change: Change
        /// When it was added last, on a count of the queue's owner.
        var stamp: UInt64
        /// When it was added first and last, in milliseconds of the owner's clock; 0 for one from before.
        var firstMilliseconds: UInt64 = 0
        var lastMilliseconds: UInt64 = 0
    }

    /// With gaps where changes were removed.
    private var entries: [Entry?] = []
    private var indices: [ItemID: Int] = [:]

    package init() {}

    package var isEmpty: Bool { indices.isEmpty }
    package var count: Int { indices.count }

    /// The changes in their order.
    package var changes: [Change] { entries.compactMap { $0?.change } }

    package func contains(_ id: ItemID) -> Bool { indices[id] != nil }

    /// The change that waits for an item.
    package subscript(id: ItemID) -> Change? { indices[id].flatMap { entries[$0]?.change } }

    /// When the item's change was added last.
    func stamp(_ id: ItemID) -> UInt64? { indices[id].flatMap { entries[$0]?.stamp } }

    /// At what times, in milliseconds, the item's change was added first and last; 0 for one from before.
    func times(_ id: ItemID) -> (first: UInt64, last: UInt64)? {
        indices[id].flatMap { entries[$0] }.map { ($0.firstMilliseconds, $0.lastMilliseconds) }
    }

    /// Adds a change at the end, in the place of another one of its item. Says whether the queue is another one now.
    @discardableResult
    package mutating func add(_ change: Change, id: ItemID, stamp: UInt64, now: UInt64 = 0) -> Bool {
        if let index = indices[id] {
            entries[index]!.stamp = stamp
            entries[index]!.lastMilliseconds = now
            if entries[index]!.change == change {
                // Equal changes save the same zone, and the last one says how it is to be encrypted.
                entries[index]!.change = change
                return false
            }
            remove(id)
        }
        indices[id] = entries.count
        entries.append(
            Entry(id: id, change: change, stamp: stamp, firstMilliseconds: now, lastMilliseconds: now))
        return true
    }

    /// Removes the item's change.
    @discardableResult
    package mutating func remove(_ id: ItemID) -> Bool {
        guard let index = indices.removeValue(forKey: id) else { return false }
        entries[index] = nil
        if entries.count > 32, entries.count > 2 * indices.count { compact() }
        return true
    }

    /// Puts changes back to the front, in their order, but for items for which another change waits.
    package mutating func putBack(_ changes: [(id: ItemID, change: Change)], stamp: UInt64) {
        let returned = changes.filter { indices[$0.id] == nil }
        if returned.isEmpty { return }
        entries = returned.map { Entry(id: $0.id, change: $0.change, stamp: stamp) } + entries
        compact()
    }

    private mutating func compact() {
        entries = entries.filter { $0 != nil }
        indices = [:]
        for (index, entry) in entries.enumerated() { indices[entry!.id] = index }
    }
}
