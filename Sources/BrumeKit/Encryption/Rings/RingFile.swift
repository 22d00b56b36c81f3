internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// The file of a ring in a key folder: `rings/NAME`.
///
/// ```
/// 0   34  head, as KeyFile has it, of the kind 5
/// 34  1   flags: 1 where the zone was deleted, as far as is known; 4 where this device has deleted the zone; 8 where
///         the app has taken people out of what is shared, and no entry says so yet; 16 where this device has asked for
///         the zone's deletion
///         where it has: count (4), then of each removal, the oldest first: its id (8); flags (1), 1 where an open link
///         ends, 2 where users are named who go, and not those who stay; count of these users (4), the user record name
///         of each (counted); count of links for one that end (4), the id of each (counted)
///     4   count of lives, then the ring's id of each (16), the oldest first
///     4   count of branches, then of each: count of entries (4), each signed entry (counted)
///     32  the secret of an open link, where there is one; else nothing
/// ```
/// The first branch is the ring; the others are those that its owner ended. NAME is a hash of where the ring is, which
/// the checksum is of, too, and no two rings have it in common:
///
/// - the account's own zone's own ring: the key folder's place, then the zone's name (counted);
/// - any other ring: four bytes 255, the key folder's place, then owner, zone and root (each counted).
enum RingFile {
    static let kind: UInt8 = 5

    /// The path in the key folder of a ring's file: 128 bits of a hash, which is enough to tell rings apart.
    static func path(_ ring: RingPlace, place: KeyPlace) -> String {
        "rings/\(SHA256.digest(checkedPlace(ring, place)).prefix(16).hexadecimal)"
    }

    static func encode(_ kept: KeptRing, ring: RingPlace, place: KeyPlace) -> KeyFileWriter {
        let branches = kept.known.map { [$0.chain] + $0.endedBranches } ?? []
        var writer = KeyFileWriter(kind: kind, capacity: 4096)
        let flags: [(Bool, UInt8)] = [
            (kept.isOver, 1), (kept.wasDeletedHere, 4), (!kept.removals.isEmpty, 8), (kept.deletionIsAsked, 16),
        ]
        writer.write(u8: flags.reduce(0) { $1.0 ? $0 | $1.1 : $0 })
        if !kept.removals.isEmpty {
            writer.write(u32: UInt32(kept.removals.count))
            for removal in kept.removals { encode(removal, &writer) }
        }
        writer.write(u32: UInt32(kept.lives.ringIDs.count))
        for id in kept.lives.ringIDs { writer.write(id) }
        writer.write(u32: UInt32(branches.count))
        for branch in branches {
            writer.write(u32: UInt32(branch.entries.count))
            for entry in branch.entries { writer.write(counted: entry.bytes) }
        }
        if let link = kept.link { writer.write(link.seed) }
        writer.finish(place: checkedPlace(ring, place))
        return writer
    }

    static func decode(
        _ bytes: consuming [UInt8], ring: RingPlace, place: KeyPlace
    ) throws(KeyFile.Refusal) -> KeptRing {
        var reader = try KeyFileReader(bytes, kind: kind, place: checkedPlace(ring, place))
        defer { reader.wipe() }
        let flags = try reader.readU8()
        guard flags & ~29 == 0 else { throw .damaged }
        var kept = KeptRing(
            isOver: flags & 1 != 0, wasDeletedHere: flags & 4 != 0, deletionIsAsked: flags & 16 != 0)
        if flags & 8 != 0 {
            for _ in 0..<(try count(&reader, atMost: KeyLimits.ringRemovalsMax)) {
                kept.removals.append(try decodeRemoval(&reader))
            }
            guard !kept.removals.isEmpty else { throw .damaged }
        }
        var ids: [[UInt8]] = []
        for _ in 0..<(try count(&reader, atMost: KeyLimits.zoneLivesMax)) {
            ids.append(try reader.read(Place.ringIDBytes))
        }
        var branches: [[[UInt8]]] = []
        for _ in 0..<(try count(&reader, atMost: KeyLimits.ringBranchesMax)) {
            var entries: [[UInt8]] = []
            for _ in 0..<(try count(&reader, atMost: KeyLimits.ringEntriesMax)) {
                entries.append(try reader.readCounted())
            }
            branches.append(entries)
        }
        if !reader.isAtEnd { kept.link = LinkSecret(seed: try reader.readSecret()) }
        try reader.end()
        kept.lives = ZoneLives(ringIDs: ids)
        guard let first = branches.first else { return kept }
        let known: KnownRing
        do throws(EncryptionRefusal) {
            known = try KnownRing(kept: first, ended: Array(branches.dropFirst()))
        } catch {
            throw error == .newer ? .newer : .damaged
        }
        let name = known.chain.head.ring
        guard name.place.container.hasBytes(of: place.scope.container),
            name.place.environment.hasBytes(of: place.scope.environment), ring.isOf(name)
        else { throw .damaged }
        kept.known = known
        return kept
    }

    private static func encode(_ removal: PendingRemoval, _ writer: inout KeyFileWriter) {
        writer.write(u64: removal.id)
        let (users, areGoing) =
            switch removal.users {
            case .staying(let users): (users, false)
            case .going(let users): (users, true)
            }
        writer.write(u8: (removal.closesLink ? 1 : 0) | (areGoing ? 2 : 0))
        writer.write(u32: UInt32(users.count))
        for user in users.sorted() { writer.write(counted: Array(user.utf8)) }
        writer.write(u32: UInt32(removal.endedLinks.count))
        for id in removal.endedLinks.sorted(by: { $0.lexicographicallyPrecedes($1) }) { writer.write(counted: id) }
    }

    private static func decodeRemoval(_ reader: inout KeyFileReader) throws(KeyFile.Refusal) -> PendingRemoval {
        let id = try reader.readU64()
        let flags = try reader.readU8()
        guard flags < 4 else { throw .damaged }
        var users: Set<String> = []
        for _ in 0..<(try count(&reader, atMost: KeyLimits.ringStayingMax)) {
            guard let user = String(validating: try reader.readCounted(), as: UTF8.self) else { throw .damaged }
            users.insert(user)
        }
        var removal = PendingRemoval(id: id, users: flags & 2 == 0 ? .staying(users) : .going(users))
        removal.closesLink = flags & 1 != 0
        for _ in 0..<(try count(&reader, atMost: KeyLimits.ringInvitationsMax)) {
            removal.endedLinks.insert(try reader.readCounted())
        }
        return removal
    }

    private static func count(_ reader: inout KeyFileReader, atMost limit: Int) throws(KeyFile.Refusal) -> Int {
        let count = Int(try reader.readU32())
        guard count <= limit else { throw .damaged }
        return count
    }

    /// Bytes that no other ring has.
    private static func checkedPlace(_ ring: RingPlace, _ place: KeyPlace) -> [UInt8] {
        let isOwn = ring.root.isEmpty && ring.owner.hasBytes(of: place.scope.account)
        // No part is as long as the length that stands in front of the others' places, so that none begins like them.
        return isOwn
            ? place.bytes(of: ring.zone)
            : [UInt8](repeating: .max, count: 4) + place.bytes(of: ring.owner, ring.zone, ring.root)
    }
}
