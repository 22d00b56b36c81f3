/// Fetches a page of the records that a query matches, in the query's order.
///
/// ``CKDatabase/records(matching:inZoneWith:desiredKeys:resultsLimit:)`` as an operation, with the same rules; the next
/// page takes another operation with the cursor. See ``CKOperation`` for the order of the blocks.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Where a page of a query's matches ended: what gives the next one.
    public typealias Cursor = CKQueryCursor

    /// As a limit of results: the server decides. It gives 100 matches in a page, fewer where they have more than 1
    /// MiB.
    public static let maximumResults = 0

    private struct Parameters {
        var query: CKQuery?
        var cursor: Cursor?
        var zoneID: CKRecordZone.ID?
        var resultsLimit = CKQueryOperation.maximumResults
        var desiredKeys: [CKRecord.FieldKey]?
        var matched: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var ended: ((Result<Cursor?, any Error>) -> Void)?
        var fetched: ((CKRecord) -> Void)?
        var completed: ((Cursor?, (any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that fetches the first page of a query's matches.
    public convenience init(query: CKQuery) {
        self.init()
        parameters.query = query
    }

    /// An operation that fetches the page behind a cursor.
    public convenience init(cursor: Cursor) {
        self.init()
        parameters.cursor = cursor
    }

    /// What to look for, as it is when the operation starts. Without effect when there is a cursor.
    public var query: CKQuery? {
        get { parameters.query }
        set { parameters.query = newValue }
    }

    /// Where the page before ended.
    public var cursor: Cursor? {
        get { parameters.cursor }
        set { parameters.cursor = newValue }
    }

    /// Where to look; nil for all zones of the database. Without effect when there is a cursor.
    public var zoneID: CKRecordZone.ID? {
        get { parameters.zoneID }
        set { parameters.zoneID = newValue }
    }

    /// The most matches in the page; ``maximumResults`` leaves it to the server.
    public var resultsLimit: Int {
        get { parameters.resultsLimit }
        set { parameters.resultsLimit = newValue }
    }

    /// The fields to fetch; nil for all.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { parameters.desiredKeys }
        set { parameters.desiredKeys = newValue }
    }

    /// Called once for each match, in the query's order.
    public var recordMatchedBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)? {
        get { parameters.matched }
        set { parameters.matched = newValue }
    }

    /// Called last, with the cursor of the next page, or nil behind the last one.
    public var queryResultBlock: ((_ operationResult: Result<Cursor?, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called once for each match, in the query's order.
    @available(*, deprecated, message: "Use recordMatchedBlock")
    public var recordFetchedBlock: ((CKRecord) -> Void)? {
        get { parameters.fetched }
        set { parameters.fetched = newValue }
    }

    /// Called last, with the cursor of the next page, or nil behind the last one.
    @available(*, deprecated, message: "Use queryResultBlock")
    public var queryCompletionBlock: ((Cursor?, (any Error)?) -> Void)? {
        get { parameters.completed }
        set { parameters.completed = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let parameters = parameters.current
        let database = run.database(of: self)
        var page: CKDatabase.MatchPage = ([], nil)
        let failure = await run.attempt { () throws(CKError) in
            if let cursor = parameters.cursor {
                page = try await database.page(
                    database.queryRequest(cursor, parameters.desiredKeys, parameters.resultsLimit), run.options)
            } else if let query = parameters.query {
                page = try await database.page(
                    database.queryRequest(query, parameters.zoneID, parameters.desiredKeys, parameters.resultsLimit),
                    run.options)
            } else {
                throw CKError(
                    .invalidArguments,
                    message: "this CKQueryOperation has neither query nor cursor; give it one of them")
            }
        }
        for (id, result) in page.matchResults {
            if let block = self.parameters.matched {
                block(id, result)
            } else if case .success(let record) = result {
                self.parameters.fetched?(record)
            }
        }
        if let block = self.parameters.ended {
            block(failure.map { .failure($0) } ?? .success(page.queryCursor))
        } else {
            self.parameters.completed?(page.queryCursor, failure)
        }
    }
}
