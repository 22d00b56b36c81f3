public import Foundation

/// Fetches what changed in custom zones of a private database, or zones of the shared one, one zone after the other,
/// in pages.
///
/// For each page the blocks of its records come first, oldest change first, then those of its deletions, then
/// ``recordZoneChangeTokensUpdatedBlock`` with the token that stands behind them: whoever keeps that token never gets
/// those again, and misses nothing. ``recordZoneFetchResultBlock`` ends each zone. A zone that fails, with
/// `changeTokenExpired` or `zoneNotFound` for example, keeps no other zone from being fetched. See ``CKOperation`` for
/// the rest.
///
/// A block that cancels the operation gets no further record: fetch from the latest token.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// How the fetch of a zone ended.
    public typealias ZoneResult = Result<
        (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error
    >

    struct Parameters {
        var zoneIDs: [CKRecordZone.ID]?
        var configurations: [CKRecordZone.ID: ZoneConfiguration]?
        var fetchesAll = true
        var changed: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
        var deleted: ((CKRecord.ID, CKRecord.RecordType) -> Void)?
        var advanced: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
        var zoneEnded: ((CKRecordZone.ID, ZoneResult) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var recordChanged: ((CKRecord) -> Void)?
        var zoneCompleted: ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
        var allCompleted: (((any Error)?) -> Void)?
    }

    let parameters = Guarded(Parameters())

    /// An operation that fetches the changes of the given zones.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init()
        parameters.zoneIDs = recordZoneIDs
        parameters.configurations = configurationsByRecordZoneID
    }

    /// An operation that fetches the changes of the given zones.
    @available(*, deprecated, message: "Use init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
    ) {
        self.init(recordZoneIDs: recordZoneIDs, configurationsByRecordZoneID: optionsByRecordZoneID)
    }

    /// The zones, in the order in which they are fetched.
    public var recordZoneIDs: [CKRecordZone.ID]? {
        get { parameters.zoneIDs }
        set { parameters.zoneIDs = newValue }
    }

    /// What to fetch of a zone; of one without a configuration, everything. Zones that are here but not in
    /// ``recordZoneIDs`` are not fetched.
    public var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? {
        get { parameters.configurations }
        set { parameters.configurations = newValue }
    }

    /// The earlier name of ``configurationsByRecordZoneID``.
    @available(*, deprecated, renamed: "configurationsByRecordZoneID")
    public var optionsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? {
        get { parameters.configurations }
        set { parameters.configurations = newValue }
    }

    /// Whether all pages of each zone are fetched; true unless set. If false, one page is, and the zone's result says
    /// whether more is coming.
    public var fetchAllChanges: Bool {
        get { parameters.fetchesAll }
        set { parameters.fetchesAll = newValue }
    }

    /// Called once for each record that is new or changed.
    public var recordWasChangedBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    {
        get { parameters.changed }
        set { parameters.changed = newValue }
    }

    /// Called once for each record that is gone.
    public var recordWithIDWasDeletedBlock: ((CKRecord.ID, CKRecord.RecordType) -> Void)? {
        get { parameters.deleted }
        set { parameters.deleted = newValue }
    }

    /// Called behind each page with the token that it led to, and with the
    /// ``CKModifyRecordsOperation/clientChangeTokenData`` that this device gave last with changes of the zone which the
    /// server has, be they in this page or in a later one; nil when it never did.
    public var recordZoneChangeTokensUpdatedBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)? {
        get { parameters.advanced }
        set { parameters.advanced = newValue }
    }

    /// Called once for each zone, behind its records, with what ``recordZoneChangeTokensUpdatedBlock`` had last.
    public var recordZoneFetchResultBlock:
        (
            (
                _ recordZoneID: CKRecordZone.ID,
                _ fetchChangesResult: Result<
                    (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error
                >
            ) -> Void
        )?
    {
        get { parameters.zoneEnded }
        set { parameters.zoneEnded = newValue }
    }

    /// Called last.
    public var fetchRecordZoneChangesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called once for each record that is new or changed.
    @available(*, deprecated, message: "Use recordWasChangedBlock")
    public var recordChangedBlock: ((CKRecord) -> Void)? {
        get { parameters.recordChanged }
        set { parameters.recordChanged = newValue }
    }

    /// Called once for each zone, behind its records.
    @available(*, deprecated, message: "Use recordZoneFetchResultBlock")
    public var recordZoneFetchCompletionBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    {
        get { parameters.zoneCompleted }
        set { parameters.zoneCompleted = newValue }
    }

    /// Called last.
    @available(*, deprecated, message: "Use fetchRecordZoneChangesResultBlock")
    public var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)? {
        get { parameters.allCompleted }
        set { parameters.allCompleted = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let zoneIDs = withoutRepetitions(parameters.zoneIDs ?? [])
        let configurations = (parameters.configurations ?? [:]).mapValues { $0.values.current }
        let database = run.database(of: self)
        var failure: CKError?
        var outcomes: [(CKRecordZone.ID, CKError)] = []
        for zoneID in zoneIDs {
            var token = configurations[zoneID]?.previousServerChangeToken
            var clientToken: Data?
            var moreComing = false
            // When the whole operation failed, the zones that are left are told so.
            let zoneFailure: CKError?
            if let failure {
                zoneFailure = failure
            } else {
                zoneFailure = await run.attempt { () throws(CKError) in
                    repeat {
                        let page = try await database.recordZoneChanges(
                            in: zoneID, since: token, desiredKeys: configurations[zoneID]?.desiredKeys,
                            resultsLimit: configurations[zoneID]?.resultsLimit, run.options)
                        try tell(page, of: zoneID, run)
                        (token, clientToken, moreComing) = (
                            page.changeToken, page.clientChangeTokenData, page.moreComing
                        )
                    } while moreComing && parameters.fetchesAll
                }
            }
            if let zoneFailure {
                if !zoneFailure.isOfOneZone { failure = failure ?? zoneFailure }
                outcomes.append((zoneID, zoneFailure))
            }
            ended(zoneID, token, clientToken, moreComing, zoneFailure)
        }
        // Without zones there was nobody to find out.
        if zoneIDs.isEmpty { failure = await run.attempt { () throws(CKError) in } }
        if let block = parameters.ended {
            block(failure.map { .failure($0) } ?? .success(()))
        } else {
            let partial = outcomes.isEmpty ? nil : CKError.partialFailure(Dictionary(uniqueKeysWithValues: outcomes))
            parameters.allCompleted?(failure ?? partial)
        }
    }

    private func tell(
        _ page: CKDatabase.RecordZoneChangePage, of zoneID: CKRecordZone.ID, _ run: OperationRun
    ) throws(CKError) {
        for record in page.records {
            try run.check()
            if let block = parameters.changed {
                block(record.recordID, page.failures[record.recordID].map { .failure($0) } ?? .success(record))
            } else {
                parameters.recordChanged?(record)
            }
        }
        for deletion in page.deletions {
            try run.check()
            parameters.deleted?(deletion.recordID, deletion.recordType)
        }
        try run.check()
        parameters.advanced?(zoneID, page.changeToken, page.clientChangeTokenData)
    }

    /// The zone's last block. A failure comes with the token of the last page that was told.
    private func ended(
        _ zoneID: CKRecordZone.ID, _ token: CKServerChangeToken?, _ clientToken: Data?, _ moreComing: Bool,
        _ failure: CKError?
    ) {
        if let block = parameters.zoneEnded {
            let result: ZoneResult
            if let failure {
                result = .failure(failure)
            } else {
                // There was a page, so there is a token.
                result = .success((token!, clientToken, moreComing))
            }
            block(zoneID, result)
        } else {
            parameters.zoneCompleted?(zoneID, token, clientToken, moreComing, failure)
        }
    }
}

extension CKError {
    /// Whether the error says something of the zone that was asked for, and nothing of the server, the account or the
    /// network.
    fileprivate var isOfOneZone: Bool {
        switch code {
        case .zoneNotFound, .userDeletedZone, .changeTokenExpired, .invalidArguments, .permissionFailure, .unknownItem,
            .zoneBusy:
            true
        default: false
        }
    }
}
