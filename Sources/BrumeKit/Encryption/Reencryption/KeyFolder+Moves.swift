internal import BrumeModel
internal import BrumeSystem

/// The zones in which records are to be encrypted anew, in a key folder: `moves/NAME`, one file each.
///
/// ```
/// 0   34  head, as KeyFile has it, of the kind 8
/// ```
/// NAME and the checksum are of the key folder's place and the zone's name (counted). That the file is there says all:
/// one that is damaged has a device go over the zone as well.
extension KeyFolder {
    private static let kind: UInt8 = 8
    private static let folder = "moves"

    /// Whether something was to be encrypted anew in a zone when this device last had to do with it.
    func hasMoves(_ zone: String) -> Bool { FileSystem.exists(movesPath(zone)) }

    /// Notes it, before anything moves.
    func noteMoves(_ zone: String) throws(KeyFolderProblem) -> Attempt<Bool> {
        var writer = KeyFileWriter(kind: Self.kind, capacity: KeyFile.headBytes)
        writer.finish(place: checkedPlace(zone))
        if hasMoves(zone) { return .done(true) }
        switch try replace(movesPath(zone), over: nil, with: writer.bytes) {
        case .locked: return .locked
        // Another process has noted it meanwhile.
        case .done: return .done(true)
        }
    }

    /// Nothing is left to do.
    func removeMoves(_ zone: String) throws(KeyFolderProblem) -> Attempt<Bool> {
        guard hasMoves(zone) else { return .done(true) }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        do throws(SystemError) {
            try disk.remove(movesPath(zone))
        } catch {
            throw cannotWrite(error)
        }
        return .done(true)
    }

    private func movesPath(_ zone: String) -> String {
        "\(path)/\(Self.folder)/\(SHA256.digest(checkedPlace(zone)).prefix(16).hexadecimal)"
    }

    private func checkedPlace(_ zone: String) -> [UInt8] {
        var bytes = place.bytes
        withUnsafeBytes(of: UInt32(zone.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
        return bytes + zone.utf8
    }
}
