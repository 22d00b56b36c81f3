internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRecord
internal import Foundation

/// Saving and deleting records.
extension CKDatabase {
    /// Saves a record that is new, or whose version on the server is the one that this record came from.
    ///
    /// The instance that is passed takes over the saved version, edits made meanwhile excepted.
    ///
    /// - Returns: The record as the server has it now.
    /// - Throws: `serverRecordChanged` with the three versions when the server has another one: merge into
    ///   `serverRecord` and save that. `unknownItem` when the record is gone, `zoneNotFound` when its zone is.
    @discardableResult
    public func save(_ record: CKRecord) async throws -> CKRecord {
        let results = try await modifyRecords(saving: [record], deleting: [], atomically: false)
        guard let result = results.saveResults[record.recordID] else {
            throw CKError.malformedResponse("it holds no result for the record")
        }
        return try result.get()
    }

    /// Deletes a record, whatever its version. For one that does not exist this succeeds.
    ///
    /// - Throws: `referenceViolation` when the record still is another one's parent; `zoneNotFound` when its zone does
    ///   not exist.
    ///
    /// Differs from CloudKit: deleting a record of the public database that the user may neither read nor change does
    /// nothing and succeeds, as if it were not there.
    @discardableResult
    public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        let results = try await modifyRecords(saving: [], deleting: [recordID], atomically: false)
        guard let result = results.deleteResults[recordID] else {
            throw CKError.malformedResponse("it holds no result for the deletion")
        }
        try result.get()
        return recordID
    }

    /// Saves and deletes records in one request, 400 in all; in the shared database in one for each owner.
    ///
    /// What fails for one record is in its result. In a custom zone, with `atomically`, all of the zone's records are
    /// saved and deleted or none is; those that were not the reason have `batchRequestFailed`. Instances that are
    /// passed take over the saved versions, edits made meanwhile excepted. Save a new ``CKShare`` together with its
    /// root record.
    ///
    /// - Throws: What fails the whole request: `limitExceeded` above 400 records or 2 MB, `invalidArguments` for an id
    ///   that comes twice. Not what fails for single records, also with `atomically`: CloudKit's headers have it so,
    ///   where the page of this method says that it throws. Look at the results.
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    ) {
        let modification = try modification(
            saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy, atomically: atomically)
        // Uploads take time, in which the account may be switched.
        return try await boundToAccount.send(modification, callOptions)
    }

    /// What a modification of records comes to.
    typealias RecordModificationResults = (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    )

    /// A modification with what its records hold now.
    struct RecordModification: Sendable {
        /// One request. There is one at most, but in the shared database, where there is one for each owner.
        struct Part: Sendable {
            var zones: [OutgoingZone]
            /// Without its zones, which are not ready before their files are uploaded and their values are encrypted.
            var request: ModifyRecordsRequest<DecodedFields>
        }

        /// The records that an answer shows.
        struct ShownRecords {
            var saved: [(zoneID: CKRecordZone.ID, record: Record)] = []
            /// The versions that the server has instead of what was sent.
            var inTheWay: [(zoneID: CKRecordZone.ID, record: Record)] = []
        }

        private(set) var parts: [Part]
        /// The results of what the server need not be asked about.
        fileprivate let unsent: RecordModificationResults

        fileprivate init(parts: [Part], unsent: RecordModificationResults) {
            self.parts = parts
            self.unsent = unsent
        }

        /// All that is encrypted in the records goes into the shared trees that they are in.
        ///
        /// - Parameters:
        ///   - fetched: The records as the server has them.
        ///   - moved: The records that this device has put below others, by their names.
        ///   - believesStamps: Whether stamps of those trees say of others that they were put there.
        mutating func encryptAnew(_ fetched: [String: Record], moved: [String: Move], believesStamps: Bool) {
            for part in parts.indices {
                for zone in parts[part].zones.indices {
                    parts[part].zones[zone].fetched = fetched
                    parts[part].zones[zone].moved = moved
                    parts[part].zones[zone].believesStamps = believesStamps
                    for index in parts[part].zones[zone].saves.indices {
                        parts[part].zones[zone].saves[index].isEncryptedAnew = true
                    }
                }
            }
        }
    }

    /// Reads the records: what the app does with them from now on is not in the modification.
    func modification(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy, atomically: Bool, clientChangeTokenData: Data? = nil
    ) throws(CKError) -> RecordModification {
        let scope = try requestScope()
        var batch = OutgoingBatch(saving: recordsToSave, deleting: recordIDsToDelete)
        if let problem = batch.repeatedID {
            throw CKError(.invalidArguments, message: "\(problem) comes twice in one request; save or delete it once")
        }
        batch.leaveOut(isAtomic: atomically, problem: problem(of:))
        let policy = savePolicy.modelPolicy
        let parts = partsByOwner(batch.zones, zone: \.id).map { zones in
            RecordModification.Part(
                zones: zones,
                request: ModifyRecordsRequest(
                    database: scope, savePolicy: policy, isAtomic: atomically,
                    operationID: ContainerCore.newOperationID(), zones: [],
                    clientToken: clientChangeTokenData.map { [UInt8]($0) } ?? []))
        }
        return RecordModification(parts: parts, unsent: (batch.unsentSaves, batch.unsentDeletions))
    }

    /// - Parameter uploads: The files that are on the server already.
    func send(
        _ modification: RecordModification, _ options: CallOptions, _ progress: TransferProgress = TransferProgress(),
        uploads: [CKRecord.ID: [URL: UploadedFile]] = [:]
    ) async throws(CKError) -> RecordModificationResults {
        var all = modification.unsent
        func take(_ results: RecordModificationResults) {
            all.saveResults.merge(results.saveResults) { $1 }
            all.deleteResults.merge(results.deleteResults) { $1 }
        }
        let failures = try await sendEach(of: modification.parts) { (whole) throws(CKError) in
            let (part, overtaken) = try await withoutOvertakenShares(whole, core.account, options)
            take(overtaken)
            // Before anything is encrypted: it takes no key that somebody has who goes with it.
            let goers = try await noteGoers(part, core.account, options)
            var ready = part
            do throws(CKError) {
                // What can't be encrypted is not uploaded in vain.
                let (sealed, refused) = try await sealing(part, options, uploadsFollow: true)
                take(refused)
                let (uploaded, unsent) = try await uploadingSealed(sealed, options, progress, uploads)
                take(unsent)
                ready = uploaded
            } catch {
                await stay(goers, core.account, options)
                throw error
            }
            if !ready.zones.isEmpty {
                let results: RecordModificationResults
                do throws(CKError) {
                    results = try await sendSealed(ready, options)
                } catch {
                    if error.isRefusal { await stay(goers, core.account, options) }
                    throw error
                }
                take(results)
                if let again = ready.uploadingAgain(after: results) { take(await sendAgain(again, options, progress)) }
            }
            await settle(goers, after: all, core.account, options)
        }
        for (part, error) in failures { take(part.failed(with: error)) }
        return all
    }

    /// Sends a part once more whose files the server did not have any more.
    private func sendAgain(
        _ part: RecordModification.Part, _ options: CallOptions, _ progress: TransferProgress
    ) async -> RecordModificationResults {
        var all: RecordModificationResults = ([:], [:])
        func take(_ results: RecordModificationResults) {
            all.saveResults.merge(results.saveResults) { $1 }
            all.deleteResults.merge(results.deleteResults) { $1 }
        }
        do throws(CKError) {
            let (sealed, refused) = try await sealing(part, options, uploadsFollow: true)
            take(refused)
            let (whole, lost) = try await uploadingSealed(sealed, options, progress)
            take(lost)
            if !whole.zones.isEmpty { take(try await sendSealed(whole, options)) }
        } catch {
            // The others are saved.
            take(part.failed(with: error))
        }
        return all
    }

    /// Uploads the files of a part, and seals what opens those that were encrypted for it.
    private func uploadingSealed(
        _ sealed: RecordModification.Part, _ options: CallOptions, _ progress: TransferProgress,
        _ uploads: [CKRecord.ID: [URL: UploadedFile]] = [:]
    ) async throws(CKError) -> (RecordModification.Part, unsent: RecordModificationResults) {
        var (part, unsent) = try await uploadingAssets(of: sealed, options, progress, uploads)
        guard part.zones.contains(where: { $0.encryptsAssets == true && $0.saves.contains(where: \.hasUploads) }) else {
            return (part, unsent)
        }
        let refused: RecordModificationResults
        (part, refused) = try await sealing(part, options)
        unsent.saveResults.merge(refused.saveResults) { $1 }
        unsent.deleteResults.merge(refused.deleteResults) { $1 }
        return (part, unsent)
    }

    /// Sends a part, and what the server refuses since its zone's ring has another key by now once more with that; so
    /// it does with what meets a newer version that differs in its keys alone.
    private func sendSealed(
        _ part: RecordModification.Part, _ options: CallOptions
    ) async throws(CKError) -> RecordModificationResults {
        var results = try await send(part, options)
        func take(_ more: RecordModificationResults) {
            results.saveResults.merge(more.saveResults) { $1 }
            results.deleteResults.merge(more.deleteResults) { $1 }
        }
        var sent = part
        for _ in 0..<KeyLimits.attemptsMax {
            guard let (failed, hasStaleKeys) = sent.sealingAgain(after: results) else { break }
            do throws(CKError) {
                let (again, refused) = try await sealing(failed, options, isStale: hasStaleKeys)
                take(refused)
                if again.zones.isEmpty { break }
                take(try await send(again, options))
                sent = again
            } catch {
                // The others are saved.
                take(failed.failed(with: error))
                break
            }
        }
        take(part.innocentBesideOthers(results))
        take(refusalsOfDeepRecords(in: sent, results, core.account))
        return results
    }

    private func send(
        _ part: RecordModification.Part, _ options: CallOptions
    ) async throws(CKError) -> RecordModificationResults {
        let account = core.account
        // What is saved changes the app's shares.
        let removed = databaseScope == .private ? part.participantsRemoved : []
        let moving = part.zones.filter { movesIntoShares($0, account) }
        for zone in part.zones where databaseScope == .private {
            // The server may have it done, and withhold the answer for good.
            await account.encryptedZones.forgetMoves(
                of: zone.parentsElsewhere, in: zone.id.ringID, for: account, options)
        }
        for zone in moving {
            await account.encryptedZones.saveBegins(moving: zone.moved, in: zone.id.ringID, for: account, options)
        }
        defer {
            for zone in moving { account.encryptedZones.saveEnds(in: zone.id.ringID, for: account) }
        }
        let answers = try await account.call(
            .recordsModify, effect: .onceByOperationID, options: options,
            encode: { coder in coder.encodeModifyRecordsRequest(part.wholeRequest) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeModifyRecordsResponse(bytes) })
        // What can't be opened was saved all the same.
        let shown = part.shownRecords(answers)
        let opener = try? await opener(for: shown.saved + shown.inTheWay, isShown: false, account, options)
        await learn(shown, in: part.zones, account, options)
        let results = try part.results(answers, context: account.answerContext, opener: opener)
        for zone in part.zones { learnTrees(ofSaved: zone, results, account) }
        learn(gone: part.idsGone(results), account)
        if databaseScope == .private {
            let saved = removed.filter { (try? results.saveResults[$0.share.recordID]?.get()) != nil }
            await takeKeys(from: saved, account, options)
            await showLinks(of: part.sharesSaved(results), account)
        }
        for zone in moving { reencryptInBackground(zone.id, account) }
        return results
    }
}

