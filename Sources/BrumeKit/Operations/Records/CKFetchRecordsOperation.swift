/// Fetches records by id, 400 at most.
///
/// ``CKDatabase/records(for:desiredKeys:)`` as an operation, with the same rules. See ``CKOperation`` for the order of
/// the blocks.
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Parameters {
        var recordIDs: [CKRecord.ID]?
        var desiredKeys: [CKRecord.FieldKey]?
        var progress: ((CKRecord.ID, Double) -> Void)?
        var fetched: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var completed: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
        var allCompleted: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?
        var isForCurrentUser = false
    }

    private let parameters = Guarded(Parameters())

    /// An operation that fetches the given records.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        parameters.recordIDs = recordIDs
    }

    /// An operation that fetches the current user's own record, whose type is `Users`, under the id that
    /// ``CKContainer/userRecordID()`` gives.
    ///
    /// Without an account it fails with `notAuthenticated`.
    public class func fetchCurrentUserRecordOperation() -> Self {
        let operation = Self()
        operation.isForCurrentUser = true
        return operation
    }

    private var isForCurrentUser: Bool {
        get { parameters.isForCurrentUser }
        set { parameters.isForCurrentUser = newValue }
    }

    /// The ids of the records to fetch.
    public var recordIDs: [CKRecord.ID]? {
        get { parameters.recordIDs }
        set { parameters.recordIDs = newValue }
    }

    /// The fields to fetch; nil for all.
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { parameters.desiredKeys }
        set { parameters.desiredKeys = newValue }
    }

    /// Called while the contents of a record's assets are downloaded, with the share of them that has come, in
    /// hundredths; and with 1.0 when the record is fetched, before its own block.
    ///
    /// A record without assets comes whole: there is nothing before 1.0.
    public var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)? {
        get { parameters.progress }
        set { parameters.progress = newValue }
    }

    /// Called once for each record.
    public var perRecordResultBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)? {
        get { parameters.fetched }
        set { parameters.fetched = newValue }
    }

    /// Called last.
    public var fetchRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called once for each record.
    @available(*, deprecated, message: "Use perRecordResultBlock")
    public var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
        get { parameters.completed }
        set { parameters.completed = newValue }
    }

    /// Called last, with the records that were fetched, which are nil when the operation failed as a whole.
    @available(*, deprecated, message: "Use fetchRecordsResultBlock")
    public var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? {
        get { parameters.allCompleted }
        set { parameters.allCompleted = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let desiredKeys = parameters.desiredKeys
        let database = run.database(of: self)
        var ids = withoutRepetitions(parameters.recordIDs ?? [])
        var fetched: [CKRecord.ID: CKRecord] = [:]
        var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
        let progress = TransferProgress(parameters.progress)
        let failure = await run.attempt { () throws(CKError) in
            if isForCurrentUser { ids = [try await database.core.userRecordID(run.options)] }
            try await database.fetch(ids, desiredKeys: desiredKeys, run.options, progress) { results[$0] = $1 }
        }
        var outcomes = ItemOutcomes<CKRecord.ID>(failure: failure)
        for id in ids {
            let result = outcomes.outcome(results[id], of: id)
            if case .success(let record) = result {
                fetched[id] = record
                parameters.progress?(id, 1)
            }
            if let block = parameters.fetched {
                block(id, result)
            } else {
                parameters.completed?(try? result.get(), id, result.error)
            }
        }
        if let block = parameters.ended {
            block(outcomes.result)
        } else {
            parameters.allCompleted?(failure == nil || !fetched.isEmpty ? fetched : nil, outcomes.error)
        }
    }
}
