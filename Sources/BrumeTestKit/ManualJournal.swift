package import BrumeModel
package import BrumeStore

/// A data folder with its journal, without a thread or a server: a test makes each step itself, and ``flush()`` makes
/// durable what was appended.
package final class ManualJournal {
    private let disk: any Disk
    private let recovery: Recovery
    private var writer: JournalWriter
    private var coverage: SegmentCoverage
    private var batch = JournalBatch()
    private var pending: [(database: DatabaseID, sequence: UInt64)] = []
    private var waiting: [DatabaseID: Database]
    private var appendedPosition: UInt64 = 0
    package private(set) var durablePosition: UInt64 = 0

    /// What recovery found.
    package var report: Recovery.Report { recovery.report }
    package var epoch: UInt32 { recovery.epoch }
    /// The segment that the next batch goes to.
    package var segment: UInt64 { writer.segment }
    /// Makes the next segment ahead.
    package var preparation: SegmentPreparation { writer.preparation }

    package init(opening disk: any Disk, options: JournalWriter.Options, newEpoch: UInt32) throws(StoreError) {
        self.disk = disk
        recovery = try Recovery(opening: disk, options: options, newEpoch: newEpoch)
        writer = recovery.writer
        coverage = recovery.coverage
        waiting = recovery.databases
    }

    package func open(_ id: DatabaseID) throws(StoreError) -> Database {
        if let recovered = waiting.removeValue(forKey: id) { return recovered }
        precondition(
            coverage.holdsAll(of: id), "a database is opened that is open, or was given up without a snapshot")
        return try recovery.openDatabase(id)
    }

    package func append(_ entry: JournalEntry) throws(StoreError) -> UInt64 {
        var bytes: [UInt8] = []
        StoreCoder.encodeJournalEntry(entry, into: &bytes)
        if !batch.hasRoom(for: bytes) { try flush() }
        batch.append(bytes)
        pending.append((entry.database, entry.sequence))
        appendedPosition += 1
        return appendedPosition
    }

    /// One write, one sync. After an error nothing more is durable than before.
    package func flush() throws(StoreError) {
        if batch.isEmpty { return }
        do throws(DiskError) {
            try writer.write(&batch)
        } catch {
            throw .disk(error)
        }
        for commit in pending {
            coverage.appended(commit.database, sequence: commit.sequence, segment: writer.segment)
        }
        pending.removeAll()
        batch.removeAll()
        durablePosition = appendedPosition
    }

    @discardableResult
    package func writeSnapshot(_ capture: DatabaseCapture) throws(StoreError) -> UInt64 {
        precondition(
            !pending.contains { $0.database == capture.id && $0.sequence <= capture.sequence },
            "a snapshot is written of a commit that is not durable")
        do throws(DiskError) {
            let byteCount = try SnapshotWriter.write(capture, to: disk)
            recovery.manifest.noted(SnapshotFormat.path(of: capture.id, on: disk), sequence: capture.sequence)
            coverage.snapshotted(capture.id, upTo: capture.sequence)
            return byteCount
        } catch {
            throw .disk(error)
        }
    }

    /// Begins a new segment and removes those that no database needs.
    package func trim() throws(StoreError) {
        do throws(DiskError) {
            try writer.rotate()
            // The journal drops only what is known to be elsewhere.
            try recovery.manifest.save()
            try writer.removeSegments(before: coverage.firstNeeded(current: writer.segment))
            preparation.removeUseless()
        } catch {
            throw .disk(error)
        }
    }

    /// Notes on the disk that all that was flushed is synced; see ``JournalWriter/record()``.
    package func record() throws(StoreError) {
        do throws(DiskError) {
            try writer.record()
        } catch {
            throw .disk(error)
        }
    }

    /// A database that is opened again is read from its snapshot: write one before.
    package func close(_ id: DatabaseID) {
        waiting[id] = nil
    }
}
