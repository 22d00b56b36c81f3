/// A request to keep a ring's next entry, in a zone of the caller's private database or of another's in which they take
/// part.
package struct AppendRingEntryRequest: Equatable, Sendable {
    package var zone: ZoneID
    /// Signed; it says of which ring of the zone it is.
    package var entry: SharedBytes
    /// Signed statements of its members, each user's in their order: those that the server may not have.
    package var statements: [SharedBytes]

    package init(zone: ZoneID, entry: SharedBytes, statements: [SharedBytes] = []) {
        self.zone = zone
        self.entry = entry
        self.statements = statements
    }
}

/// A request for entries of a ring of a zone.
package struct FetchRingRequest: Equatable, Sendable {
    package var zone: ZoneID
    /// The record name of the shared tree's root; empty for the zone's own ring.
    package var root: String
    /// The number behind which the caller wants entries.
    package var after: UInt32

    package init(zone: ZoneID, root: String = "", after: UInt32) {
        self.zone = zone
        self.root = root
        self.after = after
    }
}

/// Some entries of a ring, the first in front, and what its next one has to take into account.
package struct RingPage: Equatable, Sendable {
    package var entries: [SharedBytes]
    /// The number of the last one that there is; 0 where there is none.
    package var last: UInt32
    /// The users who wait to be taken in.
    package var guests: [RingGuest]
    /// Members of the last entry who take part no more in what the ring is of.
    package var departed: [String]
    /// Members of the last entry who have other keys now than it names.
    package var renewed: [String]

    package init(
        entries: [SharedBytes], last: UInt32, guests: [RingGuest] = [], departed: [String] = [], renewed: [String] = []
    ) {
        self.entries = entries
        self.last = last
        self.guests = guests
        self.departed = departed
        self.renewed = renewed
    }
}

/// Somebody who takes part in what a ring is of, and is no member of it.
package struct RingGuest: Equatable, Sendable {
    /// The user record name.
    package var user: String
    /// The hash of the user's newest statement beside the rings.
    package var statementHash: [UInt8]
    /// The id of the invitation whose link the user had; empty where there was none.
    package var invitationID: [UInt8]
    /// That the user had the link, which devices check; or empty.
    package var proof: [UInt8]
    /// Whether the user may change records, and so may be a writer of the ring. It is worked out for each answer.
    package var mayWrite: Bool

    package init(
        user: String, statementHash: [UInt8], invitationID: [UInt8] = [], proof: [UInt8] = [], mayWrite: Bool = false
    ) {
        self.mayWrite = mayWrite
        self.user = user
        self.statementHash = statementHash
        self.invitationID = invitationID
        self.proof = proof
    }
}

/// A request to tell those who make a ring's entries which keys the caller has.
package struct JoinRingRequest: Equatable, Sendable {
    package var zone: ZoneID
    /// The record name of the shared tree's root; empty for the zone's own ring.
    package var root: String
    /// Signed, in their order.
    package var statements: [SharedBytes]
    /// The id of the invitation whose link the caller had; empty where there was none.
    package var invitationID: [UInt8]
    /// That the caller had the link; or empty.
    package var proof: [UInt8]

    package init(
        zone: ZoneID, root: String = "", statements: [SharedBytes], invitationID: [UInt8] = [], proof: [UInt8] = []
    ) {
        self.zone = zone
        self.root = root
        self.statements = statements
        self.invitationID = invitationID
        self.proof = proof
    }
}

/// A request for one user's statements beside the rings of a zone.
package struct FetchRingStatementsRequest: Equatable, Sendable {
    package var zone: ZoneID
    /// The user record name.
    package var user: String
    /// The number behind which the caller wants statements.
    package var after: UInt32

    package init(zone: ZoneID, user: String, after: UInt32) {
        self.zone = zone
        self.user = user
        self.after = after
    }
}

/// A request for the roots of shared trees of a zone.
package struct FindRingRootsRequest: Equatable, Sendable {
    package var zone: ZoneID
    /// The trees' ids, as encrypted values name them, of 16 bytes each.
    package var treeIDs: [[UInt8]]

    package init(zone: ZoneID, treeIDs: [[UInt8]]) {
        self.zone = zone
        self.treeIDs = treeIDs
    }
}

/// A request for records of a zone of the caller's own that are in shared trees, and have encrypted values of others.
package struct ListMisplacedRecordsRequest: Equatable, Sendable {
    package var zone: ZoneID
    /// Where the part of the zone starts that is looked at: 0, then what the last answer said.
    package var start: UInt32

    package init(zone: ZoneID, start: UInt32 = 0) {
        self.zone = zone
        self.start = start
    }
}

/// What was found in a part of a zone.
package struct MisplacedRecordsPage: Equatable, Sendable {
    /// The records' names.
    package var names: [String]
    /// Where the next part starts; 0 where there is none.
    package var next: UInt32

    package init(names: [String] = [], next: UInt32 = 0) {
        self.names = names
        self.next = next
    }
}
