/// Fetches zones by id, or all of a database.
///
/// See ``CKOperation`` for the order of the blocks.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Parameters {
        var ids: [CKRecordZone.ID]?
        var isForAll = false
        var fetched: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var allCompleted: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that fetches the given zones.
    public convenience init(recordZoneIDs: [CKRecordZone.ID]) {
        self.init()
        parameters.ids = recordZoneIDs
    }

    /// An operation that fetches all zones of the database, the default zone first.
    public class func fetchAllRecordZonesOperation() -> Self {
        let operation = Self()
        operation.isForAll = true
        return operation
    }

    private var isForAll: Bool {
        get { parameters.isForAll }
        set { parameters.isForAll = newValue }
    }

    /// The ids of the zones to fetch.
    public var recordZoneIDs: [CKRecordZone.ID]? {
        get { parameters.ids }
        set { parameters.ids = newValue }
    }

    /// Called once for each zone.
    public var perRecordZoneResultBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ recordZoneResult: Result<CKRecordZone, any Error>) -> Void)?
    {
        get { parameters.fetched }
        set { parameters.fetched = newValue }
    }

    /// Called last.
    public var fetchRecordZonesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called last, with the zones that were fetched, which are nil when the operation failed as a whole.
    @available(*, deprecated, message: "Use fetchRecordZonesResultBlock")
    public var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)? {
        get { parameters.allCompleted }
        set { parameters.allCompleted = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let database = run.database(of: self)
        var ids = withoutRepetitions(parameters.ids ?? [])
        var results: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        let failure = await run.attempt { () throws(CKError) in
            if isForAll {
                let all = try await database.allRecordZones(run.options)
                ids = all.map(\.zoneID)
                for found in all { results[found.zoneID] = .success(found) }
            } else {
                results = try await database.recordZones(for: ids, run.options)
            }
        }
        var outcomes = ItemOutcomes<CKRecordZone.ID>(failure: failure)
        var fetched: [CKRecordZone.ID: CKRecordZone] = [:]
        for id in ids {
            let result = outcomes.outcome(results[id], of: id)
            if case .success(let found) = result { fetched[id] = found }
            parameters.fetched?(id, result)
        }
        if let block = parameters.ended {
            block(outcomes.result)
        } else {
            parameters.allCompleted?(failure == nil ? fetched : nil, outcomes.error)
        }
    }
}
