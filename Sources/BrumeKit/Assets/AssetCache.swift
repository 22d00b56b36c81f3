internal import BrumeLock
internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// Downloaded files of assets, and what there is of those whose download broke: in the state folder, by account,
/// database and content.
///
/// ```
/// STATE/assets/ACCOUNT/DATABASE/NAME        a file: verified, renamed into place, read-only
///                               NAME.part   the beginning of one; whoever writes it holds a lock on the file
///              removed-UUID                 an account's folder that is being removed
/// ```
///
/// The name is the checksum of a plain content, and that of the secret of an encrypted one, whose file is here
/// decrypted.
///
/// The folder itself is the only index. The first use of a content in a process reads it once and compares its
/// checksum; after that its size, time and inode tell whether it is still the same, and the checksum is compared again
/// when they differ. A file that the app edited, or that a power failure damaged (nothing is synced), is therefore
/// found before it is handed out, and the next download replaces it. The time of a file's last read says how recently
/// it was used.
///
/// Processes may share a state folder. Each counts its own leases and the bytes that it added since it last read the
/// folder, so that files can disappear at any time and the limit holds for all processes together only roughly.
///
/// All calls block. They may be made from any thread; the cache's lock is not held while contents are read or written.
final class AssetCache: Sendable {
    /// The account and the database that the contents belong to; for a shared zone the database of its owner.
    struct Location: Hashable, Sendable {
        /// The account's user record name; nil without an account.
        let account: String?
        let database: DatabaseID
    }

    /// How the download of a content begins.
    enum DownloadStart {
        /// The content is there already.
        case cached(AssetCacheLease)
        /// Another download, perhaps in another process, writes the content: ask again when it has ended.
        case beingWritten
        /// The download goes on at the part's `receivedByteCount`.
        case part(AssetCachePart)
    }

    /// The room that a part gets before it is written.
    struct Reservation {
        let path: String
        let byteCount: Int
    }

    struct State {
        /// The versions of files whose checksum was compared, by path.
        var verifiedVersions: [String: FileVersion] = [:]
        /// How many leases there are, by path.
        var leaseCounts: [String: Int] = [:]
        /// What the parts that are being written here will be in the end.
        var reservations: [ObjectIdentifier: Reservation] = [:]
        /// Bytes of all files and reservations, at least; nil until the folder is read for the first time.
        var byteCount: Int?
    }

    let folder: String
    let byteCountMax: Int
    /// The time of day, in nanoseconds since 1970.
    let now: @Sendable () -> Int64
    let state = Lock(State())

