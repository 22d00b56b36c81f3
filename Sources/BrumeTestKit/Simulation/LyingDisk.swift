internal import BrumeStore

/// A disk that does not do everything that it says, to prove that a simulation notices.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class LyingDisk: ForwardingDisk, @unchecked Sendable {
    let disk: SimulatedDisk
    private let promise: BrokenPromise
    /// Files of the journal that have their header.
    private var journal: Set<DiskFile> = []
    private var unfinished: Set<DiskFile> = []

    init(_ disk: SimulatedDisk, breaking promise: BrokenPromise) {
        self.disk = disk
        self.promise = promise
    }

    func sync(_ file: DiskFile) throws(DiskError) {
        let lies = promise == .acknowledgesBeforeSync || promise == .publishesBeforeDurable
        if lies, journal.contains(file) { return }
        try disk.sync(file)
        if unfinished.remove(file) != nil { journal.insert(file) }
    }

    func syncDirectory(_ path: String) throws(DiskError) {
        if promise == .skipsDirectorySync { return }
        try disk.syncDirectory(path)
    }

    func openForWriting(_ path: String) throws(DiskError) -> DiskFile {
        let file = try disk.openForWriting(path)
        if path.hasSuffix(".journal") { journal.insert(file) }
        if path.hasSuffix(".spare") { unfinished.insert(file) }
        return file
    }
    func create(_ path: String) throws(DiskError) -> DiskFile {
        let file = try disk.create(path)
        if path.hasPrefix("journal/") { unfinished.insert(file) }
        return file
    }
    func write(_ bytes: [UInt8], to file: DiskFile, at offset: UInt64) throws(DiskError) {
        do throws(DiskError) {
            try disk.write(bytes, to: file, at: offset)
        } catch {
            if promise != .swallowsFullDisk || !error.isFull { throw error }
        }
    }
    func fillWithZeros(_ file: DiskFile, length: UInt64) throws(DiskError) {
        do throws(DiskError) {
            try disk.fillWithZeros(file, length: length)
        } catch {
            if promise != .swallowsFullDisk || !error.isFull { throw error }
        }
    }
    func rename(_ path: String, to target: String) throws(DiskError) {
        if promise == .keepsSegments, target.hasSuffix(".spare") { return try copy(path, to: target) }
        try disk.rename(path, to: target)
    }

    private func copy(_ path: String, to target: String) throws(DiskError) {
        let source = try disk.openForReading(path)
        let bytes = try disk.read(source, at: 0, length: Int(try disk.size(of: source)))
        disk.close(source)
        // A rename replaces what has the name.
        do throws(DiskError) {
            try disk.remove(target)
        } catch {
            if !error.isMissing { throw error }
        }
        let file = try disk.create(target)
        try disk.write(bytes, to: file, at: 0)
        try disk.sync(file)
        disk.close(file)
    }

    func remove(_ path: String) throws(DiskError) {
        if promise == .keepsSegments, path.hasPrefix("journal/"), path.hasSuffix(".journal") { return }
        try disk.remove(path)
    }
}
