internal import BrumeModel
public import Foundation

/// Saves and deletes records in one request, 400 in all.
///
/// ``CKDatabase/modifyRecords(saving:deleting:savePolicy:atomically:)`` as an operation, with the same rules. See
/// ``CKOperation`` for the order of the blocks.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// What a save compares and sends. Raw values are CloudKit's.
    public enum RecordSavePolicy: Int, Sendable {
        /// Sends the changed fields, and fails with `serverRecordChanged` when the server has another version than the
        /// one that the record came from.
        case ifServerRecordUnchanged = 0
        /// Sends the changed fields, whatever version the server has.
        case changedKeys = 1
        /// Sends all fields that the record holds, whatever version the server has. Fields that only the server has
        /// stay.
        case allKeys = 2

        var modelPolicy: SavePolicy {
            switch self {
            case .ifServerRecordUnchanged: .ifServerRecordUnchanged
            case .changedKeys: .changedKeys
            case .allKeys: .allKeys
            }
        }
    }

    private struct Parameters {
        var recordsToSave: [CKRecord]?
        var recordIDsToDelete: [CKRecord.ID]?
        var savePolicy = RecordSavePolicy.ifServerRecordUnchanged
        var isAtomic = true
        var clientChangeTokenData: Data?
        var progress: ((CKRecord, Double) -> Void)?
        var saved: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var deleted: ((CKRecord.ID, Result<Void, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var completed: ((CKRecord, (any Error)?) -> Void)?
        var allCompleted: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that saves and deletes the given records.
    public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) {
        self.init()
        parameters.recordsToSave = recordsToSave
        parameters.recordIDsToDelete = recordIDsToDelete
    }

    /// The records to save. What they hold when the operation starts is saved; they take over the saved versions.
    public var recordsToSave: [CKRecord]? {
        get { parameters.recordsToSave }
        set { parameters.recordsToSave = newValue }
    }

    /// The ids of the records to delete.
    public var recordIDsToDelete: [CKRecord.ID]? {
        get { parameters.recordIDsToDelete }
        set { parameters.recordIDsToDelete = newValue }
    }

    /// What the saves compare and send.
    public var savePolicy: RecordSavePolicy {
        get { parameters.savePolicy }
        set { parameters.savePolicy = newValue }
    }

    /// Whether all of a custom zone's records are saved and deleted, or none is; true unless set.
    public var isAtomic: Bool {
        get { parameters.isAtomic }
        set { parameters.isAtomic = newValue }
    }

    /// Data of the app's own, 1,024 bytes at most, which this device gets back with the next fetch of the zones'
    /// changes: if they are those that it gave last, the server has the changes that went with them, also when the
    /// answer to these was lost.
    ///
    /// Each custom zone keeps them when at least one of its records was saved or deleted; the default zone has no
    /// changes to fetch. Nil and empty data leave what the zone has. A zone keeps those of 16 devices: of more, the one
    /// whose data changed longest ago gets nil. More than 1,024 bytes fail the operation with `invalidArguments`.
    public var clientChangeTokenData: Data? {
        get { parameters.clientChangeTokenData }
        set { parameters.clientChangeTokenData = newValue }
    }

    /// Called while the files of a record's assets are uploaded, with the share of them that was sent, in hundredths;
    /// and with 1.0 when the record is saved, before its own block.
    ///
    /// A record without files is sent whole: there is nothing before 1.0.
    public var perRecordProgressBlock: ((CKRecord, Double) -> Void)? {
        get { parameters.progress }
        set { parameters.progress = newValue }
    }

    /// Called once for each record to save, with the record as the server has it now.
    public var perRecordSaveBlock: ((_ recordID: CKRecord.ID, _ saveResult: Result<CKRecord, any Error>) -> Void)? {
        get { parameters.saved }
        set { parameters.saved = newValue }
    }

    /// Called once for each record to delete.
    public var perRecordDeleteBlock: ((_ recordID: CKRecord.ID, _ deleteResult: Result<Void, any Error>) -> Void)? {
        get { parameters.deleted }
        set { parameters.deleted = newValue }
    }

    /// Called last.
    public var modifyRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called once for each record to save, with the instance that was given.
    @available(*, deprecated, message: "Use perRecordSaveBlock")
    public var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? {
        get { parameters.completed }
        set { parameters.completed = newValue }
    }

    /// Called last, with the instances that were saved and the ids that were deleted, which are nil when the operation
    /// failed as a whole.
    @available(*, deprecated, message: "Use modifyRecordsResultBlock")
    public var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)? {
        get { parameters.allCompleted }
        set { parameters.allCompleted = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let records = parameters.recordsToSave ?? []
        let deletions = parameters.recordIDsToDelete ?? []
        let (savePolicy, isAtomic) = (parameters.savePolicy, parameters.isAtomic)
        let clientToken = parameters.clientChangeTokenData
        let database = run.database(of: self)
        var results: CKDatabase.RecordModificationResults = ([:], [:])
        let block = parameters.progress
        let instances = Dictionary(records.map { ($0.recordID, $0) }) { first, _ in first }
        let progress = TransferProgress(
            block.map { block in { id, fraction in if let record = instances[id] { block(record, fraction) } } })
        let failure = await run.attempt { () throws(CKError) in
            let modification = try database.modification(
                saving: records, deleting: deletions, savePolicy: savePolicy, atomically: isAtomic,
                clientChangeTokenData: clientToken)
            results = try await database.send(modification, run.options, progress)
        }
        var outcomes = ItemOutcomes<CKRecord.ID>(failure: failure)
        var saved: [CKRecord] = []
        var deleted: [CKRecord.ID] = []
        for record in records {
            let result = outcomes.outcome(results.saveResults[record.recordID], of: record.recordID)
            if case .success = result {
                saved.append(record)
                parameters.progress?(record, 1)
            }
            if let block = parameters.saved {
                block(record.recordID, result)
            } else {
                parameters.completed?(record, result.error)
            }
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
