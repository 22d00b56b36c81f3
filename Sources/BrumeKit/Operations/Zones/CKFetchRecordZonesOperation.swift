/// Fetches zones by id, or all of a database.
///
/// See ``CKOperation`` for the order of the blocks.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private let parameters = Guarded(ItemFetch<CKRecordZone.ID, CKRecordZone>())

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
        await parameters.fetch(
            run, id: \.zoneID,
            all: { () throws(CKError) in try await database.allRecordZones(run.options) },
            some: { (ids) throws(CKError) in try await database.recordZones(for: ids, run.options) })
    }
}
