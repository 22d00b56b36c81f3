internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// The file of a zone's ring in a key folder: `rings/NAME`.
///
/// ```
/// 0   34  head, as KeyFile has it, of the kind 5
/// 34  1   1 where the zone was deleted, as far as is known; else 0
/// 35  4   count of lives, then the ring's id of each (16), the oldest first
///     4   count of branches, then of each: count of entries (4), each signed entry (counted)
/// ```
/// The first branch is the ring; the others are those that its owner ended. The checksum is of the zone's name, too.
enum RingFile {
    static let kind: UInt8 = 5

    /// The path in the key folder of a zone's file: 128 bits of a hash, which is enough to tell zones apart.
    static func path(zone: String, place: KeyPlace) -> String {
        "rings/\(SHA256.digest(checkedPlace(zone, place)).prefix(16).hexadecimal)"
    }

    static func encode(_ kept: KeptRing, zone: String, place: KeyPlace) -> KeyFileWriter {
        let branches = kept.known.map { [$0.chain] + $0.endedBranches } ?? []
        var writer = KeyFileWriter(kind: kind, capacity: 4096)
        writer.write(u8: kept.isOver ? 1 : 0)
        writer.write(u32: UInt32(kept.lives.ringIDs.count))
        for id in kept.lives.ringIDs { writer.write(id) }
        writer.write(u32: UInt32(branches.count))
        for branch in branches {
            writer.write(u32: UInt32(branch.entries.count))
            for entry in branch.entries { writer.write(counted: entry.bytes) }
        }
        writer.finish(place: checkedPlace(zone, place))
        return writer
    }

    static func decode(
        _ bytes: consuming [UInt8], zone: String, place: KeyPlace
    ) throws(KeyFile.Refusal) -> KeptRing {
        var reader = try KeyFileReader(bytes, kind: kind, place: checkedPlace(zone, place))
        let flag = try reader.readU8()
        guard flag < 2 else { throw .damaged }
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
        try reader.end()
        guard let first = branches.first else {
            return KeptRing(known: nil, lives: ZoneLives(ringIDs: ids), isOver: flag == 1)
        }
        let known: KnownRing
        do throws(EncryptionRefusal) {
            known = try KnownRing(kept: first, ended: Array(branches.dropFirst()))
        } catch {
            throw error == .newer ? .newer : .damaged
        }
        let ringPlace = known.chain.head.ring.place
        guard ringPlace.owner == place.scope.account, ringPlace.container == place.scope.container,
            ringPlace.environment == place.scope.environment, ringPlace.zone == zone
        else { throw .damaged }
        return KeptRing(known: known, lives: ZoneLives(ringIDs: ids), isOver: flag == 1)
    }

    private static func count(_ reader: inout KeyFileReader, atMost limit: Int) throws(KeyFile.Refusal) -> Int {
        let count = Int(try reader.readU32())
        guard count <= limit else { throw .damaged }
        return count
    }

    private static func checkedPlace(_ zone: String, _ place: KeyPlace) -> [UInt8] {
        var bytes = place.bytes
        withUnsafeBytes(of: UInt32(zone.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
        return bytes + zone.utf8
    }
}
