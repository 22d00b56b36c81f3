import BrumeKit
import BrumeLock
import Foundation

/// An app on one device: notes in memory as its database, kept in step by a sync engine. What `persistState` and the
/// handled events leave outlives a "restart".
final class NotesDevice: CKSyncEngineDelegate {
    struct Note: Sendable {
        var text: String
        /// The version on the server that this one came from.
        var record: CKRecord?
        /// A picture that is to be saved with it.
        var picture: URL?
    }

    private struct Watch: Sendable {
        let isMet: @Sendable (NotesDevice) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct Held: Sendable {
        var notes: [CKRecord.ID: Note] = [:]
        var events: [String] = []
        var watches: [UInt64: Watch] = [:]
        var lastWatch: UInt64 = 0
        var savedState: CKSyncEngine.State.Serialization?
        var engine: CKSyncEngine?
        var onEvent: (@Sendable (CKSyncEngine.Event, CKSyncEngine) async -> Void)?
        var onProvide: (@Sendable (CKRecord.ID, CKSyncEngine) async -> Void)?
        var makesBatch: (@Sendable (CKSyncEngine.SendChangesContext) -> CKSyncEngine.RecordZoneChangeBatch?)?
        var prioritized: [CKRecordZone.ID] = []
    }

    private let held = Lock(Held())
    let container: CKContainer

    private let persists: Bool

    /// - Parameter persists: Keeps the state with `persistState`, and not with state updates.
    init(_ container: CKContainer, isAutomatic: Bool = true, persists: Bool = true, begins: Bool = true) {
        self.container = container
        self.persists = persists
        if begins { launch(isAutomatic: isAutomatic) }
    }

    /// Starts the app, anew or for the first time.
    func launch(
        isAutomatic: Bool = true, configure: (inout CKSyncEngine.Configuration) -> Void = { _ in }
    ) {
        held.withLock { $0.engine = nil }
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase, stateSerialization: held.withLock { $0.savedState },
            delegate: self)
        configuration.automaticallySync = isAutomatic
        if persists {
            configuration.persistState = { [weak self] state in self?.held.withLock { $0.savedState = state } }
        }
        configure(&configuration)
        let engine = CKSyncEngine(configuration)
        held.withLock { $0.engine = engine }
    }

    func quit() {
        let engine = held.withLock { held in
            defer { held.engine = nil }
            return held.engine
        }
        withExtendedLifetime(engine) {}
    }

    var engine: CKSyncEngine { held.withLock { $0.engine! } }
    var events: [String] { held.withLock { $0.events } }
    var texts: [String: String] {
        held.withLock { held in
            Dictionary(uniqueKeysWithValues: held.notes.map { ($0.key.recordName, $0.value.text) })
        }
    }
    var savedState: CKSyncEngine.State.Serialization? { held.withLock { $0.savedState } }

    func forgetEvents() { held.withLock { $0.events = [] } }

    func onEvent(_ body: (@Sendable (CKSyncEngine.Event, CKSyncEngine) async -> Void)?) {
        held.withLock { $0.onEvent = body }
    }

    func onProvide(_ body: (@Sendable (CKRecord.ID, CKSyncEngine) async -> Void)?) {
        held.withLock { $0.onProvide = body }
    }

    func makeBatches(
        _ body: @escaping @Sendable (CKSyncEngine.SendChangesContext) -> CKSyncEngine.RecordZoneChangeBatch?
    ) {
        held.withLock { $0.makesBatch = body }
    }

    func prioritize(_ zones: [CKRecordZone.ID]) { held.withLock { $0.prioritized = zones } }

    // MARK: The user

    func write(_ text: String, _ id: CKRecord.ID) {
        held.withLock { $0.notes[id, default: Note(text: "")].text = text }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }

    func write(_ text: String, picture: URL, _ id: CKRecord.ID) {
        held.withLock { $0.notes[id, default: Note(text: "")].picture = picture }
        write(text, id)
    }

    /// What ``write(_:_:)`` does in one step, as an app whose database adds the change within a transaction: the note
    /// is not there to be read before its commit.
    func beginWriting(_ ids: [CKRecord.ID]) {
        engine.state.add(pendingRecordZoneChanges: ids.map { .saveRecord($0) })
    }

