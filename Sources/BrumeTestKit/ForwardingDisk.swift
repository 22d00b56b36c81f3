package import BrumeStore

/// A disk that forwards to another one, except for the calls that it implements itself.
package protocol ForwardingDisk: Disk {
    associatedtype Other: Disk

    var disk: Other { get }
}

extension ForwardingDisk {
    package func openForReading(_ path: String) throws(DiskError) -> DiskFile { try disk.openForReading(path) }
    package func openForWriting(_ path: String) throws(DiskError) -> DiskFile { try disk.openForWriting(path) }
    package func create(_ path: String) throws(DiskError) -> DiskFile { try disk.create(path) }
    package func close(_ file: DiskFile) { disk.close(file) }
    package func write(_ bytes: [UInt8], to file: DiskFile, at offset: UInt64) throws(DiskError) {
        try disk.write(bytes, to: file, at: offset)
    }
    package func read(_ file: DiskFile, at offset: UInt64, length: Int) throws(DiskError) -> [UInt8] {
        try disk.read(file, at: offset, length: length)
    }
    package func size(of file: DiskFile) throws(DiskError) -> UInt64 { try disk.size(of: file) }
    package func sync(_ file: DiskFile) throws(DiskError) { try disk.sync(file) }
    package func fillWithZeros(_ file: DiskFile, length: UInt64) throws(DiskError) {
        try disk.fillWithZeros(file, length: length)
    }
    package func rename(_ path: String, to target: String) throws(DiskError) { try disk.rename(path, to: target) }
    package func remove(_ path: String) throws(DiskError) { try disk.remove(path) }
    package func list(_ path: String) throws(DiskError) -> [String] { try disk.list(path) }
    package func listFolders(_ path: String) throws(DiskError) -> [String] { try disk.listFolders(path) }
    package func makeDirectory(_ path: String) throws(DiskError) { try disk.makeDirectory(path) }
    package func removeDirectory(_ path: String) throws(DiskError) { try disk.removeDirectory(path) }
    package func syncDirectory(_ path: String) throws(DiskError) { try disk.syncDirectory(path) }
    package func space(of path: String) throws(DiskError) -> DiskSpace? { try disk.space(of: path) }
    package func sha256(_ bytes: [UInt8]) -> [UInt8] { disk.sha256(bytes) }
    package func makeContentHash() -> any ContentHash { disk.makeContentHash() }
}
