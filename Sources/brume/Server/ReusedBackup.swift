internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem

/// An earlier backup, a folder, whose assets a new one shares: their files get second names (hard links) in it, so that
/// they are neither copied nor stored twice. Nothing in it is changed, and it may be removed afterwards.
final class ReusedBackup {
    let path: String
    private let readsAll: Bool
    private let disk: RealDisk
    private let copy: EarlierCopy
    private let lock: DirectoryLock?

    /// What became of its assets.
    private(set) var sharedCount = 0
    private(set) var sharedBytes: UInt64 = 0
    /// The bytes of their files.
    private(set) var sharedFileBytes: UInt64 = 0
    /// Assets that were copied because the backup's files are damaged.
    private(set) var damagedCount = 0
    /// The bytes of their files.
    private(set) var damagedFileBytes: UInt64 = 0
    /// Assets that were copied because their files get no second names.
    private(set) var unlinkableCount = 0

    /// - Parameters:
    ///   - readsAll: Whether every asset is read and checked before it is shared.
    ///   - folder: The data folder that is backed up.
    ///   - target: The folder that will be made.
    init(_ path: String, readsAll: Bool, for folder: String, to target: String) throws(CommandError) {
        (self.path, self.readsAll) = (path, readsAll)
        try Self.check(path, for: folder, to: target)
        // A server that is started on it meanwhile would go on with files that are the backup's.
        lock = try FolderCopier.lock(path)
        disk = RealDisk(folder: path)
        do throws(StoreError) {
            copy = try EarlierCopy(on: disk, readsAll: readsAll)
        } catch {
            switch error {
            case .disk(let error): throw CommandError(isForbidden: error.isForbidden, "\(path): \(error)")
            case .damaged(let damage) where damage.isMissing:
                throw CommandError(
                    .notFound, "\(path) is no complete backup: it has no brume.meta",
                    hint: Self.otherBackupHint)
            case .damaged, .unknownVersion:
                throw CommandError(
                    .damaged, "\(path)/\(error)",
                    hint: Self.otherBackupHint)
            }
        }
    }

    /// Lets others use it.
    func release() { lock?.release() }

    /// Checks that it is a backup of this server, beside all that is used now.
    private static func check(_ path: String, for folder: String, to target: String) throws(CommandError) {
        guard FileSystem.exists(path) else { throw CommandError(.notFound, "there is no backup \(path)") }
        guard FileSystem.isDirectory(path) else {
            throw CommandError(
                .usage, "\(path) is not a folder: --reuse takes a backup that is one, for its files are shared",
                hint: "make a backup as a folder first, under a name that does not end in .brume")
        }
        if FileSystem.isSame(path, target) {
            throw CommandError(
                .conflict, "\(target) is the backup that --reuse names: a backup is made beside it, and not into it",
                hint: "choose another name; the earlier backup may be removed afterwards")
        }
        if FileSystem.stands(path, in: folder) || FileSystem.stands(folder, in: path) {
            throw CommandError(
                .usage, "\(path) and \(folder), the folder that is backed up, are not two folders side by side",
                hint: "name an earlier backup with --reuse: a backup that shares files with what it backs up is none")
        }
        if FileSystem.stands(target, in: path) {
            throw CommandError(
                .usage, "\(target) would stand inside \(path), the backup that --reuse names",
                hint: "choose a place beside it")
        }
        let isBackup: Bool
        let isOfThisServer: Bool
        do throws(SystemError) {
            if case .data = try DataFolder.content(of: path) { isBackup = true } else { isBackup = false }
            isOfThisServer = isBackup ? try DataFolder.haveOneSecret(path, folder) : false
        } catch {
            throw CommandError(isForbidden: error.isForbidden, "\(path) can't be looked at: \(error)")
        }
        guard isBackup else {
            throw CommandError(
                .notFound, "\(path) is no backup: it has no brume.meta", hint: "name a folder that brume backup made")
        }
        guard isOfThisServer else {
            throw CommandError(
                .usage, "\(path) is a backup of another server than \(folder)", hint: Self.otherBackupHint)
        }
    }

