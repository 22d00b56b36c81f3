internal import BrumeModel
internal import Foundation

/// Tells that a record fired a query subscription.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {
    // Sendable: adds nothing.

    /// What happened to a record. Raw values are CloudKit's.
    public enum Reason: Int, Sendable {
        /// It was made.
        case recordCreated = 1
        /// It was changed.
        case recordUpdated = 2
        /// It was deleted.
        case recordDeleted = 3
    }

    private var query: CKNotificationContent.Query {
        guard case .query(let query) = content.kind else {
            preconditionFailure("a query notification is made of a query's content")
        }
        return query
    }

    /// What happened to the record.
    public var queryNotificationReason: Reason { query.reason }

    /// The values of the subscription's `desiredKeys` as of the change, keys without a value left out. Nil when the
    /// subscription asks for none, and for a deletion.
    ///
    /// Of a text there are the first 100 characters, and lists and data are left out: ``CKNotification/isPruned`` says
    /// so.
    public var recordFields: [String: Any]? {
        guard let fields = query.fields else { return nil }
        let zoneID = query.recordID?.zoneID ?? .default
        return fields.mapValues { $0.recordValue(in: zoneID) }
    }

    /// The record.
    public var recordID: CKRecord.ID? { query.recordID }

    /// The scope of the record's database.
    public var databaseScope: CKDatabaseScope { query.scope }
}
