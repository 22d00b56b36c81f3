internal import BrumeModel

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
        case deletion(DeletedRecord)
        /// There is nothing to be told up to here: what stood there went on, or is told elsewhere.
        case nothing
    }

    private enum Reader {
        /// Members that changed or came behind an acceptance, and those of before in its block.
        /// But for a share that stands elsewhere for its managers.
        case members(Feed.Entries, tree: UInt32, elsewhere: Int32?)
        /// A share where it last changed, for those who are shown more of it than others; nil when it was told.
        case share(Int32?)
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

        /// A record that goes from one tree into another stands where its departure stands. It comes first, so that a
        /// page that ends there has told of it.
        var isRecord: Bool {
            if case .record = item { true } else { false }
        }
    }

    private let zone: ZoneState
    private let member: TreeMember
    private var sources = Heap<Source> { $0.place != $1.place ? $0.place < $1.place : $0.isRecord && !$1.isRecord }
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
            let quiet = part.isManager ? tree.quietShare : nil
            add(
                .members(tree.feed.entries(after: after), tree: number, elsewhere: quiet?.slot),
                block: part.acceptance)
            if let quiet, TreePlace(quiet.changed) > place { add(.share(quiet.slot)) }
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
        var source = first
        if advance(&source) { sources.replaceFirst(with: source) } else { _ = sources.pop() }
        return (first.place, first.item)
    }

    private mutating func add(_ reader: Reader, block: ChangePosition = .start) {
        var source = Source(reader: reader, block: block, place: TreePlace(.start), item: .nothing)
        if advance(&source) { sources.push(source) }
    }

    /// Moves a source to what it tells next; false at its end.
    ///
    /// After some entries that tell nothing it stops where it stands, so that whoever reads can end there: most of a
    /// tree may be of that kind.
    private mutating func advance(_ source: inout Source) -> Bool {
        var looks = 0
        switch source.reader {
        case .members(var entries, let number, let elsewhere):
            defer { source.reader = .members(entries, tree: number, elsewhere: elsewhere) }
            while let entry = entries.next() {
                source.place = TreePlace(outer: max(entry.position, source.block), inner: entry.position)
                source.item =
                    entry.slot != elsewhere && isCurrent(entry, in: number)
                    ? .record(entry.slot) : .nothing
                if case .nothing = source.item, goesOn(&looks) { continue }
                return true
            }
        case .share(let slot):
            guard let slot else { return false }
            source = Source(
                reader: .share(nil), block: source.block, place: TreePlace(zone.slots.position(of: slot)),
                item: .record(slot))
            return true
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
                    ? .deletion(DeletedRecord(name: departure.name, type: departure.type)) : .nothing
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

    private func deletion(of slot: Int32) -> Item {
        .deletion(DeletedRecord(name: zone[slot].name, type: zone[slot].type))
    }

    /// Whether there is a record of a name that the user sees.
    private func isVisible(_ name: String) -> Bool {
        guard let slot = zone.liveSlot(of: name) else { return false }
        return member.parts[zone.trees.cover(of: slot)] != nil
    }
}

extension [SharedTree.Departure] {
    /// The index of the first one behind a position.
    func firstIndex(after position: ChangePosition) -> Int {
        SortedSearch.firstIndex(from: 0, count: count) { self[$0].position > position ? 1 : -1 }.index
    }
}
