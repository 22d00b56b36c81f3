internal import BrumeServer
internal import BrumeStore
internal import BrumeTestKit

/// A real disk that syncs nothing: what a benchmark writes need not last.
final class UnsyncedDisk: ForwardingDisk {
    let disk: RealDisk

    init(folder: String) { disk = RealDisk(folder: folder) }

    func sync(_ file: DiskFile) throws(DiskError) {}
    func syncDirectory(_ path: String) throws(DiskError) {}
}
