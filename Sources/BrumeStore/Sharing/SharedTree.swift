internal import BrumeModel

/// The records that one share covers: its root with all that stands below it, and the share's own record. What whoever
/// takes part sees of the zone.
///
/// It has a feed of its own, so that reading it costs what it holds, however large the zone is, and so that what the
/// owner does elsewhere shows neither in tokens nor in the time that an answer takes.
struct SharedTree: Sendable {
    /// A record that was deleted, or is covered no longer.
    struct Departure: Equatable, Sendable {
        let position: ChangePosition
        /// When it had come into the tree.
        let entered: ChangePosition
        let name: String
        let type: String
    }

    /// The name of the share's record.
    let share: String
    /// The position of the change that made the share. What was covered then came with it.
    let since: ChangePosition
    /// The members: each at its last change, or where it came into the tree if that was later.
    private(set) var feed = Feed()
    /// Where members came into the tree that are older than that and came later than the share.
    private(set) var entered: [Int32: ChangePosition] = [:]
    /// What left, oldest first.
    private(set) var departures: [Departure] = []
    /// Departures up to here are forgotten: tokens that need them have expired.
    private(set) var departureFloor = ChangePosition.start
    /// The number of members.
    private(set) var count = 0
    /// The users who take part, without the owner.
    var users: Set<String> = []
    /// Users who took part, take part in other trees of the zone, and are to be told what went with this one.
    var told: Set<String> = []
    /// The share's own record, while it stands elsewhere for those who do not manage it.
    var quietShare: QuietShare?
    /// Whether the share is gone. The tree stays while somebody is to be told of it.
    private(set) var isEnded = false
    private var departureBytes = 0

    init(share: String, since: ChangePosition) {
        self.share = share
        self.since = since
    }

    /// A tree as a snapshot holds it, but for its members and departures.
    init(share: String, since: ChangePosition, departureFloor: ChangePosition, isEnded: Bool) {
        self.share = share
        self.since = since
        self.departureFloor = departureFloor
        self.isEnded = isEnded
    }

    /// The position of what happened last in it. What is forgotten has happened, too: a token from behind it is good.
    var head: ChangePosition {
        max(feed.last?.position ?? .start, departures.last?.position ?? .start, departureFloor)
    }

    /// Where a member came into the tree.
    func entered(_ slot: Int32, created: ChangePosition) -> ChangePosition {
        max(since, created, entered[slot] ?? .start)
    }

    /// Where a member stands in the feed.
    func place(of slot: Int32, changed: ChangePosition) -> ChangePosition {
        SharedTree.place(of: slot, changed: changed, entered, quietShare)
    }

    private static func place(
        of slot: Int32, changed: ChangePosition, _ entered: [Int32: ChangePosition], _ quietShare: QuietShare?
    ) -> ChangePosition {
        if let quietShare, quietShare.slot == slot { return quietShare.shown }
        return max(changed, entered[slot] ?? .start)
    }

    /// About what it takes in memory.
    var approximateBytes: Int {
        SharedTree.emptyBytes + count * SharedTree.memberBytes
            + (users.count + told.count) * SharedTree.userBytes + entered.count * SharedTree.enteredBytes
            + departureBytes
    }

    /// The same, counted anew.
    var recountedBytes: Int {
        var counted = self
        counted.departureBytes = departures.reduce(0) { $0 + SharedTree.bytes(of: $1) }
        return counted.approximateBytes
    }

    private static let emptyBytes = 512
    /// A feed has as many entries again that are stale.
    private static let memberBytes = 2 * MemoryLayout<Feed.Entry>.stride
    private static let enteredBytes = 32
    /// With what is kept of the tree in the user's own part.
    private static let userBytes = 128
    private static let departureOverheadBytes = 64

    // MARK: Changes

    /// A record comes into the tree.
    ///
    /// - Parameter entered: Where, if neither its creation nor ``since`` says it.
    mutating func enter(_ slot: Int32, at place: ChangePosition, entered: ChangePosition?) {
        if let entered { self.entered[slot] = entered }
        count += 1
        feed.append(place, slot: slot, replacesEntry: false)
    }

    /// Takes the members that were found before the tree began: it has none yet.
    mutating func take(_ prepared: TreePreparation) {
        (feed, count) = (prepared.feed, prepared.count)
        feed.noteStale(prepared.staleCount)
    }

    /// A member changes.
    mutating func change(_ slot: Int32, at position: ChangePosition) {
        feed.append(position, slot: slot, replacesEntry: true)
    }

    /// A member goes, which its departure tells of.
    mutating func leave(_ slot: Int32) {
        entered[slot] = nil
        count -= 1
        feed.noteStale()
    }

    mutating func append(_ departure: Departure) {
        departures.append(departure)
        departureBytes += SharedTree.bytes(of: departure)
    }

    /// Forgets the older part of the departures.
    mutating func forgetDepartures(_ number: Int) {
        guard number > 0 else { return }
        departureFloor = departures[number - 1].position
        for departure in departures.prefix(number) { departureBytes -= SharedTree.bytes(of: departure) }
        departures.removeFirst(number)
    }

    /// Removes stale entries of the feed, if there are many.
    mutating func compact(isMember: (Int32) -> Bool, position: (Int32) -> ChangePosition) {
        guard feed.needsCompaction else { return }
        let (entered, quietShare) = (entered, quietShare)
        feed.compact { entry in
            let changed = position(entry.slot)
            return isMember(entry.slot)
                && entry.position == SharedTree.place(of: entry.slot, changed: changed, entered, quietShare)
        }
    }

    mutating func end() { (isEnded, quietShare) = (true, nil) }

    /// Takes the members of a snapshot, in any order.
    mutating func load(_ members: [Feed.Entry], entered: [Int32: ChangePosition]) {
        feed = Feed(unordered: members)
        count = members.count
        self.entered = entered
    }

    private static func bytes(of departure: Departure) -> Int {
        departureOverheadBytes + departure.name.utf8.count + departure.type.utf8.count
    }
}
