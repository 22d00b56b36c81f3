/// What a device keeps of a zone that somebody else shares, whatever a server says of it since: which rings of it the
/// device has kept, and what they say for good.
///
/// A device that begins anew has no keys in memory before something has it look, and would take a server's word until
/// then.
struct OthersZone: Equatable, Sendable {
    struct Ring: Equatable, Sendable {
        /// Names the zone's life.
        let ringID: [UInt8]
        /// Whether the zone's files are encrypted.
        let encryptsAssets: Bool
    }

    /// By the record names of the trees' roots; the empty one is the zone's own.
    private(set) var rings: [String: Ring] = [:]

    /// Rings that are kept in mind: as many as a database has.
    static let ringsMax = 10_000

    var roots: Set<String> { Set(rings.keys) }

    /// Whether one of them says that the zone's files are encrypted.
    var encryptsAssets: Bool { rings.values.contains(where: \.encryptsAssets) }

    /// Takes a ring, unless there is no room for another one.
    mutating func note(_ ring: Ring, of root: String) {
        if rings.count < Self.ringsMax || rings[root] != nil { rings[root] = ring }
    }

    /// The zone was made anew: what rings of a life say that is over counts no more.
    mutating func end(life ringID: [UInt8]) { rings = rings.filter { $0.value.ringID != ringID } }
}
