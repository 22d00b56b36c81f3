internal import BrumeServer
internal import BrumeStore

/// A real disk that syncs nothing: what a benchmark writes need not last.
final class UnsyncedDisk: Disk {
    private let disk: RealDisk

    init(folder: String) { disk = RealDisk(folder: folder) }

    func sync(_ file: DiskFile) throws(DiskError) {}
    func syncDirectory(_ path: String) throws(DiskError) {}

    func openForReading(_ path: String) throws(DiskError) -> DiskFile { try disk.openForReading(path) }
    func openForWriting(_ path: String) throws(DiskError) -> DiskFile { try disk.openForWriting(path) }
    func create(_ path: String) throws(DiskError) -> DiskFile { try disk.create(path) }
    func close(_ file: DiskFile) { disk.close(file) }
    func write(_ bytes: [UInt8], to file: DiskFile, at offset: UInt64) throws(DiskError) {
        try disk.write(bytes, to: file, at: offset)
    }
    func read(_ file: DiskFile, at offset: UInt64, length: Int) throws(DiskError) -> [UInt8] {
        try disk.read(file, at: offset, length: length)
    }
    func size(of file: DiskFile) throws(DiskError) -> UInt64 { try disk.size(of: file) }
    func fillWithZeros(_ file: DiskFile, length: UInt64) throws(DiskError) {
        try disk.fillWithZeros(file, length: length)
    }
    func rename(_ path: String, to target: String) throws(DiskError) { try disk.rename(path, to: target) }
    func remove(_ path: String) throws(DiskError) { try disk.remove(path) }
    func list(_ path: String) throws(DiskError) -> [String] { try disk.list(path) }
    func makeDirectory(_ path: String) throws(DiskError) { try disk.makeDirectory(path) }
    func sha256(_ bytes: [UInt8]) -> [UInt8] { disk.sha256(bytes) }
}