extension CKDatabase.RecordModification.Part {
    /// The request with its zones.
    var wholeRequest: ModifyRecordsRequest<DecodedFields> {
        var whole = request
        whole.zones = zones.map { $0.modification(request.savePolicy) }
        return whole
    }

    /// The shares that were saved: the app's instances, and those of the results.
    fileprivate func sharesSaved(_ results: CKDatabase.RecordModificationResults) -> [CKRecord] {
        zones.flatMap { zone in
            zone.saves.filter { $0.record is CKShare }.flatMap { outgoing in
                let result = try? results.saveResults[outgoing.record.recordID]?.get()
                return result.map { [outgoing.record, $0] } ?? []
            }
        }
    }

    /// The records that are not there any more, as the app is told.
    fileprivate func idsGone(_ results: CKDatabase.RecordModificationResults) -> [CKRecord.ID] {
        let deleted = results.deleteResults.filter { (try? $0.value.get()) != nil }.map(\.key)
        let missing = results.saveResults.filter { _, result in
            if case .failure(let error as CKError) = result { error.code == .unknownItem } else { false }
        }
        return deleted + missing.map(\.key)
    }

    /// What is none of the records that an answer shows is left out: the results say what is wrong with it.
    fileprivate func shownRecords(
        _ answers: [ZoneModificationResult<Record>]
    ) -> CKDatabase.RecordModification.ShownRecords {
        var shown = CKDatabase.RecordModification.ShownRecords()
        for (zone, answer) in zip(zones, answers) {
            for (outgoing, result) in zip(zone.saves, answer.saves) {
                switch result.outcome {
                case .record(let record):
                    // No app sees what the device encrypts anew by itself.
                    guard record.system.name == outgoing.name else { continue }
                    outgoing.isEncryptedAnew
                        ? shown.inTheWay.append((zone.id, record)) : shown.saved.append((zone.id, record))
                case .failure(let error):
                    guard let record = error.decodedServerRecord, record.system.name == outgoing.name else { continue }
                    shown.inTheWay.append((zone.id, record))
                case .deferred: break
                }
            }
        }
        return shown
    }

