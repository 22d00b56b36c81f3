internal import BrumeModel

/// A place among what a user is told of shared trees.
///
/// What was in a tree when the user accepted its share, or lost it, comes as one block at that position, whatever its
/// own position: so a device is told all of it that knew nothing of the tree until then. Within a block its own
/// position says the order.
struct TreePlace: Comparable {
    var outer: ChangePosition
    var inner: ChangePosition

    /// What stands at the position by itself.
    init(_ position: ChangePosition) { (outer, inner) = (position, position) }

    init(outer: ChangePosition, inner: ChangePosition) { (self.outer, self.inner) = (outer, inner) }

    static func < (one: TreePlace, other: TreePlace) -> Bool {
        one.outer != other.outer ? one.outer < other.outer : one.inner < other.inner
    }
}

/// What a user is told of the trees in which they take part, from a place on: one feed out of those of the trees.
///
/// - Of each tree its members, those that were there at the acceptance in a block at it, and what left since then.
/// - Of a tree in which their part ended, while another one in the zone stayed, what left until then; and in a block at
///   the end everything else that they saw, as deleted.
///
/// A record that left one tree for another one that they see is told as changed alone.
struct TreeFeed {
    enum Item {
        case record(Int32)
        case deletion(name: String, type: String)
        /// There is nothing to be told up to here: what stood there went on, or is told elsewhere.
        case nothing
    }

    private enum Reader {
        /// Members that changed or came behind an acceptance, and those of before in its block.
        case members(Feed.Entries, tree: UInt32)
        /// Members that a user lost who saw what had come by the end.
        case lost(Feed.Entries, tree: UInt32, end: ChangePosition)
        /// Departures up to the end of the part, and with `isLost` those behind it.
        case departures(tree: UInt32, next: Int, end: ChangePosition, isLost: Bool)
    }

    private struct Source {
        var reader: Reader
        /// What stands at or before it comes as a block there.
        let block: ChangePosition
        var place: TreePlace
        var item: Item
    }

    private let zone: ZoneState
    private let member: TreeMember
    /// A heap by place.
    private var sources: [Source] = []
    /// Entries that were looked at.
    private(set) var lookCount = 0

    /// - Parameters:
    ///   - place: What stands there was told.
    ///   - known: Deletions up to here are none to the device, which has nothing that was deleted then.
    init(_ zone: ZoneState, _ member: TreeMember, after place: TreePlace, known: ChangePosition) {
        self.zone = zone
        self.member = member
        for (number, part) in member.parts {
            guard let tree = zone.trees.trees[number] else { continue }
            let after = TreeFeed.start(after: place, block: part.acceptance)
            add(.members(tree.feed.entries(after: after), tree: number), block: part.acceptance)
            let from = max(TreeFeed.start(after: place, block: .start), part.acceptance, known)
            add(departures(of: number, after: from, end: nil))
        }
        for part in member.ended where part.end > known && TreePlace(outer: part.end, inner: .last) > place {
            guard let tree = zone.trees.trees[part.tree] else { continue }
            let from = max(TreeFeed.start(after: place, block: .start), part.acceptance, known)
            if from < part.end { add(departures(of: part.tree, after: from, end: part.end)) }
            let within = place.outer == part.end ? place.inner : .start
            add(.lost(tree.feed.entries(after: within), tree: part.tree, end: part.end), block: part.end)
            add(
                .departures(
                    tree: part.tree, next: tree.departures.firstIndex(after: max(part.end, within)), end: part.end,
                    isLost: true), block: part.end)
        }
    }

    /// Where a feed's entries begin that stand behind a place, if those up to a block's position stand there.
    private static func start(after place: TreePlace, block: ChangePosition) -> ChangePosition {
        if block > place.outer { return .start }
        if block == place.outer { return min(place.inner, block) }
        return place.inner >= place.outer ? place.outer : place.outer.before
    }

    private func departures(of number: UInt32, after position: ChangePosition, end: ChangePosition?) -> Reader {
        .departures(
            tree: number, next: zone.trees.trees[number]!.departures.firstIndex(after: position), end: end ?? .last,
            isLost: false)
    }

    /// The next thing to be told; nil at the end.
    mutating func next() -> (place: TreePlace, item: Item)? {
        guard let first = sources.first else { return nil }
        let found = (place: first.place, item: first.item)
        var source = first
        if advance(&source) {
            sources[0] = source
        } else {
            sources.swapAt(0, sources.count - 1)
            sources.removeLast()
        }
        sink(0)
        return found
    }

    private mutating func add(_ reader: Reader, block: ChangePosition = .start) {
        var source = Source(
            reader: reader, block: block, place: TreePlace(.start), item: .nothing)
        guard advance(&source) else { return }
        sources.append(source)
        var index = sources.count - 1
        while index > 0, sources[index].place < sources[(index - 1) / 2].place {
            sources.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < sources.count {
                if sources[child].place < sources[least].place { least = child }
            }
            if least == index { return }
            sources.swapAt(least, index)
            index = least
        }
    }

