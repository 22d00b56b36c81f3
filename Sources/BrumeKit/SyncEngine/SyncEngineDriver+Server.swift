internal import BrumeModel
internal import Foundation

/// What the engine asks of the server, and what it hears from it.
extension SyncEngineDriver {
    /// Asks for the account that was found last, and for no other: what began for one user never reaches another one's
    /// database.
    func answer(_ request: SyncEngineRequest) async -> SyncEngineAnswer {
        let database: CKDatabase
        if case .account = request { database = bindToAccount() } else { database = boundDatabase }
        let named = database.configuredWith(group: read { $0.operationGroup }) { (database: CKDatabase) in database }
        let answer = await self.answer(request, named)
        if database.core.account.isEnded { handle { machine, now in machine.accountMayHaveChanged(now: now) } }
        return answer
    }

    private func answer(_ request: SyncEngineRequest, _ database: CKDatabase) async -> SyncEngineAnswer {
        switch request {
        case .account: return .account(await result { try await database.core.currentUserRecordName() })
        case .subscription: return .subscription(await result { try await findOrMakeSubscription(database) })
        case .databaseChanges(let token):
            return .databaseChanges(
                await result {
                    let page = try await database.databaseChanges(
                        since: token, resultsLimit: nil, database.callOptions)
                    return SyncEngineAnswer.DatabasePage(
                        earlierDeletions: page.earlierDeletions, modifications: page.modifications,
                        deletions: page.deletions, token: page.changeToken, moreComing: page.moreComing)
                })
        case .zoneChanges(let zoneID, let token):
            return .zoneChanges(
                await result {
                    // As the server has them, oldest first.
                    let page = try await database.recordZoneChanges(
                        in: zoneID, since: token, desiredKeys: nil, resultsLimit: nil, database.callOptions)
                    return SyncEngineAnswer.ZonePage(
                        modifications: page.records.map { CKDatabase.RecordZoneChange.Modification(record: $0) },
                        deletions: page.deletions, token: page.changeToken, moreComing: page.moreComing)
                })
        case .deletionReasons(let zoneIDs):
            return .deletionReasons(await result { try await deletionReasons(of: zoneIDs, database) })
        case .firstFetchTokens(let zoneIDs):
            return .firstFetchTokens(
                await result {
                    let zones = try await database.recordZones(for: zoneIDs, database.callOptions)
                    // Where there are several owners, some zones may have to be asked for again.
                    for case .failure(let error as CKError) in zones.values where error.isTransient { throw error }
                    return zones.compactMapValues { try? $0.get().firstFetchToken }
                })
        case .assetFiles(let batch): return .assetFiles(AssetUpload.files(of: batch))
        case .modifyZones(let saves, let deletions): return .modifyZones(await modify(saves, deletions, database))
        case .modifyRecords(let batch): return .modifyRecords(await modify(batch, database))
        }
    }

    /// Why zones are gone, of which an answer says that.
    private func deletionReasons(
        of zoneIDs: [CKRecordZone.ID], _ database: CKDatabase
    ) async throws -> [CKRecordZone.ID: CKDatabase.DatabaseChange.Deletion.Reason] {
        var reasons: [CKRecordZone.ID: CKDatabase.DatabaseChange.Deletion.Reason] = [:]
        for part in zoneIDs.inParts(of: Limits.itemsPerRequest) {
            for (id, result) in try await database.recordZones(for: part, database.callOptions) {
                guard case .failure(let error as CKError) = result else { continue }
                if error.isTransient { throw error }
                if error.code == .userDeletedZone { reasons[id] = .purged }
                if error.userInfo[CKErrorUserDidResetEncryptedDataKey] != nil { reasons[id] = .encryptedDataReset }
            }
        }
        return reasons
    }

    /// Uploads files of a record of a zone, to the database of the account that the record is of.
    func upload(
        _ files: [AssetUpload], to zoneID: CKRecordZone.ID, atATime limit: Int, _ database: CKDatabase
    ) async -> Result<[URL: UploadedFile], CKError> {
        let database = database.configuredWith(group: read { $0.operationGroup }) { (database: CKDatabase) in
            database
        }
        let (uploads, failure) = await outcomes(of: files, atATime: limit, endingAt: { _ in true }) {
            (file) throws(CKError) -> UploadedFile in
            try await database.uploadedFile(file.url, to: zoneID)
        }
        if database.core.account.isEnded { handle { machine, now in machine.accountMayHaveChanged(now: now) } }
        if let failure { return .failure(failure) }
        var assets: [URL: UploadedFile] = [:]
        for (file, upload) in zip(files, uploads) { assets[file.url] = try? upload?.get() }
        return .success(assets)
    }

    private func result<Value>(_ body: () async throws -> Value) async -> Result<Value, CKError> {
        do {
            return .success(try await body())
        } catch {
            return .failure(CKError(any: error))
        }
    }

    /// The name of the subscription that engines make: one for all of a user's devices, in each database.
    private static let ownSubscriptionID = "CKSyncEngine"

    private func findOrMakeSubscription(_ database: CKDatabase) async throws {
        if let subscriptionID {
            if try await isThere(subscriptionID, database) { return }
        } else {
            let isThere = try await database.allSubscriptions().contains {
                // One for a single type of records does not tell of the others.
                ($0 as? CKDatabaseSubscription).map { $0.recordType == nil } ?? false
            }
            if isThere { return }
        }
        let subscription = CKDatabaseSubscription(subscriptionID: subscriptionID ?? Self.ownSubscriptionID)
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        try await database.save(subscription)
    }

    private func isThere(_ id: CKSubscription.ID, _ database: CKDatabase) async throws -> Bool {
        do {
            return try await database.subscription(for: id) is CKDatabaseSubscription
        } catch CKError.unknownItem {
            return false
        }
    }

    func push(_ event: NotificationEvent, currentUser: String?) -> SyncEngineStateMachine.Push? {
        // The device's one stream tells of all databases.
        let isShared = database.databaseScope == .shared
        switch event.kind {
        case .ready: return .opened
        case .databaseChanged(let scope), .fetchFromToken(let scope):
            return scope == (isShared ? .shared : .private) ? .databaseChanged : nil
        case .zoneChanged(let zone):
            // Zone subscriptions exist in private databases alone.
            return isShared ? nil : CKRecordZone.ID(zone, currentUser: currentUser).map { .zoneChanged($0) }
        case .recordChanged, .unknown: return nil
        }
    }
}

extension ContainerCore {
    /// The user record's name; nil when there is no account, or the server does not take it any more.
    fileprivate func currentUserRecordName() async throws(CKError) -> String? {
        let account = account
        guard account.configuration.token != nil else { return nil }
        do throws(CKError) {
            guard let name = try await account.welcome().userRecordName else { return nil }
            guard CKRecord.ID.problem(withName: name) == nil else {
                throw CKError.malformedResponse("it names a user record that no record can be")
            }
            return name
        } catch {
            // One that was switched meanwhile says nothing of the next.
            if error.code == .notAuthenticated, !account.isEnded { return nil }
            throw error
        }
    }
}

extension CKError {
    /// The error as one of this framework's; others have no business here.
    init(any error: any Error) {
        self =
            error as? CKError
            ?? (error is CancellationError
                ? CKError(.operationCancelled) : CKError(.internalError, message: "\(error)"))
    }
}

extension Result where Failure == any Error {
    var typed: Result<Success, CKError> { mapError { CKError(any: $0) } }
}
