internal import BrumeStore

/// A disk as somebody sees it who reads it while the others go on: time passes with each call.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SteppingDisk: Disk, @unchecked Sendable {
    private let disk: SimulatedDisk
    private let passTime: () -> Void

    init(_ disk: SimulatedDisk, passTime: @escaping () -> Void) {
        self.disk = disk
        self.passTime = passTime
    }

    func openForReading(_ path: String) throws(DiskError) -> DiskFile {
        passTime()
        return try disk.openForReading(path)
    }
    func read(_ file: DiskFile, at offset: UInt64, length: Int) throws(DiskError) -> [UInt8] {
        passTime()
        return try disk.read(file, at: offset, length: length)
    }
    func list(_ path: String) throws(DiskError) -> [String] {
        passTime()
        return try disk.list(path)
    }
    func size(of file: DiskFile) throws(DiskError) -> UInt64 { try disk.size(of: file) }
    func close(_ file: DiskFile) { disk.close(file) }
    func sync(_ file: DiskFile) throws(DiskError) { try disk.sync(file) }
    func syncDirectory(_ path: String) throws(DiskError) { try disk.syncDirectory(path) }
    func openForWriting(_ path: String) throws(DiskError) -> DiskFile { try disk.openForWriting(path) }
    func create(_ path: String) throws(DiskError) -> DiskFile { try disk.create(path) }
    func write(_ bytes: [UInt8], to file: DiskFile, at offset: UInt64) throws(DiskError) {
        try disk.write(bytes, to: file, at: offset)
    }
    func fillWithZeros(_ file: DiskFile, length: UInt64) throws(DiskError) {
        try disk.fillWithZeros(file, length: length)
    }
    func rename(_ path: String, to target: String) throws(DiskError) { try disk.rename(path, to: target) }
    func remove(_ path: String) throws(DiskError) { try disk.remove(path) }
    func makeDirectory(_ path: String) throws(DiskError) { try disk.makeDirectory(path) }
    func sha256(_ bytes: [UInt8]) -> [UInt8] { disk.sha256(bytes) }
}
