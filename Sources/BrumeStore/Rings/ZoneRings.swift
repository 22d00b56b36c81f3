package import BrumeModel

/// The rings of a private database: each zone has one at the most, and each shared tree in it. Beside them are the
/// statements of users who do not own the zone, and the guests of each ring: see `ZoneRings+Others.swift`.
///
/// Bounded by ``Limits/ringsPerDatabase``.
package struct ZoneRings: Equatable, Sendable {
    /// Those of one zone.
    struct Zone: Equatable, Sendable {
        /// By the record names of the trees' roots; the zone's own has the empty name.
        fileprivate(set) var rings: [String: KeyRing] = [:]
        /// The statements of users other than the zone's owner, by user record name.
        var statements: [String: OtherStatements] = [:]
        /// Those who ask to be taken into a ring, by its root and then by user record name. None is empty.
        var guests: [String: [String: RingGuest]] = [:]
        /// The bytes of all entries.
        fileprivate(set) var entryBytes = 0
        /// The bytes of all statements of others, and what is counted for guests.
        var statementBytes = 0
        /// The users among them whom no entry has named, and the bytes of their statements.
        var unnamedUsers = 0
        var unnamedBytes = 0
        var guestBytes = 0
        var approximateBytes = 0
    }

    /// By the zones' incarnations. A zone without a ring has nothing else here.
    private(set) var zonesByIncarnation: [UInt64: Zone] = [:]
    private(set) var count = 0
    /// The bytes of all entries.
    private(set) var entryBytes = 0
    /// The bytes of all statements of others.
    private(set) var statementBytes = 0
    private(set) var guestBytes = 0
    private(set) var approximateBytes = 0

    package init() {}

    /// What a quota counts of them.
    var byteCount: Int { entryBytes + statementBytes + guestBytes }

    /// The zones that have any, in the order in which they were made.
    var zones: [UInt64] { zonesByIncarnation.keys.sorted() }

    /// A ring of a zone; an empty one where there is none.
    package func ring(ofZone zone: UInt64, root: String) -> KeyRing {
        zonesByIncarnation[zone]?.rings[root] ?? KeyRing()
    }

    /// How many zones have rings.
    package var zoneCount: Int { zonesByIncarnation.count }

    /// Whether a zone has any.
    package func hasRings(ofZone zone: UInt64) -> Bool { zonesByIncarnation[zone] != nil }

    /// Whether a zone has a certain one.
    package func hasRing(ofZone zone: UInt64, root: String) -> Bool { zonesByIncarnation[zone]?.rings[root] != nil }

    /// How many rings a zone has.
    package func count(ofZone zone: UInt64) -> Int { zonesByIncarnation[zone]?.rings.count ?? 0 }

    /// The bytes of all entries of a zone's rings: more with each that comes.
    package func entryBytes(ofZone zone: UInt64) -> Int { zonesByIncarnation[zone]?.entryBytes ?? 0 }

    /// The roots of the trees that have rings in a zone, in no order.
    package func roots(ofZone zone: UInt64) -> some Sequence<String> {
        (zonesByIncarnation[zone]?.rings ?? [:]).keys.lazy.filter { !$0.isEmpty }
    }

    /// Whether an entry is the last one of a ring of a zone.
    func endsRing(_ entry: SharedBytes, ofZone zone: UInt64) -> Bool {
        zonesByIncarnation[zone]?.rings.values.contains { $0[$0.last] == entry } ?? false
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
        if zonesByIncarnation[zone] == nil { zonesByIncarnation[zone] = Zone() }
        update(zone) { zone in
            // In place: a copy of the ring would count a reference for each entry.
            let after = zone.rings[root, default: KeyRing()].append(entry)
            zone.entryBytes += entry.count
            zone.approximateBytes += after - before
        }
        return true
    }

    /// Changes what a zone has, in place, and keeps the sums.
    ///
    /// - Precondition: It has a ring.
    mutating func update(_ zone: UInt64, _ change: (inout Zone) -> Void) {
        let index = zonesByIncarnation.index(forKey: zone)!
        subtract(zonesByIncarnation.values[index])
        change(&zonesByIncarnation.values[index])
        add(zonesByIncarnation.values[index])
    }

    private mutating func add(_ zone: borrowing Zone) {
        entryBytes += zone.entryBytes
        statementBytes += zone.statementBytes
        guestBytes += zone.guestBytes
        approximateBytes += zone.approximateBytes
    }

    private mutating func subtract(_ zone: borrowing Zone) {
        entryBytes -= zone.entryBytes
        statementBytes -= zone.statementBytes
        guestBytes -= zone.guestBytes
        approximateBytes -= zone.approximateBytes
    }

    /// Forgets the rings of a zone that is deleted, or whose keys are lost, with all that is beside them: a step of a
    /// bounded size, as long as somebody else frees what is returned.
    mutating func remove(ofZone zone: UInt64) -> Zone? {
        guard let gone = zonesByIncarnation.removeValue(forKey: zone) else { return nil }
        count -= gone.rings.count
        subtract(gone)
        return gone
    }

    /// All entries: the rings of a zone in the order of their roots, and of each the first entry in front.
    package func forEachEntry<Failure>(
        _ body: (_ zone: UInt64, _ root: String, _ entry: SharedBytes) throws(Failure) -> Void
    ) throws(Failure) {
        for zone in zones {
            for (root, ring) in zonesByIncarnation[zone]!.rings.sorted(by: { $0.key < $1.key }) {
                for entry in ring.entries { try body(zone, root, entry) }
            }
        }
    }

    /// The same, counted anew.
    var recounted: ZoneRings {
        var recounted = ZoneRings()
        forEachEntry { _ = recounted.append($2, zone: $0, root: $1) }
        recounted.takeOthers(of: self)
        return recounted
    }
}
