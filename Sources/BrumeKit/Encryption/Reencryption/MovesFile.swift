internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// The file that says which records this device has put below others in shared trees of a zone, with what is below
/// them, in a key folder: `moves/NAME`. It is there as long as something may have to be encrypted anew.
///
/// ```
/// 0   34  head, as KeyFile has it, of the kind 9
/// 34  4   count of records, then of each its name and its parent's (both counted), the count of the trees that it left
///         (4 bytes) and their ids (16 bytes each)
/// ```
/// NAME and the checksum are of the key folder's place and the zone's name (counted).
enum MovesFile {
    static let kind: UInt8 = 9
    /// The most records that it tells of: others have to be set below their parents again, or the app asks for all.
    static let recordsMax = 1_000
    static let bytesMax = 1024 + recordsMax * (2 * (4 + 255) + 4 + Move.formerTreesMax * Tree.idBytes)

    static func path(zone: String, place: KeyPlace) -> String {
        "moves/\(SHA256.digest(checkedPlace(zone, place)).prefix(16).hexadecimal)"
    }

    static func encode(_ moved: [String: Move], zone: String, place: KeyPlace) -> [UInt8] {
        var writer = KeyFileWriter(kind: kind, capacity: 1024)
        let records = moved.sorted { $0.key < $1.key }.prefix(recordsMax)
        writer.write(u32: UInt32(records.count))
        for (name, move) in records {
            writer.write(counted: Array(name.utf8))
            writer.write(counted: Array(move.parent.utf8))
            writer.write(u32: UInt32(move.formerTreeIDs.count))
            for id in move.formerTreeIDs { writer.write(id) }
        }
        writer.finish(place: checkedPlace(zone, place))
        return writer.bytes
    }

    static func decode(
        _ bytes: consuming [UInt8], zone: String, place: KeyPlace
    ) throws(KeyFile.Refusal) -> [String: Move] {
        var reader = try KeyFileReader(bytes, kind: kind, place: checkedPlace(zone, place))
        var moved: [String: Move] = [:]
        let count = try reader.readU32()
        guard count <= recordsMax else { throw .damaged }
        for _ in 0..<count {
            guard let name = String(validating: try reader.readCounted(), as: UTF8.self),
                let parent = String(validating: try reader.readCounted(), as: UTF8.self)
            else { throw .damaged }
            let treeCount = try reader.readU32()
            guard treeCount <= Move.formerTreesMax else { throw .damaged }
            var ids: [[UInt8]] = []
            for _ in 0..<treeCount { ids.append(try reader.read(Tree.idBytes)) }
            moved[name] = Move(parent: parent, formerTreeIDs: ids)
        }
        try reader.end()
        return moved
    }

    private static func checkedPlace(_ zone: String, _ place: KeyPlace) -> [UInt8] {
        place.bytes(of: zone)
    }
}

/// What a key folder says of moves in a zone.
extension KeyFolder {
    /// What was read.
    struct NotedMoves: Equatable, Sendable {
        /// The records that were put below others, and these.
        var moved: [String: Move] = [:]
        /// The file's head; nil where there is none.
        var head: [UInt8]?
    }

    /// Whether something was to be encrypted anew in a zone when this device last had to do with it.
    func hasMoves(_ zone: String) -> Bool { FileSystem.exists(movesPath(zone)) }

    func loadMoves(_ zone: String) throws(KeyFolderProblem) -> Attempt<NotedMoves> {
        let attempt = try load(
            movesPath(zone), bytesLimit: MovesFile.bytesMax,
            remedy: "remove it, and set the parents of records again that guests can't read"
        ) { (bytes) throws(KeyFile.Refusal) in try MovesFile.decode(bytes, zone: zone, place: place) }
        return switch attempt {
        case .done(let file): .done(NotedMoves(moved: file?.value ?? [:], head: file?.head))
        case .locked: .locked
        }
    }

    /// - Returns: False where another process has written meanwhile.
    func writeMoves(
        _ moved: [String: Move], _ zone: String, over head: [UInt8]?
    ) throws(KeyFolderProblem) -> Attempt<Bool> {
        let bytes = MovesFile.encode(moved, zone: zone, place: place)
        if head == Array(bytes.prefix(KeyFile.headBytes)) { return .done(true) }
        return switch try replace(movesPath(zone), over: head, with: bytes) {
        case .locked: .locked
        case .done(let written): .done(written != nil)
        }
    }

    /// Removes what was read, unless somebody has noted more since.
    func removeMoves(_ zone: String, over head: [UInt8]) throws(KeyFolderProblem) -> Attempt<Bool> {
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        do throws(SystemError) {
            guard try disk.readHead(movesPath(zone), byteCount: KeyFile.headBytes) == head else { return .done(false) }
            try disk.remove(movesPath(zone))
        } catch {
            throw cannotWrite(error)
        }
        return .done(true)
    }

    private func movesPath(_ zone: String) -> String { "\(path)/\(MovesFile.path(zone: zone, place: place))" }
}
