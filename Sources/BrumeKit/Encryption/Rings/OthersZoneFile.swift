internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// The file of a zone that somebody else shares, in a key folder: `zones/NAME`. It is written before the first file of
/// each ring that it names.
///
/// ```
/// 0   34  head, as KeyFile has it, of the kind 10
/// 34  1   1 where a ring of the zone says that its files are encrypted; else 0
/// 35  4   count of rings, then the record name of each one's root (counted; empty for the zone's own)
/// ```
/// NAME and the checksum are of the key folder's place, the owner's user record name and the zone's name (both
/// counted).
enum OthersZoneFile {
    static let kind: UInt8 = 10
    static let bytesMax = 1024 + OthersZone.rootsMax * (4 + 255)

    static func path(_ zone: RingPlace, place: KeyPlace) -> String {
        "zones/\(SHA256.digest(checkedPlace(zone, place)).prefix(16).hexadecimal)"
    }

    static func encode(_ kept: OthersZone, zone: RingPlace, place: KeyPlace) -> [UInt8] {
        var writer = KeyFileWriter(kind: kind, capacity: 1024)
        writer.write(u8: kept.encryptsAssets ? 1 : 0)
        writer.write(u32: UInt32(kept.roots.count))
        for root in kept.roots.sorted() { writer.write(counted: Array(root.utf8)) }
        writer.finish(place: checkedPlace(zone, place))
        return writer.bytes
    }

    static func decode(
        _ bytes: consuming [UInt8], zone: RingPlace, place: KeyPlace
    ) throws(KeyFile.Refusal) -> OthersZone {
        var reader = try KeyFileReader(bytes, kind: kind, place: checkedPlace(zone, place))
        let flag = try reader.readU8()
        let count = try reader.readU32()
        guard flag < 2, count <= OthersZone.rootsMax else { throw .damaged }
        var kept = OthersZone(encryptsAssets: flag == 1)
        for _ in 0..<count {
            guard let root = String(validating: try reader.readCounted(), as: UTF8.self) else { throw .damaged }
            kept.roots.insert(root)
        }
        try reader.end()
        return kept
    }

    private static func checkedPlace(_ zone: RingPlace, _ place: KeyPlace) -> [UInt8] {
        var bytes = place.bytes
        for name in [zone.owner, zone.zone] {
            withUnsafeBytes(of: UInt32(name.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes += name.utf8
        }
        return bytes
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
    /// - Parameter isNewLife: Whether it has taken the place of a ring of the zone's former life: nothing of that
    ///   counts.
    func noteRing(
        _ ring: RingPlace, encryptsAssets: Bool, isNewLife: Bool = false
    ) throws(KeyFolderProblem) -> Attempt<Bool> {
        guard case .done(let file) = try loadFile(of: ring) else { return .locked }
        let former = isNewLife ? OthersZone() : file?.value ?? OthersZone()
        guard let next = former.adding(root: ring.root, encryptsAssets: encryptsAssets), next != file?.value else {
            return .done(true)
        }
        let bytes = OthersZoneFile.encode(next, zone: ring, place: place)
        switch try replace(othersZonePath(ring), over: file?.head, with: bytes) {
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