    /// Takes over what was saved, and gives each item its result.
    func results(
        _ answers: [ZoneModificationResult<Record>], context: AnswerContext, opener: FieldOpener? = nil
    ) throws(CKError) -> CKDatabase.RecordModificationResults {
        guard answers.count == zones.count else {
            throw .malformedResponse("it holds results for \(answers.count) zones instead of \(zones.count)")
        }
        var results: CKDatabase.RecordModificationResults = ([:], [:])
        for (zone, answer) in zip(zones, answers) {
            guard answer.saves.count == zone.saves.count else {
                throw .malformedResponse("it holds \(answer.saves.count) results for \(zone.saves.count) saves")
            }
            for (outgoing, result) in zip(zone.saves, answer.saves) {
                results.saveResults[outgoing.record.recordID] =
                    outgoing.result(result, context: context, opener: opener).erased
            }
            results.deleteResults.merge(try answer.deletions.deleteResults(zone.deletions)) { $1 }
        }
        return results
    }

    /// The results of a request that failed whole.
    fileprivate func failed(with error: CKError) -> CKDatabase.RecordModificationResults {
        var results: CKDatabase.RecordModificationResults = ([:], [:])
        for zone in zones {
            for outgoing in zone.saves { results.saveResults[outgoing.record.recordID] = .failure(error) }
            for id in zone.deletions { results.deleteResults[id] = .failure(error) }
        }
        return results
    }
}

