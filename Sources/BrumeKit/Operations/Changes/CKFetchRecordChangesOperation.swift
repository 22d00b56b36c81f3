public import Foundation

/// Fetches one page of what changed in one zone: the operation that ``CKFetchRecordZoneChangesOperation`` replaced.
///
/// The blocks of the page's records come first, oldest change first, then those of its deletions, then
/// ``fetchRecordChangesCompletionBlock``. Run another operation with its token for as long as ``moreComing`` is true.
/// Both operations take each other's tokens. See ``CKOperation`` for the rest.
@available(*, deprecated, message: "Use CKFetchRecordZoneChangesOperation")
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Parameters {
        var zoneID: CKRecordZone.ID?
        var previousServerChangeToken: CKServerChangeToken?
        var resultsLimit = 0
        var desiredKeys: [CKRecord.FieldKey]?
        var moreComing = false
        var changed: ((CKRecord) -> Void)?
        var deleted: ((CKRecord.ID) -> Void)?
        var completed: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that fetches what happened in a zone since the given token; with nil, all its records.
    public convenience init(recordZoneID: CKRecordZone.ID, previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        parameters.zoneID = recordZoneID
        parameters.previousServerChangeToken = previousServerChangeToken
    }

    /// The zone. Without one the operation fails with `invalidArguments`.
    public var recordZoneID: CKRecordZone.ID? {
        get { parameters.zoneID }
        set { parameters.zoneID = newValue }
    }

    /// Where the fetch before ended; nil for all records that exist.
    public var previousServerChangeToken: CKServerChangeToken? {
        get { parameters.previousServerChangeToken }
        set { parameters.previousServerChangeToken = newValue }
    }

    /// The most changes in the page; 0, the default, leaves it to the server.
    public var resultsLimit: Int {
        get { parameters.resultsLimit }
        set { parameters.resultsLimit = newValue }
    }

    /// The fields to fetch; nil for all.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { parameters.desiredKeys }
        set { parameters.desiredKeys = newValue }
    }

    /// Called once for each record that is new or changed.
    public var recordChangedBlock: ((CKRecord) -> Void)? {
        get { parameters.changed }
        set { parameters.changed = newValue }
    }

    /// Called once for each record that is gone.
    public var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)? {
        get { parameters.deleted }
        set { parameters.deleted = newValue }
    }

    /// Whether the zone has changes after this page. Valid from ``fetchRecordChangesCompletionBlock`` on.
    public var moreComing: Bool { parameters.moreComing }

    /// Called last: with the token for the next operation, and with the
    /// ``CKModifyRecordsOperation/clientChangeTokenData`` that this device gave last. On failure the token is
    /// ``previousServerChangeToken``.
    public var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)? {
        get { parameters.completed }
        set { parameters.completed = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let database = run.database(of: self)
        let given = parameters.current
        var token = given.previousServerChangeToken
        var clientToken: Data?
        let failure = await run.attempt { () throws(CKError) in
            guard let zoneID = given.zoneID else {
                throw CKError(.invalidArguments, message: "the operation has no zone; set its recordZoneID")
            }
            let page = try await database.recordZoneChanges(
                in: zoneID, since: token, desiredKeys: given.desiredKeys, resultsLimit: given.resultsLimit, run.options)
            try tell(page, run)
            (token, clientToken) = (page.changeToken, page.clientChangeTokenData)
            parameters.moreComing = page.moreComing
        }
        given.completed?(token, clientToken, failure)
    }

    private func tell(_ page: CKDatabase.RecordZoneChangePage, _ run: OperationRun) throws(CKError) {
        for record in page.records {
            try run.check()
            parameters.changed?(record)
        }
        for deletion in page.deletions {
            try run.check()
            parameters.deleted?(deletion.recordID)
        }
        try run.check()
    }
}
