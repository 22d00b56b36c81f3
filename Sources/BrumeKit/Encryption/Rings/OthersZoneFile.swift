internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// The file of a zone that somebody else shares, in a key folder: `zones/NAME`. It is written before the first file of
/// each ring that it names.
///
/// ```
/// 0   34  head, as KeyFile has it, of the kind 10
/// 34  4   count of rings, then of each: the record name of its root (counted; empty for the zone's own), the ring's id
///         (16), 1 where it says that the zone's files are encrypted, else 0 (1)
/// ```
/// NAME and the checksum are of the key folder's place, the owner's user record name and the zone's name (both
/// counted).
enum OthersZoneFile {
    static let kind: UInt8 = 10
    static let bytesMax = 1024 + OthersZone.ringsMax * (4 + 255 + Place.ringIDBytes + 1)

    static func path(_ zone: RingPlace, place: KeyPlace) -> String {
        "zones/\(SHA256.digest(checkedPlace(zone, place)).prefix(16).hexadecimal)"
    }

    static func encode(_ kept: OthersZone, zone: RingPlace, place: KeyPlace) -> [UInt8] {
        var writer = KeyFileWriter(kind: kind, capacity: 1024)
        writer.write(u32: UInt32(kept.rings.count))
        for (root, ring) in kept.rings.sorted(by: { $0.key < $1.key }) {
            writer.write(counted: Array(root.utf8))
            writer.write(ring.ringID)
            writer.write(u8: ring.encryptsAssets ? 1 : 0)
        }
        writer.finish(place: checkedPlace(zone, place))
        return writer.bytes
    }

    static func decode(
        _ bytes: consuming [UInt8], zone: RingPlace, place: KeyPlace
    ) throws(KeyFile.Refusal) -> OthersZone {
        var reader = try KeyFileReader(bytes, kind: kind, place: checkedPlace(zone, place))
        let count = try reader.readU32()
        guard count <= OthersZone.ringsMax else { throw .damaged }
        var kept = OthersZone()
        for _ in 0..<count {
            guard let root = String(validating: try reader.readCounted(), as: UTF8.self) else { throw .damaged }
            let (ringID, flag) = (try reader.read(Place.ringIDBytes), try reader.readU8())
            guard flag < 2 else { throw .damaged }
            kept.note(OthersZone.Ring(ringID: ringID, encryptsAssets: flag == 1), of: root)
        }
        try reader.end()
        return kept
    }

    private static func checkedPlace(_ zone: RingPlace, _ place: KeyPlace) -> [UInt8] {
        place.bytes(of: zone.owner, zone.zone)
    }
}

/// What a key folder says of zones that others share.
extension KeyFolder {
    /// What is kept of a zone; nothing where no ring of it was. Makes nothing where there is no folder.
    func loadOthersZone(_ zone: RingPlace) throws(KeyFolderProblem) -> Attempt<OthersZone> {
        switch try loadFile(of: zone) {
        case .done(let file): .done(file?.value ?? OthersZone())
        case .locked: .locked
        }
    }

    /// Notes that a ring is kept.
    ///
    /// - Parameter former: The id of the ring whose place it takes, in a former life of the zone; nil for none.
    func noteRing(
        _ ring: OthersZone.Ring, at place: RingPlace, following former: [UInt8]? = nil
    ) throws(KeyFolderProblem) -> Attempt<Bool> {
        guard case .done(let file) = try loadFile(of: place) else { return .locked }
        var next = file?.value ?? OthersZone()
        if let former, former != ring.ringID { next.end(life: former) }
        next.note(ring, of: place.root)
        if next == file?.value { return .done(true) }
        let bytes = OthersZoneFile.encode(next, zone: place, place: self.place)
        switch try replace(othersZonePath(place), over: file?.head, with: bytes) {
        // Another process has noted one meanwhile: again.
        case .done(nil), .locked: return .locked
        case .done: return .done(true)
        }
    }

    private func loadFile(of zone: RingPlace) throws(KeyFolderProblem) -> Attempt<LoadedFile<OthersZone>?> {
        try load(
            othersZonePath(zone), bytesLimit: OthersZoneFile.bytesMax,
            remedy:
                "put it back from a backup, or remove it: then this device takes the server's word for which files of "
                + "the zone are encrypted until it has fetched something of it"
        ) { (bytes) throws(KeyFile.Refusal) in try OthersZoneFile.decode(bytes, zone: zone, place: place) }
    }

    private func othersZonePath(_ zone: RingPlace) -> String {
        "\(path)/\(OthersZoneFile.path(zone, place: place))"
    }
}