    /// Leases are counted by each cache for itself: use ``shared(stateFolder:)`` except in tests.
    init(
        stateFolder: String, byteCountMax: Int = AssetCacheLimits.byteCountMax,
        now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1e9) }
    ) {
        folder = stateFolder + "/assets"
        self.byteCountMax = byteCountMax
        self.now = now
    }

    private static let caches = Lock<[String: AssetCache]>([:])

    /// The process's only cache in a state folder.
    static func shared(stateFolder: String) -> AssetCache {
        caches.withLock { caches in
            if let cache = caches[stateFolder] { return cache }
            let cache = AssetCache(stateFolder: stateFolder)
            caches[stateFolder] = cache
            return cache
        }
    }

    // MARK: Names

    static let partSuffix = ".part"
    static let removedPrefix = "removed-"

    private func accountFolder(_ account: String?) -> String {
        account.map { "\(folder)/user-\(Self.hash($0))" } ?? "\(folder)/no-account"
    }

    private func databaseFolder(_ location: Location) -> String {
        let database = location.database
        let name = [
            database.container, "\(database.environment.rawValue)", "\(database.scope.rawValue)", database.owner,
        ].joined(separator: "\n")
        return "\(accountFolder(location.account))/\(Self.hash(name))"
    }

    /// 128 bits of the text's hash: enough to tell names apart.
    private static func hash(_ text: String) -> String {
        SHA256.digest(Array(text.utf8)).prefix(16).hexadecimal
    }

    // MARK: Contents

    /// Finds the file of a content.
    ///
    /// - Parameter isCancelled: Asked before each MiB of a file that has to be read.
    /// - Returns: Nil when there is none, or a damaged or unreadable one: it has to be downloaded.
    /// - Throws: `cancelled` alone.
    func file(
        of content: AssetContent, in location: Location, isCancelled: () -> Bool = { false }
    ) throws(AssetError) -> AssetCacheLease? {
        let path = "\(databaseFolder(location))/\(content.fileName)"
        // The lease comes first, so that the file is not removed while it is looked at.
        let lease = AssetCacheLease(path, in: self)
        guard try isIntact(path, content, isCancelled) else { return nil }
        try? FileSystem.setAccessTime(path, nanoseconds: now())
        return lease
    }

    private func isIntact(
        _ path: String, _ content: AssetContent, _ isCancelled: () -> Bool
    ) throws(AssetError) -> Bool {
        guard let current = try? FileSystem.status(path).version, current.byteCount == content.fileByteCount else {
            return false
        }
        if state.withLock({ $0.verifiedVersions[path] }) == current { return true }
        // What can't be opened or read is downloaded again, which replaces it.
        guard let file = try? File(path: path, mode: .readRegular), let version = try? file.status().version else {
            return false
        }
        do throws(AssetError) {
            guard
                try AssetReceiver.isContent(content, file, byteCount: version.byteCount, isCancelled: isCancelled),
                (try? file.status().version) == version
            else { return false }
        } catch .cancelled {
            throw .cancelled
        } catch {
            return false
        }
        // A process that ended right after it had renamed the file left it writable.
        try? file.setPermissions(0o400)
        state.withLock { $0.verifiedVersions[path] = version }
        return true
    }

    // MARK: Downloads

    /// Begins the download of a content, or continues one that broke, and makes room for it.
    ///
    /// The kept bytes are read again for the checksum. If they are wrong nevertheless, ``AssetCachePart/finish()``
    /// says so.
    ///
    /// - Parameter isCancelled: Asked before each MiB of a file that has to be read.
    /// - Throws: `diskFull`, `failed` or `cancelled`.
    func part(
        for content: AssetContent, in location: Location, isCancelled: () -> Bool = { false }
    ) throws(AssetError) -> DownloadStart {
        guard Int(exactly: content.asset.byteCount) != nil else {
            throw .diskFull(SystemError(call: "open", errno: EFBIG, context: content.fileName))
        }
        let folder = databaseFolder(location)
        for _ in 0..<AssetCacheLimits.partAttemptsMax {
            let part: AssetCachePart?
            do throws(SystemError) {
                try FileSystem.makeDirectoryTree(folder, permissions: 0o700)
                part = try AssetCachePart(path: "\(folder)/\(content.fileName)", content, in: self)
            } catch {
                throw AssetError(error)
            }
            guard let part else { return .beingWritten }
            // Another process finished or removed the file after it was opened here, and before it was locked.
            guard part.isInPlace else { continue }
            // Asked under the part's lock: nobody can finish the content between this and the download.
            if let lease = try file(of: content, in: location, isCancelled: isCancelled) {
                part.remove()
                return .cached(lease)
            }
            try part.resume(isCancelled)
            return .part(part)
        }
        return .beingWritten
    }

    // MARK: Accounts

    /// Removes all contents and parts of an account, leased ones too: the device is another user's from now on.
    ///
    /// Downloads that still write for the account fail when they finish.
    func removeAll(account: String?) throws(AssetError) {
        let accountFolder = accountFolder(account)
        // Renamed first: from here on nothing of it is found, even when the process ends before all is removed.
        let removed = "\(folder)/\(Self.removedPrefix)\(UUID().uuidString)"
        do throws(SystemError) {
            try FileSystem.rename(accountFolder, to: removed)
            state.withLock { state in
                state.verifiedVersions = state.verifiedVersions.filter { !$0.key.hasPrefix(accountFolder + "/") }
                state.byteCount = nil
            }
            try FileSystem.removeTree(removed)
        } catch {
            // Nothing was cached, or another process that reads the folder was faster.
            if !error.isNotFound { throw AssetError(error) }
        }
    }
}
