internal import BrumeSystem

/// The disk below key folders. Tests put one that fails in its place.
protocol KeyDisk: Sendable {
    /// The whole file; nil where there is none.
    func read(_ path: String, bytesLimit: Int) throws(SystemError) -> [UInt8]?
    /// The first bytes of a file; nil where there is none.
    func readHead(_ path: String, byteCount: Int) throws(SystemError) -> [UInt8]?
    /// Puts a whole file in place, durable once this returns; after an error the old one or the new one is there.
    func replace(_ path: String, _ bytes: [UInt8]) throws(SystemError)
    /// Removes a file, durably. Succeeds where there is none.
    func remove(_ path: String) throws(SystemError)
    /// Makes folders that only this user can enter, durably, one in the other. Succeeds where they exist.
    func makeFolders(_ paths: [String]) throws(SystemError)
}

/// The real disk.
struct RealKeyDisk: KeyDisk {
    private static let folderPermissions: UInt32 = 0o700
    private static let filePermissions: UInt32 = 0o600
    private static let permissionsOfOthers: UInt32 = 0o077

    func read(_ path: String, bytesLimit: Int) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            let bytes = try FileSystem.read(path, limit: bytesLimit)
            // A copy that was put back may have come without its permissions.
            try Self.closeToOthers(path, Self.filePermissions)
            return bytes
        } catch {
            if error.isNotFound { return nil }
            throw error
        }
    }

    func readHead(_ path: String, byteCount: Int) throws(SystemError) -> [UInt8]? {
        let file: File
        do throws(SystemError) {
            file = try File(path: path, mode: .read)
        } catch {
            if error.isNotFound { return nil }
            throw error
        }
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let result = bytes.withUnsafeMutableBytes { buffer -> Result<Int, SystemError> in
            do throws(SystemError) {
                return .success(try file.read(into: buffer, at: 0))
            } catch {
                return .failure(error)
            }
        }
        bytes.removeLast(byteCount - (try result.get()))
        return bytes
    }

    func replace(_ path: String, _ bytes: [UInt8]) throws(SystemError) {
        try FileSystem.atomicReplace(path, bytes, permissions: Self.filePermissions)
    }

    func remove(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try FileSystem.remove(path)
        } catch {
            if error.isNotFound { return }
            throw error
        }
        try FileSystem.syncDirectory(FileSystem.directory(of: path))
    }

    func makeFolders(_ paths: [String]) throws(SystemError) {
        for path in paths {
            try FileSystem.makeDurableDirectory(path)
            try Self.closeToOthers(path, Self.folderPermissions)
        }
    }

    private static func closeToOthers(_ path: String, _ permissions: UInt32) throws(SystemError) {
        guard try FileSystem.permissions(path) & permissionsOfOthers != 0 else { return }
        try File(path: path, mode: .read).setPermissions(permissions)
    }
}
