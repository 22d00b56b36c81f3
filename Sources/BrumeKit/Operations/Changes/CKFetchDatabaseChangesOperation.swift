/// Fetches which zones of a private or shared database changed, came or went, in pages.
///
/// For each page the blocks of its zones come first, then ``changeTokenUpdatedBlock`` with the token that stands behind
/// them. Of a zone that was deleted and made again the deletion is told before the change. The default zone never
/// appears. See ``CKOperation`` for the rest.
///
/// A block that cancels the operation gets no further zone: fetch from the latest token.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Parameters {
        var previousServerChangeToken: CKServerChangeToken?
        var resultsLimit = 0
        var fetchesAll = true
        var changed: ((CKRecordZone.ID) -> Void)?
        var deleted: ((CKRecordZone.ID) -> Void)?
        var purged: ((CKRecordZone.ID) -> Void)?
        var encryptedDataReset: ((CKRecordZone.ID) -> Void)?
        var advanced: ((CKServerChangeToken) -> Void)?
        var ended: ((Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
        var completed: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that fetches what happened since the given token; with nil, all zones.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        parameters.previousServerChangeToken = previousServerChangeToken
    }

    /// Where the fetch before ended; nil for all zones.
    public var previousServerChangeToken: CKServerChangeToken? {
        get { parameters.previousServerChangeToken }
        set { parameters.previousServerChangeToken = newValue }
    }

    /// The most zones in a page; 0, the default, leaves it to the server.
    public var resultsLimit: Int {
        get { parameters.resultsLimit }
        set { parameters.resultsLimit = newValue }
    }

    /// Whether all pages are fetched; true unless set. If false, one page is, and the result says whether more is
    /// coming.
    public var fetchAllChanges: Bool {
        get { parameters.fetchesAll }
        set { parameters.fetchesAll = newValue }
    }

    /// Called for each zone that is new or in which something changed.
    public var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)? {
        get { parameters.changed }
        set { parameters.changed = newValue }
    }

    /// Called for each zone that an app deleted; also for the others that are gone, where the block for their reason is
    /// not set.
    public var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)? {
        get { parameters.deleted }
        set { parameters.deleted = newValue }
    }

    /// Called for each zone that is gone because the user removed the app's data. Don't upload them again without
    /// asking.
    public var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)? {
        get { parameters.purged }
        set { parameters.purged = newValue }
    }

    /// Called for each zone that is gone because the user reset the encrypted data.
    public var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: ((CKRecordZone.ID) -> Void)? {
        get { parameters.encryptedDataReset }
        set { parameters.encryptedDataReset = newValue }
    }

    /// Called behind each page with the token that it led to.
    public var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)? {
        get { parameters.advanced }
        set { parameters.advanced = newValue }
    }

    /// Called last.
    public var fetchDatabaseChangesResultBlock:
        (
            (
                _ fetchChangesResult: Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>
            ) -> Void
        )?
    {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called last; on failure with the token of the last page that was told.
    @available(*, deprecated, message: "Use fetchDatabaseChangesResultBlock")
    public var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)? {
        get { parameters.completed }
        set { parameters.completed = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let database = run.database(of: self)
        let resultsLimit = parameters.resultsLimit
        var token = parameters.previousServerChangeToken
        var moreComing = false
        let failure = await run.attempt { () throws(CKError) in
            repeat {
                let page = try await database.databaseChanges(since: token, resultsLimit: resultsLimit, run.options)
                try tell(page, run)
                (token, moreComing) = (page.changeToken, page.moreComing)
            } while moreComing && parameters.fetchesAll
        }
        if let block = parameters.ended {
            if let failure {
                block(.failure(failure))
            } else {
                // There was a page, so there is a token.
                block(.success((token!, moreComing)))
            }
        } else {
            parameters.completed?(token, moreComing, failure)
        }
    }

    private func tell(_ page: CKDatabase.DatabaseChangePage, _ run: OperationRun) throws(CKError) {
        try tell(page.earlierDeletions, run)
        for modification in page.modifications {
            try run.check()
            parameters.changed?(modification.zoneID)
        }
        try tell(page.deletions, run)
        try run.check()
        parameters.advanced?(page.changeToken)
    }

    private func tell(_ deletions: [CKDatabase.DatabaseChange.Deletion], _ run: OperationRun) throws(CKError) {
        for deletion in deletions {
            try run.check()
            let parameters = parameters.current
            let block =
                switch deletion.reason {
                case .deleted: parameters.deleted
                case .purged: parameters.purged ?? parameters.deleted
                case .encryptedDataReset: parameters.encryptedDataReset ?? parameters.deleted
                }
            block?(deletion.zoneID)
        }
    }
}
