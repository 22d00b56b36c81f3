internal import Foundation

/// The notes of this device, on SQLite. May be used from several threads.
///
/// Whether a note still has to be sent stands in its row, in the same transaction as the edit: no crash can part the
/// two.
///
/// `@unchecked Sendable`: the connection is used under the lock alone.
final class NoteStore: @unchecked Sendable {
    private let lock = NSLock()
    private let connection: SQLiteConnection

    /// Where the pictures are.
    private let folder: URL

    init(file: URL) throws {
        folder = URL(fileURLWithPath: file.path + ".pictures", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        connection = try SQLiteConnection(path: file.path)
        try connection.run(
            """
            CREATE TABLE IF NOT EXISTS notes (
                id TEXT PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL, edited REAL NOT NULL,
                base_title TEXT, base_text TEXT, base_edited REAL, system_fields BLOB,
                is_deleted INTEGER NOT NULL, revision INTEGER NOT NULL, sent_revision INTEGER NOT NULL,
                picture TEXT, base_picture TEXT)
            """)
        // Files of the time before pictures.
        if try connection.run("PRAGMA table_info(notes)").count == 11 {
            try connection.run("ALTER TABLE notes ADD COLUMN picture TEXT")
            try connection.run("ALTER TABLE notes ADD COLUMN base_picture TEXT")
        }
        try connection.run("CREATE TABLE IF NOT EXISTS unconfirmed (id TEXT PRIMARY KEY)")
        try connection.run("CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value BLOB NOT NULL)")
        try removeUnneededPictures()
    }

    // MARK: Pictures

    /// Copies a picture to the program's folder, under a name of its own: such a file never changes.
    func keep(_ picture: URL) throws -> URL {
        let copy = folder.appendingPathComponent(UUID().uuidString)
        try FileManager.default.copyItem(at: picture, to: copy)
        return copy
    }

    /// Removes the pictures that no note has any more.
    private func removeUnneededPictures() throws {
        let needed = try connection.run("SELECT picture FROM notes UNION SELECT base_picture FROM notes")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where !needed.contains([.text(name)]) {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }

    private func url(_ value: SQLiteValue) -> URL? {
        guard case .text(let name) = value else { return nil }
        return folder.appendingPathComponent(name)
    }

    private func value(_ picture: URL?) -> SQLiteValue { picture.map { .text($0.lastPathComponent) } ?? .null }

    /// All rows, deleted ones too, by title.
    func rows() throws -> [NoteRow] {
        try lock.withLock {
            try connection.run("\(Self.select) ORDER BY title, id").map(row)
        }
    }

    /// The row of a note; nil: there is none.
    func row(_ id: String) throws -> NoteRow? {
        try lock.withLock { try found(id) }
    }

    /// Changes the row of a note, or makes one; a nil that `change` leaves removes it.
    func update(_ id: String, _ change: (inout NoteRow?) throws -> Void) throws {
        try lock.withLock {
            try connection.transaction {
                var row = try found(id)
                try change(&row)
                guard let row else {
                    try connection.run("DELETE FROM notes WHERE id = ?", [.text(id)])
                    return
                }
                try connection.run(
                    "INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values(row))
            }
        }
    }

    /// Removes all notes.
    func removeAll() throws {
        try lock.withLock {
            try connection.transaction {
                try connection.run("DELETE FROM notes")
                try connection.run("DELETE FROM unconfirmed")
            }
        }
    }

    // MARK: A fetch from the start

    /// All notes that the server is to have come into doubt: a fetch from the start tells of those that are there.
    func doubtAll() throws {
        try lock.withLock { _ = try connection.run("INSERT OR IGNORE INTO unconfirmed SELECT id FROM notes") }
    }

    /// The server has the note.
    func confirm(_ id: String) throws {
        try lock.withLock { _ = try connection.run("DELETE FROM unconfirmed WHERE id = ?", [.text(id)]) }
    }

    /// Removes the notes that are still in doubt, but for those that are to be sent: they were deleted.
    func removeDoubtful() throws {
        try lock.withLock {
            try connection.transaction {
                try connection.run(
                    "DELETE FROM notes WHERE id IN (SELECT id FROM unconfirmed) AND revision <= sent_revision")
                try connection.run("DELETE FROM unconfirmed")
            }
        }
    }

    // MARK: The engine's state

    /// What the sync engine wants to have kept; nil: nothing yet.
    func state(_ name: String) throws -> Data? {
        try lock.withLock {
            guard
                case .blob(let data)? = try connection.run("SELECT value FROM state WHERE name = ?", [.text(name)])
                    .first?.first
            else { return nil }
            return data
        }
    }

    func setState(_ name: String, _ data: Data) throws {
        try lock.withLock {
            _ = try connection.run("INSERT OR REPLACE INTO state VALUES (?, ?)", [.text(name), .blob(data)])
        }
    }

    // MARK: Rows

    private static let select =
        "SELECT id, title, text, edited, base_title, base_text, base_edited, system_fields, is_deleted, revision, "
        + "sent_revision, picture, base_picture FROM notes"

    private func found(_ id: String) throws -> NoteRow? {
        try connection.run("\(Self.select) WHERE id = ?", [.text(id)]).first.map(row)
    }

    private func row(_ values: [SQLiteValue]) throws -> NoteRow {
        guard values.count == 13, case .text(let id) = values[0], case .text(let title) = values[1],
            case .text(let text) = values[2], case .real(let edited) = values[3],
            case .integer(let isDeleted) = values[8], case .integer(let revision) = values[9],
            case .integer(let sent) = values[10]
        else { throw SQLiteError(description: "a row of the notes can't be read") }
        var row = NoteRow(
            note: Note(
                id: id, title: title, text: text, picture: url(values[11]),
                edited: Date(timeIntervalSinceReferenceDate: edited)))
        if case .text(let title) = values[4], case .text(let text) = values[5], case .real(let edited) = values[6] {
            row.base = Note(
                id: id, title: title, text: text, picture: url(values[12]),
                edited: Date(timeIntervalSinceReferenceDate: edited))
        }
        if case .blob(let data) = values[7] { row.systemFields = data }
        row.isDeleted = isDeleted != 0
        row.revision = revision
        row.sentRevision = sent
        return row
    }

    private func values(_ row: NoteRow) -> [SQLiteValue] {
        let base: [SQLiteValue] =
            row.base.map { [.text($0.title), .text($0.text), .real($0.edited.timeIntervalSinceReferenceDate)] }
            ?? [.null, .null, .null]
        return [
            .text(row.note.id), .text(row.note.title), .text(row.note.text),
            .real(row.note.edited.timeIntervalSinceReferenceDate),
        ] + base + [
            row.systemFields.map { .blob($0) } ?? .null, .integer(row.isDeleted ? 1 : 0), .integer(row.revision),
            .integer(row.sentRevision), value(row.note.picture), value(row.base?.picture),
        ]
    }
}
