internal import BrumeModel

/// The zones that a query reads, as one commit left them. They are taken one after the other, while commits go on.
///
/// Nothing is copied when the moment comes, however many zones there are. A zone that is about to change before it is
/// taken is kept as it is; from then on the places of the records that change in it are noted.
struct QueryMoment {
    /// The incarnations of the zones, in rising order.
    let zones: [UInt64]
    /// The number of zones that were taken: the first ones.
    private var takenCount = 0
    /// Zones that changed before they were taken, by incarnation.
    private var kept: [UInt64: QueryTarget] = [:]
    private let guest: String?

    /// - Parameter guest: A user who does not own the zones.
    init(zones: [UInt64], guest: String?) {
        self.zones = zones
        self.guest = guest
    }

    /// Whether a zone that is about to change has to be kept as it is.
    func isWanted(_ zone: UInt64) -> Bool {
        guard takenCount < zones.count, zones[takenCount] <= zone, zone <= zones[zones.count - 1] else { return false }
        return kept[zone] == nil
    }

    mutating func keep(_ target: QueryTarget) { kept[target.incarnation] = target }

    /// Notes that a record changed in a zone that may have been kept.
    mutating func noteChange(_ slot: Int32, inZone zone: UInt64) {
        if !kept.isEmpty { kept[zone]?.changed.insert(slot) }
    }

    /// The next zone as it was, and what has changed in it since then.
    mutating func takeNext(from database: Database) -> QueryTarget {
        let zone = zones[takenCount]
        takenCount += 1
        var target = kept.removeValue(forKey: zone)
        if target == nil {
            guard let index = database.zoneIndexOfIncarnation[zone] else {
                preconditionFailure("a zone went before a query had taken it")
            }
            target = QueryTarget(database, zoneAt: index, guest: guest)
        }
        // By the time that indexes are read, they may have taken over these changes, or a part of them, or none.
        if let indexes = target!.indexes, indexes.hasPending { target!.changed.formUnion(indexes.pendingSlots) }
        return target!
    }
}

/// The trees of records that are shared with a user in a zone, as a query shows them. Holding them keeps nothing from
/// changing that is large.
struct GuestTrees {
    let numbers: TreeNumbers
    let feeds: [UInt32: Feed]
    let count: Int

    /// Nil where no records are shared by themselves.
    init?(_ guest: String, in zone: ZoneState) {
        if zone.trees.isEmpty { return nil }
        numbers = zone.trees.numbers
        let numbers = zone.trees.members[guest]?.parts.keys.map(\.self) ?? []
        var (feeds, count): ([UInt32: Feed], Int) = ([:], 0)
        for number in numbers {
            guard let tree = zone.trees.trees[number] else { continue }
            feeds[number] = tree.feed
            count += tree.count
        }
        (self.feeds, self.count) = (feeds, count)
    }

    func isVisible(_ slot: Int32) -> Bool { feeds[numbers[slot]] != nil }
}

/// A zone as a query shows it.
struct QueryTarget {
    let incarnation: UInt64
    let id: ZoneID
    let slots: RecordSlots
    /// Nil when the whole zone has to be scanned.
    let indexes: ZoneIndexes?
    /// What is shared with a user who does not own the zone; nil for one who sees all of it.
    let guestTrees: GuestTrees?
    /// The places of records that changed since the moment that is shown, or so shortly before it that the indexes
    /// don't have them.
    var changed: Set<Int32> = []

    /// The same for a zone that is gone, whose indexes are no longer kept up to date.
    var withoutIndexes: QueryTarget {
        QueryTarget(incarnation: incarnation, id: id, slots: slots, indexes: nil, guestTrees: guestTrees)
    }

    private init(
        incarnation: UInt64, id: ZoneID, slots: RecordSlots, indexes: ZoneIndexes?, guestTrees: GuestTrees?
    ) {
        self.incarnation = incarnation
        self.id = id
        self.slots = slots
        self.indexes = indexes
        self.guestTrees = guestTrees
    }

    /// A zone as it is now.
    ///
    /// - Parameter guest: A user who does not own the zone.
    init(_ database: Database, zoneAt index: Int, guest: String?) {
        self.init(
            incarnation: database.zoneStates[index].incarnation, id: ZoneID(name: database.zoneStates[index].name),
            slots: database.zoneStates[index].slots, indexes: database.madeIndexes(ofZoneAt: index),
            guestTrees: guest.flatMap { GuestTrees($0, in: database.zoneStates[index]) })
    }
}
