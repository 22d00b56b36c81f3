internal import BrumeLock
package import BrumeStore
package import BrumeSystem

/// Whether the disk of the assets has room for more of them: uploads end before the disk is full, so that the journal
/// and the snapshots, which may lie on it too, find room.
///
/// The disk is asked once a second at most, by whoever comes first then; the others have the last answer. Any thread
/// that may wait for a disk.
package final class SpaceWatch: Sendable {
    private struct State {
        var nextLookNanoseconds: UInt64 = 0
        var isShort = false
    }

    private static let pauseNanoseconds: UInt64 = 1_000_000_000

    private let disk: any Disk
    private let freePercent: Int
    private let nowNanoseconds: @Sendable () -> UInt64
    private let log: Log
    private let state = Lock(State())

    /// - Parameters:
    ///   - freePercent: How much of the disk stays free of assets; 0: it is never asked.
    ///   - nowNanoseconds: A clock that never goes back.
    package init(on disk: any Disk, freePercent: Int, log: Log, nowNanoseconds: @escaping @Sendable () -> UInt64) {
        (self.disk, self.freePercent, self.log, self.nowNanoseconds) = (disk, freePercent, log, nowNanoseconds)
    }

    /// Throws that the disk is full, when there is less room than is to stay free.
    package func check() throws(DiskError) {
        if freePercent == 0 { return }
        let now = nowNanoseconds()
        let (isDue, wasShort) = state.withLock { state in
            let isDue = now >= state.nextLookNanoseconds
            if isDue { state.nextLookNanoseconds = now + SpaceWatch.pauseNanoseconds }
            return (isDue, state.isShort)
        }
        if isDue ? look(wasShort) : wasShort {
            throw DiskError(
                call: "write", path: BlobFolder.root, message: "less than \(freePercent) % of the disk is free",
                isFull: true)
        }
    }

    private func look(_ wasShort: Bool) -> Bool {
        // A disk that does not tell tells when it is written to.
        let space = (try? disk.space(of: BlobFolder.root)) ?? nil
        let isShort = space.map { $0.freeBytes < $0.totalBytes / 100 * UInt64(freePercent) } ?? false
        state.withLock { $0.isShort = isShort }
        if isShort != wasShort, let space {
            if isShort {
                log.error(
                    "uploads of assets are refused: the disk has little room (--asset-free)",
                    [("free", String(space.freeBytes)), ("of", String(space.totalBytes))])
            } else {
                log.info("uploads of assets go on: the disk has room again", [("free", String(space.freeBytes))])
            }
        }
        return isShort
    }
}
