/// What the machine asks of the server, one request at a time.
package enum SyncEngineRequest: Sendable {
    /// Who is signed in.
    case account
    /// Find or make the subscription whose pushes tell of changes.
    case subscription
    case databaseChanges(since: CKServerChangeToken?)
    case zoneChanges(CKRecordZone.ID, since: CKServerChangeToken?)
    /// Why zones are gone that no page of changes says that of.
    case deletionReasons([CKRecordZone.ID])
    /// Tokens of zones from which a first fetch goes on.
    case firstFetchTokens([CKRecordZone.ID])
    case modifyZones(saving: [CKRecordZone], deleting: [CKRecordZone.ID])
    /// The files that have to be uploaded before records of a batch can be saved. Asks the device, not the server.
    case assetFiles(CKSyncEngine.RecordZoneChangeBatch)
    case modifyRecords(CKSyncEngine.RecordZoneChangeBatch)
}

/// What came of a request. Of the kind that was asked; another one is a bug and traps.
package enum SyncEngineAnswer: Sendable {
    /// The user's record name; nil when nobody is signed in.
    case account(Result<String?, CKError>)
    case subscription(Result<Void, CKError>)
    case databaseChanges(Result<DatabasePage, CKError>)
    case zoneChanges(Result<ZonePage, CKError>)
    /// Those that are not just ``CKDatabase/DatabaseChange/Deletion/Reason/deleted``.
    case deletionReasons(Result<[CKRecordZone.ID: CKDatabase.DatabaseChange.Deletion.Reason], CKError>)
    /// The tokens by zone; a zone that does not exist has none.
    case firstFetchTokens(Result<[CKRecordZone.ID: CKServerChangeToken], CKError>)
    case modifyZones(Result<ZoneResults, CKError>)
    /// By the records that have any.
    case assetFiles([CKRecord.ID: [AssetUpload]])
    case modifyRecords(Result<RecordResults, CKError>)

    /// One page of changes to zones.
    package struct DatabasePage: Sendable {
        /// Zones that were deleted and whose name another one has now, which is among the modifications of this page or
        /// of a later one.
        package var earlierDeletions: [CKDatabase.DatabaseChange.Deletion]
        package var modifications: [CKDatabase.DatabaseChange.Modification]
        package var deletions: [CKDatabase.DatabaseChange.Deletion]
        package var token: CKServerChangeToken
        package var moreComing: Bool

        package init(
            earlierDeletions: [CKDatabase.DatabaseChange.Deletion] = [],
            modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion],
            token: CKServerChangeToken, moreComing: Bool
        ) {
            self.earlierDeletions = earlierDeletions
            self.modifications = modifications
            self.deletions = deletions
            self.token = token
            self.moreComing = moreComing
        }
    }

    /// One page of a zone's changes.
    package struct ZonePage: Sendable {
        package var modifications: [CKDatabase.RecordZoneChange.Modification]
        package var deletions: [CKDatabase.RecordZoneChange.Deletion]
        package var token: CKServerChangeToken
        package var moreComing: Bool

        package init(
            modifications: [CKDatabase.RecordZoneChange.Modification],
            deletions: [CKDatabase.RecordZoneChange.Deletion],
            token: CKServerChangeToken, moreComing: Bool
        ) {
            self.modifications = modifications
            self.deletions = deletions
            self.token = token
            self.moreComing = moreComing
        }
    }

    package struct ZoneResults: Sendable {
        package var saves: [CKRecordZone.ID: Result<CKRecordZone, CKError>]
        package var deletions: [CKRecordZone.ID: Result<Void, CKError>]

        package init(
            saves: [CKRecordZone.ID: Result<CKRecordZone, CKError>], deletions: [CKRecordZone.ID: Result<Void, CKError>]
        ) {
            self.saves = saves
            self.deletions = deletions
        }
    }

    package struct RecordResults: Sendable {
        package var saves: [CKRecord.ID: Result<CKRecord, CKError>]
        package var deletions: [CKRecord.ID: Result<Void, CKError>]

        package init(
            saves: [CKRecord.ID: Result<CKRecord, CKError>], deletions: [CKRecord.ID: Result<Void, CKError>]
        ) {
            self.saves = saves
            self.deletions = deletions
        }
    }
}

/// What the machine asks of the delegate, one question at a time.
package enum SyncEngineQuestion: Sendable {
    case event(CKSyncEngine.Event)
    case batch(CKSyncEngine.SendChangesContext)
    case fetchOptions(CKSyncEngine.FetchChangesContext)
}

/// What the delegate said. Of the kind that was asked; another one is a bug and traps.
package enum SyncEngineReply: Sendable {
    case handled
    case batch(CKSyncEngine.RecordZoneChangeBatch?)
    case fetchOptions(CKSyncEngine.FetchChangesOptions)
    /// There is no delegate any more.
    case gone
}

extension CKError {
    /// Whether the engine tries again by itself: the errors that pass (Documentation/CloudKit.md, The sync engine, 17),
    /// a cancelled request, and an answer that was lost, whose outcome nobody knows.
    var isTransient: Bool {
        switch code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy, .operationCancelled, .serverResponseLost:
            true
        default: false
        }
    }

    /// Whether it concerns the way to the server and not one item.
    var concernsConnection: Bool {
        if concernsKeys { return false }
        return switch code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .operationCancelled, .serverResponseLost, .serviceUnavailable, .requestRateLimited:
            true
        default: false
        }
    }
}
