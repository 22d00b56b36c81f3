internal import BrumeModel
internal import BrumeStore

/// What a loop knows of changes in zones of others, for the users whose own databases belong to it and who asked for
/// such changes.
///
/// Bounded: ``ServiceLimits/touchedUsers`` users, and as many zones for each as their database lists. The users who
/// asked longest ago are forgotten; when they ask again, all their zones are told as changed.
struct TouchTable {
    private var users: [DatabaseID: (touches: ZoneTouches, lastUse: UInt64)] = [:]
    private var useCount: UInt64 = 0
    private var madeCount: UInt32 = 0
    private let limit: Int

    init(limit: Int = ServiceLimits.touchedUsers) { self.limit = limit }

    /// What is known for a user, by their own database. From now on changes are noted for them.
    ///
    /// - Parameter run: Names this run of the server.
    mutating func touches(of home: DatabaseID, run: UInt32) -> ZoneTouches {
        useCount += 1
        if let known = users[home] {
            users[home]!.lastUse = useCount
            return known.touches
        }
        if users.count >= limit { forgetOldest() }
        madeCount &+= 1
        // No two of one run of the server are the same.
        let touches = ZoneTouches(run: run &+ madeCount &* 0x9E37_79B9)
        users[home] = (touches, useCount)
        return touches
    }

    /// Notes a change in a zone. A user for whom none are noted is told of all zones when they ask.
    mutating func touch(_ zone: ZoneID, of home: DatabaseID) { users[home]?.touches.touch(zone) }

    /// Notes that zones of a user came or went.
    ///
    /// - Parameter gone: The zone in which they take no part any more.
    mutating func changedZones(of home: DatabaseID, gone: ZoneID?) { users[home]?.touches.changedZones(gone: gone) }

    /// Changes may have been missed.
    mutating func forget(_ home: DatabaseID) { users[home] = nil }

    private mutating func forgetOldest() {
        let uses = users.values.map(\.lastUse).sorted()
        let oldest = uses[uses.count / 4]
        users = users.filter { $0.value.lastUse > oldest }
    }
}
