internal import BrumeModel
internal import BrumeSystem

/// The file of a share that this device made of a record, in a key folder: `shares/NAME`. Only a device that made the
/// share knows for sure which record it is of.
///
/// ```
/// 0   34  head, as KeyFile has it, of the kind 7
/// 34      the root's record name (counted)
/// ```
/// NAME and the checksum are of the key folder's place, the zone's name and the share's record name (both counted).
enum ShareRootFile {
    static let kind: UInt8 = 7
    static let folder = "shares"

    static func path(share: String, zone: String, place: KeyPlace) -> String {
        "\(folder)/\(SHA256.digest(checkedPlace(share, zone, place)).prefix(16).hexadecimal)"
    }

    static func encode(_ root: String, share: String, zone: String, place: KeyPlace) -> KeyFileWriter {
        var writer = KeyFileWriter(kind: kind, capacity: 512)
        writer.write(counted: Array(root.utf8))
        writer.finish(place: checkedPlace(share, zone, place))
        return writer
    }

    static func decode(
        _ bytes: consuming [UInt8], share: String, zone: String, place: KeyPlace
    ) throws(KeyFile.Refusal) -> String {
        var reader = try KeyFileReader(bytes, kind: kind, place: checkedPlace(share, zone, place))
        let root = try reader.readCounted()
        try reader.end()
        guard !root.isEmpty, let text = String(validating: root, as: UTF8.self) else { throw .damaged }
        return text
    }

    private static func checkedPlace(_ share: String, _ zone: String, _ place: KeyPlace) -> [UInt8] {
        place.bytes(of: zone, share)
    }
}

/// The roots of shares in a key folder.
extension KeyFolder {
    /// Whether this device has made shares of records: most apps make none, and delete many records.
    var hasShareRoots: Bool { FileSystem.exists("\(path)/\(ShareRootFile.folder)") }

    /// The root of a share; nil where this device did not make it. Makes nothing where there is no folder.
    func loadShareRoot(_ share: String, zone: String) throws(KeyFolderProblem) -> Attempt<String?> {
        let attempt = try load(
            shareRootPath(share, zone), bytesLimit: KeyLimits.shareRootFileBytesMax,
            remedy: "put it back from a backup, or remove it: then this device does not show the keys of that share"
        ) { (bytes) throws(KeyFile.Refusal) in
            try ShareRootFile.decode(bytes, share: share, zone: zone, place: place)
        }
        return switch attempt {
        case .done(let file): .done(file?.value)
        case .locked: .locked
        }
    }

    func writeShareRoot(_ root: String, _ share: String, zone: String) throws(KeyFolderProblem) -> Attempt<Bool> {
        let path = shareRootPath(share, zone)
        let bytes = ShareRootFile.encode(root, share: share, zone: zone, place: place).bytes
        let head: [UInt8]?
        do throws(SystemError) {
            head = try disk.readHead(path, byteCount: KeyFile.headBytes)
        } catch {
            throw cannotWrite(error)
        }
        if head == Array(bytes.prefix(KeyFile.headBytes)) { return .done(true) }
        switch try replace(path, over: head, with: bytes) {
        case .done(nil), .locked: return .locked
        case .done: return .done(true)
        }
    }

    private func shareRootPath(_ share: String, _ zone: String) -> String {
        "\(path)/\(ShareRootFile.path(share: share, zone: zone, place: place))"
    }
}
