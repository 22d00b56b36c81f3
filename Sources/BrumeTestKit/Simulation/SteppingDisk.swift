internal import BrumeStore

/// A disk as seen by somebody who reads it while the others go on: time passes with each call.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SteppingDisk: ForwardingDisk, @unchecked Sendable {
    let disk: SimulatedDisk
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
    func listFolders(_ path: String) throws(DiskError) -> [String] {
        passTime()
        return try disk.listFolders(path)
    }
}