    /// Moves a source to what it tells next; false at its end.
    ///
    /// After some entries that tell nothing it stops where it stands, so that whoever reads can end there: most of a
    /// tree may be of that kind.
    private mutating func advance(_ source: inout Source) -> Bool {
        var looks = 0
        switch source.reader {
        case .members(var entries, let number):
            defer { source.reader = .members(entries, tree: number) }
            while let entry = entries.next() {
                source.place = TreePlace(outer: max(entry.position, source.block), inner: entry.position)
                source.item = isCurrent(entry, in: number) ? .record(entry.slot) : .nothing
                if case .nothing = source.item, goesOn(&looks) { continue }
                return true
            }
        case .lost(var entries, let number, let end):
            defer { source.reader = .lost(entries, tree: number, end: end) }
            while let entry = entries.next() {
                source.place = TreePlace(outer: end, inner: entry.position)
                source.item = isLost(entry, in: number, end: end) ? deletion(of: entry.slot) : .nothing
                if case .nothing = source.item, goesOn(&looks) { continue }
                return true
            }
        case .departures(let number, var next, let end, let isLost):
            defer { source.reader = .departures(tree: number, next: next, end: end, isLost: isLost) }
            let departures = zone.trees.trees[number]!.departures
            while next < departures.count {
                let departure = departures[next]
                if !isLost, departure.position > end { return false }
                next += 1
                source.place = TreePlace(
                    outer: isLost ? end : departure.position, inner: departure.position)
                let wasSeen = !isLost || departure.entered.sequence < end.sequence
                source.item =
                    wasSeen && !isVisible(departure.name)
                    ? .deletion(name: departure.name, type: departure.type) : .nothing
                if case .nothing = source.item, goesOn(&looks) { continue }
                return true
            }
        }
        return false
    }

    private mutating func goesOn(_ looks: inout Int) -> Bool {
        lookCount += 1
        looks += 1
        return looks < TreeFeed.looksAtOnce
    }

    private static let looksAtOnce = 64

    /// Whether an entry is where its record stands in the tree now.
    private func isCurrent(_ entry: Feed.Entry, in number: UInt32) -> Bool {
        guard zone.trees.numbers[entry.slot] == number, !zone.slots.isDeleted(entry.slot) else { return false }
        let changed = zone.slots.position(of: entry.slot)
        return zone.trees.trees[number]!.place(of: entry.slot, changed: changed) == entry.position
    }

    /// Whether a record is one that the user saw before their part ended, and does not see now. What came with the very
    /// commit that ended it they never saw.
    private func isLost(_ entry: Feed.Entry, in number: UInt32, end: ChangePosition) -> Bool {
        guard isCurrent(entry, in: number), member.parts[zone.trees.cover(of: entry.slot)] == nil else { return false }
        let entered = zone.trees.trees[number]!.entered(entry.slot, created: zone.slots.created(entry.slot))
        return entered.sequence < end.sequence
    }

    private func deletion(of slot: Int32) -> Item { .deletion(name: zone[slot].name, type: zone[slot].type) }

    /// Whether there is a record of a name that the user sees.
    private func isVisible(_ name: String) -> Bool {
        guard let slot = zone.liveSlot(of: name) else { return false }
        return member.parts[zone.trees.cover(of: slot)] != nil
    }
}

extension TreeMember {
    /// The position of the last thing that the user can have been told of.
    func head(_ trees: SharedTrees) -> ChangePosition {
        var head = max(start, floor, ended.last?.end ?? .start)
        for (number, part) in parts { head = max(head, part.acceptance, trees.trees[number]?.head ?? .start) }
        return head
    }

    /// Whether deletions behind a position are all known that the user is to be told of.
    ///
    /// - Parameter isInBlock: Whether some of what stands as a block at the position was not told.
    func reaches(back position: ChangePosition, isInBlock: Bool, _ trees: SharedTrees) -> Bool {
        if position < floor { return false }
        for (number, part) in parts {
            if max(position, part.acceptance) < trees.trees[number]?.departureFloor ?? .start { return false }
        }
        return ended.allSatisfy { part in
            part.end < position || part.end == position && !isInBlock
                || max(position, part.acceptance) >= trees.trees[part.tree]?.departureFloor ?? .start
        }
    }
}

extension ChangePosition {
    /// Behind every position.
    static let last = ChangePosition(rawValue: .max)

    /// The position before this one.
    var before: ChangePosition { ChangePosition(rawValue: rawValue - 1) }
}

extension [SharedTree.Departure] {
    /// The index of the first one behind a position.
    func firstIndex(after position: ChangePosition) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].position > position { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
