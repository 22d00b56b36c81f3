package import BrumeModel

/// The zones of other users in which the owner of a private database takes part, with a feed of how they came and went:
/// what the user's shared database lists.
///
/// Bounded: ``Limits/sharedZonesPerUser`` zones, ``Limits/askedZonesPerUser`` that are asked for, and
/// ``Limits/endedSharedZonesPerUser`` that went; the oldest of those are forgotten, and tokens that need them expire.
package struct SharedZones: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        var zone: SharedZone
        /// The position of the change in the user's own database that put or ended it.
        var position: ChangePosition
        var isEnded = false
        /// The position at which the user's earlier part in a zone of that name ended; ``ChangePosition/start`` where
        /// there was none.
        var earlierEnd = ChangePosition.start
    }

    /// A forgotten one keeps its place, without a name, for another.
    private(set) var entries: [Entry] = []
    private var indexOfID: [ZoneID: Int] = [:]
    private var freeIndexes: [Int] = []
    private var feed = Feed()
    private var endedCount = 0
    /// How often a zone came or went since the database was loaded.
    package private(set) var changeCount = 0
    /// Zones whose owner was asked, and of which the answer is not known: of a run that ended in between.
    package private(set) var asked: Set<AskedZone> = []
    /// Tokens below it have expired, because zones that went by then are forgotten.
    private(set) var floor = ChangePosition.start

    /// - Parameter floor: See ``floor``.
    init(floor: ChangePosition = .start) {
        self.floor = floor
    }

    package static func == (one: SharedZones, other: SharedZones) -> Bool {
        one.inOrder == other.inOrder && one.asked == other.asked && one.floor == other.floor
    }

    package var isEmpty: Bool { indexOfID.isEmpty && asked.isEmpty }

    /// The number of zones in which the user takes part.
    package var count: Int { indexOfID.count - endedCount }

    /// The zones in which the user takes part, in the order in which they came.
    package var zones: [SharedZone] { inOrder.filter { !$0.isEnded }.map(\.zone) }

    /// Zones that came and went, oldest change first.
    var inOrder: [Entry] { Array(current(after: .start)) }

    /// The position of the last change.
    var head: ChangePosition { max(floor, feed.last?.position ?? .start) }

    /// The zone of that name and owner in which the user takes part, as far as is known; nil if they don't.
    package func zone(_ id: ZoneID) -> SharedZone? {
        guard let index = indexOfID[id], !entries[index].isEnded else { return nil }
        return entries[index].zone
    }

    /// Whether the user took part in a zone of that name and owner, and does no longer, as far as that is remembered.
    func hasEnded(_ id: ZoneID) -> Bool { indexOfID[id].map { entries[$0].isEnded } ?? false }

    /// Whether the user takes part in the zone that an owner is asked for, as far as is known.
    package func lists(_ zone: AskedZone) -> Bool {
        entries.contains { entry in
            !entry.isEnded && entry.position > .start && entry.zone.incarnation == zone.incarnation
                && entry.zone.id.owner == zone.owner
        }
    }

    /// What came and went after a position, oldest change first.
    func current(after position: ChangePosition) -> some Sequence<Entry> {
        feed.entries(after: position).lazy.compactMap { entry in
            let known = entries[Int(entry.slot)]
            return known.position == entry.position ? known : nil
        }
    }

    /// How many entries the feed holds, stale ones included.
    var testOnly_feedCount: Int { feed.count }

    /// About what it takes in memory.
    var approximateBytes: Int { (indexOfID.count + asked.count) * SharedZones.entryBytes }

    /// Names of 255 bytes are rare; a usual entry has two short ones, and its places in a look-up and in the feed.
    private static let entryBytes = 320

    // MARK: Changes

    mutating func ask(_ zone: AskedZone) { asked.insert(zone) }

    mutating func answered(_ zone: AskedZone) { asked.remove(zone) }

    /// Puts a zone in which the user takes part from now on. It takes the place of another zone of that name.
    mutating func put(_ zone: SharedZone, at position: ChangePosition) {
        asked.remove(AskedZone(owner: zone.id.owner, incarnation: zone.incarnation))
        let index = place(of: zone.id)
        let former = entries[index]
        if former.isEnded { endedCount -= 1 }
        entries[index] = Entry(
            zone: zone, position: position, earlierEnd: former.isEnded ? former.position : former.earlierEnd)
        append(index, position)
    }

    /// Ends a zone's place among the user's; returns false if it has none.
    mutating func end(_ id: ZoneID, at position: ChangePosition) -> Bool {
        guard let index = indexOfID[id], !entries[index].isEnded else { return false }
        entries[index].isEnded = true
        entries[index].position = position
        endedCount += 1
        append(index, position)
        forgetEnded()
        return true
    }

    /// Takes an entry of a snapshot, which holds them in order. Returns false if it can't be one.
    mutating func load(_ entry: Entry) -> Bool {
        guard entry.position > feed.last?.position ?? .start, entry.earlierEnd < entry.position,
            indexOfID[entry.zone.id] == nil
        else { return false }
        let index = place(of: entry.zone.id)
        entries[index] = entry
        if entry.isEnded { endedCount += 1 }
        append(index, entry.position)
        return true
    }

    private mutating func place(of id: ZoneID) -> Int {
        if let known = indexOfID[id] { return known }
        let none = Entry(zone: SharedZone(id: id, incarnation: 0, start: .start, run: 0), position: .start)
        let index = freeIndexes.popLast() ?? entries.count
        if index == entries.count { entries.append(none) } else { entries[index] = none }
        indexOfID[id] = index
        return index
    }

    private mutating func append(_ index: Int, _ position: ChangePosition) {
        changeCount += 1
        feed.append(position, slot: Int32(index), replacesEntry: true)
        if feed.count > 2 * indexOfID.count + 64 {
            let entries = entries
            feed.compactWhole { entries[Int($0.slot)].position == $0.position }
        }
    }

    /// Forgets the older half of the zones that went, when there are too many.
    private mutating func forgetEnded() {
        if endedCount <= Limits.endedSharedZonesPerUser { return }
        var left = endedCount / 2
        for entry in feed.entries() where left > 0 {
            let index = Int(entry.slot)
            guard entries[index].position == entry.position, entries[index].isEnded else { continue }
            indexOfID[entries[index].zone.id] = nil
            entries[index].position = .start
            entries[index].isEnded = false
            freeIndexes.append(index)
            floor = entry.position
            endedCount -= 1
            left -= 1
        }
        let entries = entries
        feed.compactWhole { entries[Int($0.slot)].position == $0.position }
    }
}
