/// Tells that something in a database changed: fetch the database's changes to learn which zones.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    // Sendable: adds nothing.

    /// The database's scope.
    public var databaseScope: CKDatabaseScope {
        switch content.kind {
        case .recordZone(_, let scope), .database(let scope): scope
        case .query(let query): query.scope
        }
    }
}
