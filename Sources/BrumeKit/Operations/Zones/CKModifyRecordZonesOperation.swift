/// Makes and deletes zones of a private database in one request.
///
/// See ``CKOperation`` for the order of the blocks.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Parameters {
        var saves: [CKRecordZone]?
        var deletions: [CKRecordZone.ID]?
        var saved: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
        var deleted: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var allCompleted: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that saves and deletes the given zones.
    public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
        self.init()
        parameters.saves = recordZonesToSave
        parameters.deletions = recordZoneIDsToDelete
    }

    /// The zones to save.
    public var recordZonesToSave: [CKRecordZone]? {
        get { parameters.saves }
        set { parameters.saves = newValue }
    }

    /// The ids of the zones to delete.
    public var recordZoneIDsToDelete: [CKRecordZone.ID]? {
        get { parameters.deletions }
        set { parameters.deletions = newValue }
    }

    /// Called once for each zone to save, with the zone as the server has it now.
    public var perRecordZoneSaveBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ saveResult: Result<CKRecordZone, any Error>) -> Void)?
    {
        get { parameters.saved }
        set { parameters.saved = newValue }
    }

    /// Called once for each zone to delete.
    public var perRecordZoneDeleteBlock:
        ((_ recordZoneID: CKRecordZone.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { parameters.deleted }
        set { parameters.deleted = newValue }
    }

    /// Called last.
    public var modifyRecordZonesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called last, with the zones that were saved and the ids that were deleted, which are nil when the operation failed as a
    /// whole.
    @available(*, deprecated, message: "Use modifyRecordZonesResultBlock")
    public var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? {
        get { parameters.allCompleted }
        set { parameters.allCompleted = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let saves = parameters.saves ?? []
        let deletions = parameters.deletions ?? []
        let database = run.database(of: self)
        var results: CKDatabase.ZoneModificationResults = ([:], [:])
        let failure = await run.attempt { () throws(CKError) in
            results = try await database.modifyRecordZones(saving: saves, deleting: deletions, run.options)
        }
        var outcomes = ItemOutcomes<CKRecordZone.ID>(failure: failure)
        var saved: [CKRecordZone] = []
        var deleted: [CKRecordZone.ID] = []
        for item in saves {
            let result = outcomes.outcome(results.saveResults[item.zoneID], of: item.zoneID)
            if case .success(let made) = result { saved.append(made) }
            parameters.saved?(item.zoneID, result)
        }
        for id in deletions {
            let result = outcomes.outcome(results.deleteResults[id], of: id)
            if case .success = result { deleted.append(id) }
            parameters.deleted?(id, result)
        }
        if let block = parameters.ended {
            block(outcomes.result)
        } else {
            let isWhole = failure == nil
            parameters.allCompleted?(isWhole ? saved : nil, isWhole ? deleted : nil, outcomes.error)
        }
    }
}