    func commit(_ text: String, _ ids: [CKRecord.ID]) {
        held.withLock { held in
            for id in ids { held.notes[id, default: Note(text: "")].text = text }
        }
    }

    func delete(_ id: CKRecord.ID) {
        held.withLock { _ = $0.notes.removeValue(forKey: id) }
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(id)])
    }

    // MARK: Waiting

    /// Returns once the condition is met, which is looked at after every event.
    func wait(_ isMet: @escaping @Sendable (NotesDevice) -> Bool) async {
        await withCheckedContinuation { continuation in
            held.withLock { held in
                held.lastWatch += 1
                held.watches[held.lastWatch] = Watch(isMet: isMet, continuation: continuation)
            }
            look()
        }
    }

    private func look() {
        let watches = held.withLock { $0.watches }
        for (id, watch) in watches where watch.isMet(self) {
            held.withLock { $0.watches.removeValue(forKey: id) }?.continuation.resume()
        }
    }

    // MARK: The delegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        if let body = held.withLock({ $0.onEvent }) { await body(event, syncEngine) }
        switch event {
        case .stateUpdate(let update): held.withLock { $0.savedState = update.stateSerialization }
        case .fetchedDatabaseChanges(let changes):
            for deletion in changes.deletions {
                held.withLock { held in held.notes = held.notes.filter { $0.key.zoneID != deletion.zoneID } }
            }
        case .fetchedRecordZoneChanges(let changes):
            let pending = Set(syncEngine.state.pendingRecordZoneChanges)
            for modification in changes.modifications {
                let record = modification.record
                if record is CKShare { continue }
                // The save of an edit finds the conflict.
                if pending.contains(.saveRecord(record.recordID)) { continue }
                if pending.contains(.deleteRecord(record.recordID)) { continue }
                held.withLock { $0.notes[record.recordID] = Note(text: record["text"] ?? "", record: record) }
            }
            for deletion in changes.deletions where !pending.contains(.saveRecord(deletion.recordID)) {
                held.withLock { _ = $0.notes.removeValue(forKey: deletion.recordID) }
            }
        case .sentRecordZoneChanges(let sent): sentChanges(sent, syncEngine)
        default: break
        }
        held.withLock { $0.events.append("\(event)") }
        look()
    }

    private func sentChanges(_ sent: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine) {
        for record in sent.savedRecords {
            held.withLock { held in
                held.notes[record.recordID]?.record = record
                held.notes[record.recordID]?.picture = nil
            }
        }
        for failure in sent.failedRecordSaves {
            let id = failure.record.recordID
            switch failure.error.code {
            case .serverRecordChanged:
                guard let server = failure.error.serverRecord, let ours = held.withLock({ $0.notes[id] }) else {
                    continue
                }
                let base: String? = failure.error.ancestorRecord?["text"]
                let theirs: String = server["text"] ?? ""
                held.withLock { held in
                    held.notes[id]?.record = server
                    held.notes[id]?.text = base == ours.text ? theirs : theirs + "+" + ours.text
                }
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            case .zoneNotFound:
                held.withLock { $0.notes[id]?.record = nil }
                engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            case .unknownItem:
                held.withLock { $0.notes[id]?.record = nil }
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            case .batchRequestFailed: engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            default: break
            }
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        if let body = held.withLock({ $0.makesBatch }) { return body(context) }
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            guard let note = self.held.withLock({ $0.notes[id] }) else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
                return nil
            }
            let record = note.record.flatMap { $0.copy() as? CKRecord } ?? CKRecord(recordType: "Note", recordID: id)
            record["text"] = note.text
            if let picture = note.picture { record["picture"] = CKAsset(fileURL: picture) }
            if let body = self.held.withLock({ $0.onProvide }) { await body(id, syncEngine) }
            return record
        }
    }

    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        var options = context.options
        options.prioritizedZoneIDs = held.withLock { $0.prioritized }
        return options
    }
}

/// A `CKSyncEngine` error's code, or nil when nothing was thrown.
func errorCode(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code ?? .internalError
    }
}