    private static let otherBackupHint =
        "name another one with --reuse, or leave it out for a backup that copies everything"

    // MARK: Sharing

    /// Whether its files can have names in a folder.
    func sharesFileSystem(with folder: String) -> Bool {
        guard let own = try? FileSystem.status(path).version, let other = try? FileSystem.status(folder).version else {
            return false
        }
        return own.device == other.device
    }

    /// The bytes that a copy writes.
    func byteCount(of new: FolderCopy) throws(DiskError) -> UInt64 { try new.byteCount(beside: copy) }

    /// What is copied though ``byteCount(of:)`` does not count it.
    enum Surplus {
        /// A damaged file of so many bytes.
        case one(UInt64)
        /// One whose file gets no second name: those that follow, of the same disk and owner, hardly do.
        case rest
    }

    /// Gives files names in a new backup as it is copied.
    ///
    /// - Parameter check: Called before more is copied than was expected; checks that there is room for it.
    func adoption(
        in target: String, checking check: @escaping (Surplus) throws(DiskError) -> Void
    ) -> FolderCopy.Adoption {
        { (file: String, byteCount: UInt64) throws(DiskError) -> Bool in
            try self.share(file, byteCount: byteCount, with: target, checking: check)
        }
    }

    private func share(
        _ file: String, byteCount: UInt64, with target: String, checking check: (Surplus) throws(DiskError) -> Void
    ) throws(DiskError) -> Bool {
        var isLinked = false
        let finding = try copy.find(file, byteCount: byteCount) { (open) throws(DiskError) in
            isLinked = try disk.link(open, to: target + "/" + file)
        }
        switch finding {
        case .absent: return false
        case .damaged:
            try check(.one(byteCount))
            damagedCount += 1
            damagedFileBytes += byteCount
            return false
        case .whole(let contentBytes):
            guard isLinked else {
                if unlinkableCount == 0 { try check(.rest) }
                unlinkableCount += 1
                return false
            }
            sharedCount += 1
            sharedBytes += contentBytes
            sharedFileBytes += byteCount
            return true
        }
    }

    /// Whether a file of the new backup is one of this backup's, which was checked as it was asked for.
    func shares(_ file: String, with target: String) -> Bool {
        FileSystem.isSame(path + "/" + file, target + "/" + file)
    }

    // MARK: What is said of it

    /// As members of an answer in JSON.
    var members: [(String, JSONValue)] {
        [
            ("sharedAssets", .integer(Int64(sharedCount))),
            ("sharedAssetBytes", .integer(Int64(clamping: sharedBytes))),
            ("damagedReusedAssets", .integer(Int64(damagedCount))),
        ]
    }

    /// What the operator of a backup that was made with it has to know.
    func lines(for target: String) -> [String] {
        var lines: [String] = []
        if !sharesFileSystem(with: target) {
            lines.append("nothing is shared with \(path), which is on another file system: everything was copied")
        } else if unlinkableCount > 0 {
            lines.append(
                """
                \(CountText.text(unlinkableCount, "asset")) could not be shared with \(path), and had to be copied: the \
                file system, or the owner of the files, does not allow hard links
                """)
        }
        if sharedCount > 0 {
            let size = ByteSize(bytes: Int(clamping: sharedBytes)).rounded
            let care =
                readsAll
                ? ", each read and checked" : "; their contents were not read: brume verify \(target) does"
            lines.append("it shares \(CountText.text(sharedCount, "asset")) of \(size) with \(path)\(care)")
        }
        if damagedCount > 0 {
            lines.append(
                """
                damaged in \(path), and copied anew: \(CountText.text(damagedCount, "asset")); brume verify \(path) \
                tells more
                """)
        }
        return lines
    }
}
