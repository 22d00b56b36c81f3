internal import BrumeModel

/// How often users went back to an earlier chain of their statements since the last entry of a zone's rings.
///
/// Each time, the rings are due or due no longer, and devices of others are told. It takes no room that a limit or a
/// quota would end, so that it is counted here until there is another entry. A database that is loaded anew counts
/// anew.
struct RingSelections {
    private struct Count {
        /// The bytes of the zone's entries when the last one was counted.
        var entryBytes: Int
        var selections: Int
    }

    private struct UserID: Hashable {
        /// The zone's incarnation.
        let zone: UInt64
        let user: String
    }

    private var counts: [UserID: Count] = [:]

    /// Selections of one user between two entries: as many as there can be chains.
    static let selectionsMax = Limits.ringChainsPerUser
    /// When more users are counted, all are counted anew.
    private static let usersMax = 4_096

    /// About what it takes in memory.
    var approximateBytes: Int { counts.count * 128 }

    /// Whether a user may go back once more.
    func hasRoom(for user: String, inZone zone: UInt64, entryBytes: Int) -> Bool {
        guard let count = counts[UserID(zone: zone, user: user)], count.entryBytes == entryBytes else { return true }
        return count.selections < Self.selectionsMax
    }

    mutating func note(_ user: String, inZone zone: UInt64, entryBytes: Int) {
        let id = UserID(zone: zone, user: user)
        if let count = counts[id], count.entryBytes == entryBytes {
            counts[id]!.selections += 1
            return
        }
        if counts.count >= Self.usersMax { counts = [:] }
        counts[id] = Count(entryBytes: entryBytes, selections: 1)
    }
}
