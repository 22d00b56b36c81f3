internal import Foundation

/// A note in the database, with what its sync needs to know.
struct NoteRow {
    var note: Note
    /// What the server had when it and this device agreed last; nil: the server has never had it.
    var base: Note?
    /// The record's system fields, archived: its version on the server.
    var systemFields: Data?
    /// The user deleted it; the row stays until the server knows.
    var isDeleted = false
    /// Counts the edits of this device.
    var revision: Int64 = 0
    /// The last of them that the server has.
    var sentRevision: Int64 = 0

    /// Whether the server has to hear of it.
    var isPending: Bool { revision > sentRevision }
}
