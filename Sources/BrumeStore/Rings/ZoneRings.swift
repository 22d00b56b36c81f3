package import BrumeModel

/// The rings of a private database: each zone has one at the most, and each shared tree in it.
package struct ZoneRings: Equatable, Sendable {
    /// By the zones' incarnations, then by the record names of the trees' roots; a zone's own has the empty name.
    private var rings: [UInt64: [String: KeyRing]] = [:]
    /// The bytes of all entries.
    private(set) var byteCount = 0
    private(set) var approximateBytes = 0

    package init() {}

    /// The zones that have any, in the order in which they were made.
    var zones: [UInt64] { rings.keys.sorted() }

    /// A ring of a zone; an empty one where there is none.
    package func ring(ofZone zone: UInt64, root: String) -> KeyRing { rings[zone]?[root] ?? KeyRing() }

    /// Takes the next entry of a ring; returns false if it is none, or there is no room for it.
    mutating func append(_ entry: SharedBytes, zone: UInt64, root: String) -> Bool {
        guard ring(ofZone: zone, root: root).hasRoom(for: entry) else { return false }
        let before = rings[zone]?[root]?.approximateBytes ?? 0
        // In place: a copy would count a reference for each entry.
        let after = rings[zone, default: [:]][root, default: KeyRing()].append(entry)
        byteCount += entry.count
        approximateBytes += after - before
        return true
    }

    /// Forgets the rings of a zone that is deleted, or whose keys are lost.
    mutating func remove(ofZone zone: UInt64) {
        guard let gone = rings.removeValue(forKey: zone) else { return }
        for ring in gone.values {
            byteCount -= ring.byteCount
            approximateBytes -= ring.approximateBytes
        }
    }

    /// All entries: the rings of a zone in the order of their roots, and of each the first entry in front.
    package func forEachEntry<Failure>(
        _ body: (_ zone: UInt64, _ root: String, _ entry: SharedBytes) throws(Failure) -> Void
    ) throws(Failure) {
        for zone in zones {
            for (root, ring) in rings[zone]!.sorted(by: { $0.key < $1.key }) {
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
