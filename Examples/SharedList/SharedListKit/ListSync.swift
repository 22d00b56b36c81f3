internal import CloudKit
internal import Synchronization

/// What the sync engines ask of the lists, and what becomes of what they fetched.
final class ListSync: CKSyncEngineDelegate {
    private struct State {
        var lists: Set<CKRecordZone.ID> = []
        var items: [CKRecord.ID: CKRecord] = [:]
        var problems: [String] = []

        mutating func forget(_ list: CKRecordZone.ID) {
            lists.remove(list)
            items = items.filter { $0.key.zoneID != list }
        }
    }

    private let state = Mutex(State())

    var lists: Set<CKRecordZone.ID> { state.withLock { $0.lists } }

    var problems: [String] { state.withLock { $0.problems } }

    func items(of list: CKRecordZone.ID) -> [CKRecord] {
        state.withLock { state in state.items.values.filter { $0.recordID.zoneID == list } }
    }

    func keep(_ list: CKRecordZone.ID) { state.withLock { _ = $0.lists.insert(list) } }

    func keep(_ item: CKRecord) { state.withLock { $0.items[item.recordID] = item } }

    func forget(_ list: CKRecordZone.ID) { state.withLock { $0.forget(list) } }

    // MARK: CKSyncEngineDelegate

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { [self] id in
            state.withLock { $0.items[id] }
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        state.withLock { state in
            switch event {
            case .fetchedDatabaseChanges(let changes):
                // In the shared database a list goes when its owner ends the share, or removes this user from it.
                for deletion in changes.deletions { state.forget(deletion.zoneID) }
                for modification in changes.modifications { state.lists.insert(modification.zoneID) }
            case .willFetchRecordZoneChanges(let fetch):
                // All that is there comes again, and nothing tells what is not; what was not sent yet stays.
                if fetch.startsOver {
                    state.items = state.items.filter {
                        $0.key.zoneID != fetch.zoneID || $0.value.recordChangeTag == nil
                    }
                }
            case .fetchedRecordZoneChanges(let changes):
                // The share itself is one of the zone's records.
                for modification in changes.modifications where modification.record.recordType == ListsApp.itemType {
                    state.items[modification.record.recordID] = modification.record
                }
                for deletion in changes.deletions { state.items[deletion.recordID] = nil }
            case .sentRecordZoneChanges(let changes):
                for record in changes.savedRecords { state.items[record.recordID] = record }
                for failure in changes.failedRecordSaves where !Self.isSentAgain(failure.error) {
                    // A user who may only read, or takes part no more, has not added anything.
                    state.items[failure.record.recordID] = nil
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
