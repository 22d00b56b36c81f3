internal import BrumeService
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
    private let logs: [JournalLog]
    private let progress: JournalLogs.Progress
    private let log: Log
    private var sweep: SnapshotSweep?

    init(of disk: any Disk, loop: EventLoop, logs: [JournalLog], progress: JournalLogs.Progress, log: Log) {
        self.disk = disk
        self.loop = loop
        self.logs = logs
        self.progress = progress
        self.log = log
    }

    /// Any thread. The loop may run later.
    func start() {
        loop.execute { [self] in
            do throws(StoreError) {
                sweep = try SnapshotSweep(on: disk)
                log.info("snapshots are checked after the start")
                proceed()
            } catch {
                log.error("the snapshots can't be checked", [("reason", "\(error)")])
            }
        }
    }

    private func proceed() {
        if progress.isStopping {
            sweep?.stop()
            sweep = nil
        }
        guard let step = sweep?.step(bytes: StoreLimits.backgroundCheckSliceBytes) else { return }
        for finding in step.findings { tell(finding) }
        if let done = sweep, done.isDone {
            log.info("snapshots checked", [("sound", String(done.soundCount))])
            sweep = nil
            return
        }
        let pause = step.cost * 1_000 / StoreLimits.backgroundCheckBytesPerSecond
        _ = loop.schedule(afterMilliseconds: max(1, pause)) { [self] in proceed() }
    }

    private func tell(_ finding: SnapshotSweep.Finding) {
        log.error("a snapshot can't be relied on", [("reason", "\(finding.error)")])
        progress.noteDamage()
        for log in logs {
            log.loop.execute { [disk] in log.replaceSnapshot(finding, on: disk) }
        }
    }
}
