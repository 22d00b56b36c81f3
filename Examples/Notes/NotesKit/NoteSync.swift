internal import CloudKit
internal import Synchronization

/// What the sync engine asks of the notes: the records to send, and what to make of those that came.
final class NoteSync: CKSyncEngineDelegate {
    static let stateName = "engine"

    private let store: NoteStore

    private struct State {
        /// What is on its way.
        var sending: [CKRecord.ID: Sending] = [:]
        var problems: [String] = []
        var lastListener = 0
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private struct Sending {
        let revision: Int64
        let picture: URL?
    }

    private let state = Mutex(State())

    init(store: NoteStore) {
        self.store = store
    }

    var problems: [String] { state.withLock { $0.problems } }

    func changes() -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let id = state.withLock { state in
                state.lastListener += 1
                state.listeners[state.lastListener] = continuation
                return state.lastListener
            }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
            }
        }
    }

    /// What the rows say that has to be sent.
    func pendingChanges() throws -> [CKSyncEngine.PendingRecordZoneChange] {
        try store.rows().filter(\.isPending).map { row in
            let id = Note.recordID(row.note.id)
            return row.isDeleted ? .deleteRecord(id) : .saveRecord(id)
        }
    }

    // MARK: CKSyncEngineDelegate

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        for case .deleteRecord(let id) in changes {
            guard let row = try? store.row(id.recordName) else { continue }
            state.withLock { $0.sending[id] = Sending(revision: row.revision, picture: row.note.picture) }
        }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { [store, self] id in
            guard let row = try? store.row(id.recordName), !row.isDeleted else {
                // Nothing to send any more.
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
                return nil
            }
            state.withLock { $0.sending[id] = Sending(revision: row.revision, picture: row.note.picture) }
            return row.record()
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        do {
            try await handle(event, syncEngine)
        } catch {
            note(problem: "the notes' file: \(error)")
        }
    }

    private func handle(_ event: CKSyncEngine.Event, _ engine: CKSyncEngine) async throws {
        switch event {
        case .stateUpdate(let update):
            try store.setState(Self.stateName, JSONEncoder().encode(update.stateSerialization))
        case .accountChange(let change): try accountChanged(change.changeType, engine)
        case .fetchedDatabaseChanges(let changes):
            // The user removed the app's data.
            if changes.deletions.contains(where: { $0.zoneID == Note.zoneID }) { try store.removeAll() }
            notify()
        case .fetchedRecordZoneChanges(let changes):
            for modification in changes.modifications { try fetched(modification.record) }
            for deletion in changes.deletions { try deletedElsewhere(deletion.recordID) }
            notify()
        case .sentDatabaseChanges(let changes):
            for failure in changes.failedZoneSaves { note(problem: "the zone: \(failure.error.localizedDescription)") }
        case .sentRecordZoneChanges(let changes):
            for record in changes.savedRecords { try saved(record) }
            for id in changes.deletedRecordIDs { try deleted(id) }
            for failure in changes.failedRecordSaves { try await saveFailed(failure.record, failure.error, engine) }
            for (id, error) in changes.failedRecordDeletes { try deletionFailed(id, error, engine) }
        case .willFetchRecordZoneChanges(let fetch):
            if fetch.startsOver { try store.doubtAll() }
        case .didFetchRecordZoneChanges(let fetch):
            if fetch.error == nil {
                try store.removeDoubtful()
                notify()
            }
        case .willFetchChanges, .didFetchChanges, .willSendChanges, .didSendChanges: break
        }
    }

    // MARK: What came

    private func accountChanged(
        _ change: CKSyncEngine.Event.AccountChange.ChangeType, _ engine: CKSyncEngine
    ) throws {
        switch change {
        case .signIn: break
        case .signOut, .switchAccounts:
            // The notes belong to who signed out.
            try store.removeAll()
            notify()
        }
        // The engine has begun anew: what the rows have for the new user is to be sent.
        if case .signOut = change { return }
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Note.zoneID))])
        engine.state.add(pendingRecordZoneChanges: try pendingChanges())
    }

    private func fetched(_ record: CKRecord) throws {
        try store.confirm(record.recordID.recordName)
        let picture = try kept(record)
        try store.update(record.recordID.recordName) { row in
            // An edit of this device that is to be sent will be a conflict, and is merged then.
            if row?.isPending == true { return }
            var fetched = NoteRow(
                note: Note(record, picture: picture), revision: row?.revision ?? 0,
                sentRevision: row?.sentRevision ?? 0)
            fetched.agree(on: record, picture: picture)
            row = fetched
        }
    }

    /// The program's copy of a record's picture: the SDK's own file goes when nobody has the record any more.
    private func kept(_ record: CKRecord) throws -> URL? {
        guard let asset = record["picture"] as? CKAsset else { return nil }
        guard let file = asset.fileURL else {
            note(problem: "\(record["title"] ?? record.recordID.recordName): its picture can't be fetched")
            return nil
        }
        // The same picture stays the same file: so it is told whether somebody has changed it.
        if let known = try store.row(record.recordID.recordName)?.base?.picture,
            FileManager.default.contentsEqual(atPath: known.path, andPath: file.path)
        {
            return known
        }
        return try store.keep(file)
    }

    private func deletedElsewhere(_ id: CKRecord.ID) throws {
        try store.update(id.recordName) { row in
            if row?.isPending == true, row?.isDeleted == false {
                // Who edits a note wants to have it: the edit makes it again.
                row?.systemFields = nil
                row?.base = nil
            } else {
                row = nil
            }
        }
    }

    // MARK: What was sent

    private func saved(_ record: CKRecord) throws {
        let sending = state.withLock { $0.sending.removeValue(forKey: record.recordID) }
        try store.confirm(record.recordID.recordName)
        try store.update(record.recordID.recordName) { row in
            // The record holds a picture only if it was sent; else the server has the one of before.
            let former = row?.base?.picture
            row?.agree(on: record, picture: sending.map(\.picture) ?? former)
            if let sending, let sent = row?.sentRevision { row?.sentRevision = max(sending.revision, sent) }
        }
    }

    private func deleted(_ id: CKRecord.ID) throws {
        let sending = state.withLock { $0.sending.removeValue(forKey: id) }
        try store.update(id.recordName) { row in
            if row?.isDeleted == true, row?.revision == sending?.revision { row = nil }
        }
    }

    private func saveFailed(_ record: CKRecord, _ error: CKError, _ engine: CKSyncEngine) async throws {
        let id = record.recordID
        switch error.code {
        case .serverRecordChanged:
            // The error has the server's record without its files.
            guard let theirs = try? await engine.database.record(for: id) else { break }
            let picture = try kept(theirs)
            try store.update(id.recordName) { row in
                guard var mine = row else { return }
                mine.note = mine.note.merged(with: Note(theirs, picture: picture), base: mine.base)
                mine.agree(on: theirs, picture: picture)
                mine.revision += 1
                row = mine
            }
            notify()
        case .unknownItem, .zoneNotFound:
            // Deleted meanwhile: the edit makes it again.
            try store.update(id.recordName) { row in
                row?.systemFields = nil
                row?.base = nil
            }
            if error.code == .zoneNotFound {
                engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Note.zoneID))])
            }
        case .batchRequestFailed: break
        case .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy,
            .notAuthenticated, .accountTemporarilyUnavailable, .operationCancelled, .serverResponseLost:
            // The engine tries these again by itself.
            return
        default: return note(problem: "\(record["title"] ?? id.recordName): \(error.localizedDescription)")
        }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }

    private func deletionFailed(_ id: CKRecord.ID, _ error: CKError, _ engine: CKSyncEngine) throws {
        switch error.code {
        case .unknownItem, .zoneNotFound: try deleted(id)
        case .batchRequestFailed: engine.state.add(pendingRecordZoneChanges: [.deleteRecord(id)])
        case .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy,
            .notAuthenticated, .accountTemporarilyUnavailable, .operationCancelled, .serverResponseLost:
            return
        default: note(problem: "deleting \(id.recordName): \(error.localizedDescription)")
        }
    }

    // MARK: Telling

    private func note(problem: String) {
        state.withLock { state in
            // The latest are enough for anybody.
            if state.problems.count >= 100 { state.problems.removeFirst() }
            state.problems.append(problem)
        }
    }

    private func notify() {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield() }
    }
}
