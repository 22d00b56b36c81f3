package import BrumeModel

/// The rings of a private database: each zone has one at the most, and each shared tree in it.
///
/// Bounded by ``Limits/ringsPerDatabase``.
package struct ZoneRings: Equatable, Sendable {
    /// Those of one zone.
    struct Zone: Equatable, Sendable {
        /// By the record names of the trees' roots; the zone's own has the empty name.
        fileprivate(set) var rings: [String: KeyRing] = [:]
        /// The bytes of all entries.
        fileprivate(set) var byteCount = 0
        fileprivate(set) var approximateBytes = 0
    }

    /// By the zones' incarnations.
    private var ringsOfZone: [UInt64: Zone] = [:]
    private(set) var count = 0
    /// The bytes of all entries.
    private(set) var byteCount = 0
    private(set) var approximateBytes = 0

    package init() {}

    /// The zones that have any, in the order in which they were made.
    var zones: [UInt64] { ringsOfZone.keys.sorted() }

    /// A ring of a zone; an empty one where there is none.
    package func ring(ofZone zone: UInt64, root: String) -> KeyRing { ringsOfZone[zone]?.rings[root] ?? KeyRing() }

    /// How many zones have rings.
    package var zoneCount: Int { ringsOfZone.count }

    /// Whether a zone has any.
    package func hasRings(ofZone zone: UInt64) -> Bool { ringsOfZone[zone] != nil }

    /// How many rings a zone has.
    package func count(ofZone zone: UInt64) -> Int { ringsOfZone[zone]?.rings.count ?? 0 }

    /// The roots of the trees that have rings in a zone, in no order.
    package func roots(ofZone zone: UInt64) -> some Sequence<String> {
        (ringsOfZone[zone]?.rings ?? [:]).keys.lazy.filter { !$0.isEmpty }
    }

    /// Whether an entry is the last one of a ring of a zone.
    func endsRing(_ entry: SharedBytes, ofZone zone: UInt64) -> Bool {
        ringsOfZone[zone]?.rings.values.contains { $0[$0.last] == entry } ?? false
    }

    /// Whether there is room for another entry of a ring.
    func hasRoom(for entry: SharedBytes, in ring: KeyRing) -> Bool {
        ring.hasRoom(for: entry) && (ring.last > 0 || count < Limits.ringsPerDatabase)
    }

    /// Takes the next entry of a ring; returns false if it is none, or there is no room for it.
    mutating func append(_ entry: SharedBytes, zone: UInt64, root: String) -> Bool {
        let ring = ring(ofZone: zone, root: root)
        guard hasRoom(for: entry, in: ring) else { return false }
        let before = ring.last > 0 ? ring.approximateBytes : 0
        if ring.last == 0 { count += 1 }
        grow(by: entry, from: before, zone: zone, root: root)
        return true
    }

    /// In place: a copy of the ring would count a reference for each entry.
    private mutating func grow(by entry: SharedBytes, from before: Int, zone: UInt64, root: String) {
        let after = ringsOfZone[zone, default: Zone()].rings[root, default: KeyRing()].append(entry)
        ringsOfZone[zone]!.byteCount += entry.count
        ringsOfZone[zone]!.approximateBytes += after - before
        byteCount += entry.count
        approximateBytes += after - before
    }

    /// Forgets the rings of a zone that is deleted, or whose keys are lost: a step of a bounded size, as long as
    /// somebody else frees what is returned.
    mutating func remove(ofZone zone: UInt64) -> Zone? {
        guard let gone = ringsOfZone.removeValue(forKey: zone) else { return nil }
        count -= gone.rings.count
        byteCount -= gone.byteCount
        approximateBytes -= gone.approximateBytes
        return gone
    }

    /// All entries: the rings of a zone in the order of their roots, and of each the first entry in front.
    package func forEachEntry<Failure>(
        _ body: (_ zone: UInt64, _ root: String, _ entry: SharedBytes) throws(Failure) -> Void
    ) throws(Failure) {
        for zone in zones {
            for (root, ring) in ringsOfZone[zone]!.rings.sorted(by: { $0.key < $1.key }) {
                for entry in ring.entries { try body(zone, root, entry) }
            }
        }
    }

    /// The same, counted anew.
    var recounted: ZoneRings {
        var recounted = ZoneRings()
        forEachEntry { _ = recounted.append($2, zone: $0, root: $1) }
        return recounted
    }
}
