internal import CloudKit
internal import Synchronization

/// What the sync engines ask of the lists, and what becomes of what they fetched.
final class ListSync: CKSyncEngineDelegate {
    private struct State {
        var zones: Set<CKRecordZone.ID> = []
        var records: [CKRecord.ID: CKRecord] = [:]
        var problems: [String] = []

        mutating func forget(_ zone: CKRecordZone.ID) {
            zones.remove(zone)
            records = records.filter { $0.key.zoneID != zone }
        }
    }

    private let state = Mutex(State())

    /// A sync engine that works when it is told to.
    func engine(of database: CKDatabase) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    var zones: Set<CKRecordZone.ID> { state.withLock { $0.zones } }

    var problems: [String] { state.withLock { $0.problems } }

    /// The records that meet a condition, oldest first; one that was not sent yet stands last.
    func records(where isWanted: (CKRecord) -> Bool) -> [CKRecord] {
        state.withLock { state in state.records.values.filter(isWanted) }
            .sorted { ($0.creationDate ?? .distantFuture) < ($1.creationDate ?? .distantFuture) }
    }

    func keep(_ zone: CKRecordZone.ID) { state.withLock { _ = $0.zones.insert(zone) } }

    func keep(_ record: CKRecord) { state.withLock { $0.records[record.recordID] = record } }

    func forget(_ zone: CKRecordZone.ID) { state.withLock { $0.forget(zone) } }

    func forget(_ records: [CKRecord.ID]) {
        state.withLock { state in for id in records { state.records[id] = nil } }
    }

    // MARK: CKSyncEngineDelegate

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { [self] id in
            state.withLock { $0.records[id] }
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        state.withLock { state in
            switch event {
            case .fetchedDatabaseChanges(let changes):
                // In the shared database a zone goes when its owner ends the share, or removes this user from it; where
                // single records of it are shared, with the last of these.
                for deletion in changes.deletions { state.forget(deletion.zoneID) }
                for modification in changes.modifications { state.zones.insert(modification.zoneID) }
            case .willFetchRecordZoneChanges(let fetch):
                // All that is there comes again, and nothing tells what is not; what was not sent yet stays.
                if fetch.startsOver {
                    state.records = state.records.filter {
                        $0.key.zoneID != fetch.zoneID || $0.value.recordChangeTag == nil
                    }
                }
            case .fetchedRecordZoneChanges(let changes):
                // The share itself is one of the zone's records.
                for modification in changes.modifications where !(modification.record is CKShare) {
                    state.records[modification.record.recordID] = modification.record
                }
                // A record goes as well when it is shared with this user no more, while others of its zone are.
                for deletion in changes.deletions { state.records[deletion.recordID] = nil }
            case .sentRecordZoneChanges(let changes):
                for record in changes.savedRecords { state.records[record.recordID] = record }
                for failure in changes.failedRecordSaves where !Self.isSentAgain(failure.error) {
                    // A user who may only read, or takes part no more, has not added anything.
                    state.records[failure.record.recordID] = nil
                    state.problems.append(failure.error.localizedDescription)
                }
            case .accountChange(let change):
                // The lists belong to who signed out.
                if case .signIn = change.changeType {} else { state = State() }
            default: break
            }
        }
    }

    /// Whether the engine sends it again by itself.
    private static func isSentAgain(_ error: CKError) -> Bool {
        switch error.code {
        case .networkFailure, .networkUnavailable, .notAuthenticated, .accountTemporarilyUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy:
            true
        default: false
        }
    }
}
