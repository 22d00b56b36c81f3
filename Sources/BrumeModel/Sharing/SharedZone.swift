/// A zone of another user in which a user takes part: what the user's own database keeps of it, to find it again. It
/// grants nothing; the owner's database decides each request.
package struct SharedZone: Equatable, Sendable {
    /// With its owner.
    package var id: ZoneID
    /// The zone's incarnation in its owner's database.
    package var incarnation: UInt64
    /// The position in the owner's database at which the user's part began: of the acceptance that opened the zone.
    package var start: ChangePosition
    /// The run of the server that wrote that position.
    package var run: UInt32
    /// Whether it is shared with the user as a whole, and not single records of it.
    package var isWhole: Bool

    package init(id: ZoneID, incarnation: UInt64, start: ChangePosition, run: UInt32, isWhole: Bool = true) {
        self.isWhole = isWhole
        self.id = id
        self.incarnation = incarnation
        self.start = start
        self.run = run
    }
}

/// A zone of another user in which a user is about to take part. What came of it may not be known yet.
package struct AskedZone: Hashable, Comparable, Sendable {
    package var owner: String
    /// The zone's incarnation in its owner's database.
    package var incarnation: UInt64

    package init(owner: String, incarnation: UInt64) {
        self.owner = owner
        self.incarnation = incarnation
    }

    package static func < (left: AskedZone, right: AskedZone) -> Bool {
        (left.owner, left.incarnation) < (right.owner, right.incarnation)
    }
}

/// What an owner's database says of one user's part in one of its zones, as of one of its commits.
package struct SharedZoneNews: Equatable, Sendable {
    /// The zone, with its owner. The name is empty for a zone that is no more.
    package var id: ZoneID
    /// The zone's incarnation; 0 where the news is of whatever zone has the name.
    package var incarnation: UInt64
    /// The user's part; nil if they take none.
    package var zone: SharedZone?
    /// The owner's last commit that it takes into account, and the run of the server that says it.
    package var sequence: UInt64
    package var run: UInt32

    package init(id: ZoneID, incarnation: UInt64, zone: SharedZone?, sequence: UInt64, run: UInt32) {
        self.id = id
        self.incarnation = incarnation
        self.zone = zone
        self.sequence = sequence
        self.run = run
    }

    /// Whether it is from before a part that began in the same run: it has waited, and something newer came first.
    package func isOlder(than zone: SharedZone) -> Bool { run == zone.run && sequence < zone.start.sequence }
}
