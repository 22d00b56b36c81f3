/// Which of a container's databases: `CKDatabase.Scope`. Raw values are CloudKit's.
public enum CKDatabaseScope: Int, Sendable {
    /// Shared by all users of the app.
    case `public` = 1
    /// One for each user, read by that user alone.
    case `private` = 2
    /// Zones of other users' private databases.
    case shared = 3
}
