internal import BrumeStore
internal import BrumeSystem

/// Reads the snapshots once, slowly, on the snapshots' loop, after a start that had too many to read them before it
/// served.
///
/// Damage is logged with file and offset, and shown in the server's health. A damaged database is refused when it is
/// used; one that is in memory, and so was sound when it was loaded, gets a new snapshot at once.
///
/// `@unchecked Sendable`: everything belongs to `loop`.
final class BackgroundCheck: @unchecked Sendable {
    private let disk: any Disk
    private let loop: EventLoop
    private unowned let server: ServerCore
    private var sweep: SnapshotSweep?

    init(of disk: any Disk, loop: EventLoop, server: ServerCore) {
        self.disk = disk
        self.loop = loop
        self.server = server
    }

    /// Any thread. The loop may run later.
    func start() {
        loop.execute { [self] in
            do throws(StoreError) {
                sweep = try SnapshotSweep(on: disk)
                server.log.info("snapshots are checked after the start")
                proceed()
            } catch {
                server.log.error("the snapshots can't be checked", [("reason", "\(error)")])
            }
        }
    }

    private func proceed() {
        if server.isDraining {
            sweep?.stop()
            sweep = nil
        }
        guard let step = sweep?.step(bytes: StoreLimits.backgroundCheckSliceBytes) else { return }
        for finding in step.findings { tell(finding) }
        if let done = sweep, done.isDone {
            server.log.info("snapshots checked", [("sound", String(done.soundCount))])
            sweep = nil
            return
        }
        let pause = step.cost * 1_000 / StoreLimits.backgroundCheckBytesPerSecond
        _ = loop.schedule(afterMilliseconds: max(1, pause)) { [self] in proceed() }
    }

    private func tell(_ finding: SnapshotSweep.Finding) {
        server.log.error("a snapshot can't be relied on", [("reason", "\(finding.error)")])
        server.noteDamage()
        for shard in server.shards {
            shard.loop.execute { [disk] in shard.replaceSnapshot(finding, on: disk) }
        }
    }
}
