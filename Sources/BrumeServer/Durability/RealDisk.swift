internal import BrumeLock
internal import BrumeService
package import BrumeStore
package import BrumeSystem

/// The store's `Disk` on a folder of the real file system, and on a second one for assets where they lie elsewhere
/// (``AssetsFolder``): paths don't tell.
///
/// The second one is held open, so that it stays the one that was checked: a disk that is taken away, or exchanged, is
/// not read as one without assets. Where its folder of assets is moved or removed, what is not found in it is not
/// missing: the error says that all of it is lost (``DiskError/isLost``).
package final class RealDisk: Disk {
    private struct State {
        var files: [Int: File] = [:]
        var nextID = 1
    }

    private let folder: String
    /// The folder that has the folder of assets.
    private let assetsFolder: OpenFolder?
    /// Its folder of assets, as it was found.
    private let assetsRoot: FileVersion?
    private let state = Lock(State())

    /// - Parameters:
    ///   - folder: The data folder, which must exist.
    ///   - assetsFolder: The folder that has its folder of assets; nil for the data folder itself.
    package init(folder: String, assetsFolder: OpenFolder? = nil) {
        (self.folder, self.assetsFolder) = (folder, assetsFolder)
        assetsRoot = assetsFolder.flatMap { try? FileSystem.status($0.path + "/" + BlobFolder.root).version }
    }

    /// Anything but a regular file is an error: a pipe without a writer would hold up whoever reads it.
    package func openForReading(_ path: String) throws(DiskError) -> DiskFile { try open(path, .readRegular) }

    package func openForWriting(_ path: String) throws(DiskError) -> DiskFile { try open(path, .write) }

    package func create(_ path: String) throws(DiskError) -> DiskFile { try open(path, .createExclusively) }

    package func close(_ file: DiskFile) {
        state.withLock { $0.files.removeValue(forKey: file.id) }?.close()
    }

    package func giveBack(_ file: DiskFile) {
        guard let open = state.withLock({ $0.files.removeValue(forKey: file.id) }) else { return }
        open.giveBack()
        open.close()
    }

    package func write(_ bytes: [UInt8], to file: DiskFile, at offset: UInt64) throws(DiskError) {
        let open = self[file]
        try translating(open.path) { () throws(SystemError) in
            let result: Result<Void, SystemError> = bytes.withUnsafeBytes { buffer in
                Result { () throws(SystemError) in try open.write(buffer, at: Int(offset)) }
            }
            try result.get()
        }
    }

    package func read(_ file: DiskFile, at offset: UInt64, length: Int) throws(DiskError) -> [UInt8] {
        let open = self[file]
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            do throws(SystemError) {
                count = try open.read(into: UnsafeMutableRawBufferPointer(buffer), at: Int(offset))
            } catch {
                failure = error
            }
        }
        if let failure { throw diskError(failure, open.path) }
        return bytes
    }

    package func read(
        _ file: DiskFile, at offset: UInt64, into target: UnsafeMutableRawBufferPointer
    ) throws(DiskError) -> Int {
        let open = self[file]
        return try translating(open.path) { () throws(SystemError) in try open.read(into: target, at: Int(offset)) }
    }

    package func size(of file: DiskFile) throws(DiskError) -> UInt64 {
        let open = self[file]
        return try translating(open.path) { () throws(SystemError) in UInt64(try open.size()) }
    }

    package func sync(_ file: DiskFile) throws(DiskError) {
        let open = self[file]
        try translating(open.path) { () throws(SystemError) in try open.syncData() }
    }

    package func writeBack(_ range: Range<UInt64>, of file: DiskFile) throws(DiskError) {
        let open = self[file]
        try translating(open.path) { () throws(SystemError) in
            try open.writeBack(Int(range.lowerBound)..<Int(range.upperBound))
        }
    }

    package func fillWithZeros(_ file: DiskFile, length: UInt64) throws(DiskError) {
        let open = self[file]
        try translating(open.path) { () throws(SystemError) in try open.writeZeros(0..<Int(length)) }
    }

    /// Gives a file another name, outside of the folder; see ``File/link(to:)``.
    package func link(_ file: DiskFile, to target: String) throws(DiskError) -> Bool {
        let open = self[file]
        return try translating(open.path) { () throws(SystemError) in try open.link(to: target) }
    }

    package func rename(_ path: String, to target: String) throws(DiskError) {
        try translating(path) { () throws(SystemError) in try FileSystem.rename(absolute(path), to: absolute(target)) }
    }

    package func remove(_ path: String) throws(DiskError) {
        try translating(path) { () throws(SystemError) in try FileSystem.remove(absolute(path)) }
    }

    package func list(_ path: String) throws(DiskError) -> [String] {
        do throws(SystemError) {
            return try FileSystem.list(absolute(path)).sorted()
        } catch {
            let error = diskError(error, path)
            if error.isMissing { return [] }
            throw error
        }
    }

    package func listFolders(_ path: String) throws(DiskError) -> [String] {
        var names = try list(path)
        // What of that name is in the data folder is nobody's.
        if path.isEmpty, assetsFolder != nil, !names.contains(BlobFolder.root) {
            names = (names + [BlobFolder.root]).sorted()
        }
        return names.filter { FileSystem.isDirectory(absolute(path.isEmpty ? $0 : "\(path)/\($0)")) }
    }

    package func space(of path: String) throws(DiskError) -> DiskSpace? {
        let folder = FileSystem.exists(absolute(path)) ? absolute(path) : folder
        let space = try translating(path) { () throws(SystemError) in try FileSystem.space(folder) }
        return DiskSpace(freeBytes: space.available, totalBytes: space.total)
    }

    package func makeDirectory(_ path: String) throws(DiskError) {
        if path == BlobFolder.root, assetsFolder != nil {
            // It was there when the other folder was opened. If it is gone, that disk is, and what would be made here
            // would be on another one.
            guard FileSystem.isDirectory(absolute(path)) else { throw lost("mkdir", path) }
            return
        }
        try translating(path) { () throws(SystemError) in try FileSystem.makeDirectory(absolute(path)) }
    }

    package func removeDirectory(_ path: String) throws(DiskError) {
        try translating(path) { () throws(SystemError) in try FileSystem.removeDirectory(absolute(path)) }
    }

    package func syncDirectory(_ path: String) throws(DiskError) {
        try translating(path) { () throws(SystemError) in try FileSystem.syncDirectory(absolute(path)) }
    }

    package func sha256(_ bytes: [UInt8]) -> [UInt8] { SHA256.digest(bytes) }
    package func makeContentHash() -> any ContentHash { SHA256Stream() }

    private subscript(file: DiskFile) -> File {
        guard let open = state.withLock({ $0.files[file.id] }) else { preconditionFailure("a closed file is used") }
        return open
    }

    private func absolute(_ path: String) -> String {
        if path.isEmpty { return folder }
        if let assetsFolder, isOfAssets(path) { return assetsFolder.path + "/" + path }
        return folder + "/" + path
    }

    private func isOfAssets(_ path: String) -> Bool {
        path == BlobFolder.root || path.hasPrefix(BlobFolder.root + "/")
    }

    /// A path as the operator knows it.
    private func named(_ path: String) -> String {
        guard let assetsFolder else { return path }
        let prefix = assetsFolder.path + "/"
        if path.hasPrefix(prefix) { return assetsFolder.name + "/" + path.dropFirst(prefix.count) }
        return isOfAssets(path) ? assetsFolder.name + "/" + path : path
    }

    private func open(_ path: String, _ mode: File.Mode) throws(DiskError) -> DiskFile {
        let file = try translating(path) { () throws(SystemError) in try File(path: absolute(path), mode: mode) }
        return state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            state.files[id] = file
            return DiskFile(id: id)
        }
    }

    private func translating<Outcome>(
        _ path: String, _ body: () throws(SystemError) -> Outcome
    ) throws(DiskError) -> Outcome {
        do throws(SystemError) {
            return try body()
        } catch {
            throw diskError(error, path)
        }
    }

    private func diskError(_ error: SystemError, _ path: String) -> DiskError {
        if error.isNotFound, let assetsFolder, let assetsRoot, isOfAssets(path) {
            let root = try? FileSystem.status(assetsFolder.path + "/" + BlobFolder.root).version
            if root?.inode != assetsRoot.inode || root?.device != assetsRoot.device { return lost(error.call, path) }
        }
        var shown = error
        if assetsFolder != nil {
            shown = SystemError(
                call: error.call, errno: error.errno, context: named(error.context), message: error.message)
        }
        return DiskError(
            call: error.call, path: named(path), message: "\(shown)", isFull: error.isDiskFull,
            isMissing: error.isNotFound, isForbidden: error.isForbidden)
    }

    private func lost(_ call: String, _ path: String) -> DiskError {
        DiskError(
            call: call, path: named(path),
            message: "\(named(BlobFolder.root)) was moved or removed while it was in use: is its disk mounted?",
            isLost: true)
    }
}

extension SHA256Stream: ContentHash {}
