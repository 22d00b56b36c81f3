public import CloudKit
internal import Synchronization

/// A notes program without its windows: notes in a file, on every device of the user.
///
/// Edits are local and never wait for the network; `CKSyncEngine` sends them and fetches those of other devices when it
/// can.
public final class NotesApp: Sendable {
    private let store: NoteStore
    private let sync: NoteSync
    private let engine: CKSyncEngine

    /// Opens the notes in a file, which is made when it is missing.
    ///
    /// - Parameter automaticallySync: Whether changes are sent and fetched as they come; else by ``syncNow()``.
    public init(container: CKContainer, file: URL, automaticallySync: Bool = true) throws {
        store = try NoteStore(file: file)
        sync = NoteSync(store: store)
        let state = try store.state(NoteSync.stateName)
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase,
            stateSerialization: try state.map {
                try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0)
            },
            delegate: sync)
        configuration.automaticallySync = automaticallySync
        engine = CKSyncEngine(configuration)
        if state == nil { engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Note.zoneID))]) }
        // The engine's state may be older than the last edit before a crash; the rows know.
        engine.state.add(pendingRecordZoneChanges: try sync.pendingChanges())
    }

    /// All notes, by title.
    public func notes() throws -> [Note] {
        try store.rows().filter { !$0.isDeleted }.map(\.note)
    }

    /// Adds a note.
    ///
    /// - Parameter picture: A file, which is copied; nil: no picture.
    @discardableResult
    public func add(title: String, text: String, picture: URL? = nil) throws -> Note {
        let note = Note(title: title, text: text, picture: try picture.map { try store.keep($0) })
        try store.update(note.id) { $0 = NoteRow(note: note, revision: 1) }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(Note.recordID(note.id))])
        return note
    }

    /// Changes a note. For one that is not there this does nothing.
    public func edit(_ id: String, _ change: (inout Note) -> Void) throws {
        var isThere = false
        try store.update(id) { row in
            guard row?.isDeleted == false else { return }
            isThere = true
            change(&row!.note)
            row!.note.edited = Date()
            row!.revision += 1
        }
        if isThere { engine.state.add(pendingRecordZoneChanges: [.saveRecord(Note.recordID(id))]) }
    }

    /// Gives a note another picture, which is copied, or none.
    public func setPicture(_ picture: URL?, of id: String) throws {
        let copy = try picture.map { try store.keep($0) }
        try edit(id) { $0.picture = copy }
    }

    /// Deletes a note. For one that is not there this does nothing.
    public func delete(_ id: String) throws {
        var isThere = false
        try store.update(id) { row in
            guard row?.isDeleted == false else { return }
            isThere = true
            row!.isDeleted = true
            row!.revision += 1
        }
        guard isThere else { return }
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(Note.recordID(id))])
    }

    /// How many notes the server has not heard of as they are.
    public var pendingCount: Int { get throws { try store.rows().count(where: \.isPending) } }

    /// What could not be sent and won't be by itself, for the user to read.
    public var problems: [String] { sync.problems }

    /// Sends and fetches now, and returns when there is nothing left to do.
    ///
    /// - Throws: The `CKError` that ended it: without a network, for example.
    public func syncNow() async throws {
        // A conflict is mended when its send has failed, and sent again.
        for attempt in 1...Self.attempts {
            do {
                try await engine.fetchChanges()
                try await engine.sendChanges()
                return
            } catch let error as CKError where error.code == .partialFailure && attempt < Self.attempts {}
        }
    }

    /// As often as somebody else may be faster in a row.
    private static let attempts = 5

    /// Gives a value each time notes may have changed by what came from the server.
    public var changes: AsyncStream<Void> { sync.changes() }
}