extension OutgoingRecord {
    /// The outcome of the save. On success the instance that was saved takes over the saved version, and the result is
    /// the server's.
    fileprivate func result(
        _ result: SaveResult<Record>, context: AnswerContext, opener: FieldOpener?
    ) -> Result<CKRecord, CKError> {
        let zoneID = record.recordID.zoneID
        switch result.outcome {
        case .record(var saved):
            let isSame = saved.system.name == record.recordID.recordName && saved.system.type == record.recordType
            var opened: OpenedFields
            if result.fieldsOmitted {
                saved.fields = sent.fieldsWithSealed
                opened = OpenedFields(
                    values: sent.encrypted.values, secrets: sent.assetSecrets, unreadable: sent.encrypted.unreadable)
            } else {
                opened = opener?.open(saved, in: zoneID) ?? OpenedFields()
                // What was sent is known, whether the keys can be had just now or not.
                for case (let key, .encrypted(let value)) in saved.fields where value == sent.encrypted.sealed[key] {
                    if let plain = sent.encrypted.values[key] {
                        opened.values[key] = plain
                    } else if let secrets = sent.assetSecrets[key] {
                        opened.secrets[key] = secrets
                    } else {
                        continue
                    }
                    opened.unreadable[key] = nil
                }
            }
            let made = CKRecord.make(saved, zoneID: zoneID, context: context, contents: sent.contents, opened: opened)
            guard isSame, let answer = made else {
                return .failure(.malformedResponse("a saved record is not the one that was sent"))
            }
            record.applySaved(
                saved, fieldsOmitted: result.fieldsOmitted, of: self, context: context, opened: opened)
            return .success(answer)
        case .failure(let error):
            let shown = error.decodedServerRecord
            // An app merges it into its own: the values of another record would become this one's.
            if let shown, shown.system.name != record.recordID.recordName {
                return .failure(.malformedResponse("the record in the way of a save is another one"))
            }
            let serverRecord = shown.flatMap { record in
                CKRecord.make(
                    record, zoneID: zoneID, context: context, contents: AssetContents(),
                    opened: opener?.open(record, in: zoneID) ?? OpenedFields())
            }
            return .failure(CKError(error, serverRecord: serverRecord, outgoing: self))
        case .deferred:
            return .failure(.malformedResponse("a save is deferred"))
        }
    }
}

extension ServiceError {
    /// The record as the server has it, for a conflict.
    fileprivate var decodedServerRecord: Record? {
        serverRecord.flatMap { bytes in
            try? bytes.decoded { (bytes) throws(ServiceError) in try StoredRecord.decode(bytes) }
        }
    }
}
