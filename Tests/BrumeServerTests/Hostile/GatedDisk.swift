import BrumeLock
import BrumeServer
import BrumeStore
import BrumeTestKit
import Glibc

/// A real disk whose calls are counted, whose syncs may be left out, and whose snapshots are not read while a gate is
/// shut: whoever reads one stands at it.
final class GatedDisk: ForwardingDisk {
    private struct State {
        var isShut = false
        var waiting = 0
        var snapshots: Set<DiskFile> = []
        var snapshotsOpened = 0
    }

    let disk: RealDisk
    private let syncs: Bool
    private let maker = pthread_self()
    private let state = Lock(State())

    /// - Parameter syncs: False: what is written need not last, and is written fast.
    init(folder: String, syncs: Bool = true) {
        disk = RealDisk(folder: folder)
        self.syncs = syncs
    }

    func shut() { state.withLock { $0.isShut = true } }
    func open() { state.withLock { $0.isShut = false } }

    /// How often the thread that made the disk, which makes the server too, opened a snapshot to read it.
    var snapshotsOpened: Int { state.withLock { $0.snapshotsOpened } }

    /// Threads at the gate.
    var waiting: Int { state.withLock { $0.waiting } }

    /// Returns when a thread stands at the gate.
    func someoneWaits() async throws { try await waitUntil("a thread stands at the gate") { waiting > 0 } }

    func read(_ file: DiskFile, at offset: UInt64, length: Int) throws(DiskError) -> [UInt8] {
        let waits = state.withLock { state in
            let waits = state.isShut && state.snapshots.contains(file)
            if waits { state.waiting += 1 }
            return waits
        }
        if waits {
            while state.withLock({ $0.isShut }) { usleep(1_000) }
            state.withLock { $0.waiting -= 1 }
        }
        return try disk.read(file, at: offset, length: length)
    }

    func openForReading(_ path: String) throws(DiskError) -> DiskFile {
        let file = try disk.openForReading(path)
        if path.hasPrefix("snapshots/") {
            let isMaker = pthread_equal(pthread_self(), maker) != 0
            state.withLock {
                $0.snapshots.insert(file)
                if isMaker { $0.snapshotsOpened += 1 }
            }
        }
        return file
    }

    func close(_ file: DiskFile) {
        state.withLock { _ = $0.snapshots.remove(file) }
        disk.close(file)
    }

    func sync(_ file: DiskFile) throws(DiskError) { if syncs { try disk.sync(file) } }
    func syncDirectory(_ path: String) throws(DiskError) { if syncs { try disk.syncDirectory(path) } }
}
