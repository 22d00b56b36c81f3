internal import BrumeSystem
internal import Foundation

/// The folder that a backup is restored into: empty, or made for that, and kept from servers until it is whole.
struct RestoreTarget {
    let folder: String
    private let lock: DirectoryLock
    private let isNew: Bool

    /// Checks that there is nothing where a backup is to be restored.
    static func check(_ folder: String) throws {
        if FileSystem.exists(folder), try !names(in: folder).isEmpty {
            throw CommandError(
                .conflict, "\(folder) is not empty", hint: "name a folder that is empty or does not exist")
        }
    }

    /// Takes the folder. A server may have begun on it since it was looked at.
    init(_ folder: String) throws {
        isNew = !FileSystem.exists(folder)
        try FolderCopier.make(folder)
        guard let lock = try FolderCopier.lock(folder) else {
            throw CommandError(
                .notPermitted, "\(folder) can't be written by this user", hint: "run this as the folder's owner")
        }
        do {
            try Self.check(folder)
        } catch {
            lock.release()
            throw error
        }
        (self.folder, self.lock) = (folder, lock)
    }

    func release() { lock.release() }

    /// Removes what was restored: nobody else can have put anything there.
    func empty() {
        for name in (try? FileSystem.list(folder)) ?? [] {
            try? FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        if isNew { try? FileSystem.removeDirectory(folder) }
    }

    private static func names(in folder: String) throws -> [String] {
        try FileSystem.list(folder).filter { $0 != "lock" }
    }
}
