/// A request to keep a ring's next entry, in a zone of the caller's private database.
package struct AppendRingEntryRequest: Equatable, Sendable {
    package var zone: ZoneID
    /// Signed; it says of which ring of the zone it is.
    package var entry: SharedBytes

    package init(zone: ZoneID, entry: SharedBytes) {
        self.zone = zone
        self.entry = entry
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

/// Some entries of a ring, the first in front.
package struct RingPage: Equatable, Sendable {
    package var entries: [SharedBytes]
    /// The number of the last one that there is; 0 where there is none.
    package var last: UInt32

    package init(entries: [SharedBytes], last: UInt32) {
        self.entries = entries
        self.last = last
    }
}
