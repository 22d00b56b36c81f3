/// Makes and deletes zones of a private database, and leaves zones of the shared one.
///
/// See ``CKOperation`` for the order of the blocks.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    private let parameters = Guarded(ItemModification<CKRecordZone.ID, CKRecordZone>())

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

    /// Called last, with the zones that were saved and the ids that were deleted, which are nil when the operation
    /// failed as a whole.
    @available(*, deprecated, message: "Use modifyRecordZonesResultBlock")
    public var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? {
        get { parameters.allCompleted }
        set { parameters.allCompleted = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let database = run.database(of: self)
        await parameters.modify(run, id: \.zoneID) { (saves, deletions) throws(CKError) in
            try await database.modifyRecordZones(saving: saves, deleting: deletions, run.options)
        }
    }
}
