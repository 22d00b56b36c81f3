internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// The shard's side of ``Snapshots``. On the shard's loop.
extension Shard {
    /// Notes that a database has a commit that its snapshot does not hold.
    func noteChange(of loaded: LoadedDatabase) {
        if loaded.isListedAsChanged { return }
        loaded.isListedAsChanged = true
        changed.append(loaded.database.id)
        if changed.count == 1 { server.snapshots.databaseChanged() }
    }

    /// Takes the list of the databases that changed since their snapshots. Each is returned once; ``findChanged()``
    /// lists them again.
    func takeChanged() -> [DatabaseID] {
        let ids = changed
        changed = []
        for id in ids { databases.known(id)?.isListedAsChanged = false }
        return ids
    }

    /// Makes the list anew, after a run that had taken it failed.
    func findChanged() {
        databases.forEach { if $0.database.sequence > $0.snapshotSequence { noteChange(of: $0) } }
    }

    /// Captures the first of some databases, as many as it can without holding up the loop, and passes the captures on
    /// when everything in them is durable. A database without a commit beyond its snapshot is left out. `taken` is at
    /// least 1.
    func capture(
        _ ids: ArraySlice<DatabaseID>, _ done: @escaping @Sendable (_ captures: [DatabaseCapture], _ taken: Int) -> Void
    ) {
        log.submit()
        var captures: [DatabaseCapture] = []
        var taken = 0
        var cost = 0
        for id in ids {
            taken += 1
            if let loaded = databases.known(id), loaded.database.sequence > loaded.snapshotSequence {
                captures.append(loaded.database.capture())
                // A capture costs more for each zone; checking a database that needs none costs something too.
                cost += 10 + loaded.database.zoneCount
            } else {
                cost += 1
            }
            if cost >= ServerLimits.captureCost { break }
        }
        gate.whenDurable(log.appendedPosition) { [captures, taken] in done(captures, taken) }
    }

    /// Handles a damaged snapshot. If its database is in memory, it was loaded while the snapshot was still sound, and
    /// a new snapshot takes the place of the damaged one; otherwise the database is refused when it is used.
    func replaceSnapshot(_ finding: SnapshotSweep.Finding, on disk: any Disk) {
        var found: LoadedDatabase?
        databases.forEach { if finding.concerns($0.database.id, on: disk) { found = $0 } }
        guard let found, found.database.sequence > 0 else { return }
        found.snapshotSequence = 0
        noteChange(of: found)
        server.snapshots.write([found.database.id], of: self) { _ in }
    }

    /// Notes that a snapshot of the database up to the sequence, of so many bytes, is on disk.
    func snapshotted(_ id: DatabaseID, upTo sequence: UInt64, byteCount: UInt64) {
        figures.snapshotted(byteCount: byteCount)
        guard let loaded = databases.known(id) else { return }
        loaded.snapshotSequence = max(loaded.snapshotSequence, sequence)
    }
}
