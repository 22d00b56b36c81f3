internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// Files, which are uploaded while other records are sent and fetched (Documentation/CloudKit.md, The sync engine).
///
/// What waits for files stays among the pending changes, and the record that the delegate gave for it is held here.
/// When the files are there, a short send of its own saves it, which asks the delegate for nothing.
extension SyncEngineStateMachine {
    /// The files of one record.
    struct Upload: Sendable {
        enum Progress: Sendable {
            /// For its turn.
            case waiting
            case underWay
            case ended(Result<[URL: UploadedFile], CKError>)
        }

        let id: UInt64
        let zoneID: CKRecordZone.ID
        let files: [AssetUpload]
        var progress = Progress.waiting
        /// How many of its files are uploaded at a time; 0 before it begins.
        var places = 0

        var isLarge: Bool { files.reduce(0) { $0 + ($1.version?.byteCount ?? 0) } > smallFilesBytesMax }
        var isOver: Bool { if case .ended = progress { true } else { false } }
        var error: CKError? { if case .ended(.failure(let error)) = progress { error } else { nil } }
        var assets: [URL: UploadedFile]? { if case .ended(.success(let assets)) = progress { assets } else { nil } }
    }

    /// What of a batch waits for files.
    struct HeldBatch: Sendable {
        var batch: CKSyncEngine.RecordZoneChangeBatch
        let additionsAtQuestion: UInt64
        /// Why none of it is sent.
        var failure: CKError?
    }

    /// A change that waits for files.
    struct HeldChange: Sendable {
        let change: CKSyncEngine.PendingRecordZoneChange
        let additionsAtQuestion: UInt64
        /// Whether it was among the pending changes when it was given.
        let isTracked: Bool
        /// About the memory of its record.
        let byteCount: Int
    }

    /// A part of what is held that can be sent now.
    struct ReleasedBatch {
        let batch: CKSyncEngine.RecordZoneChangeBatch
        let additionsAtQuestion: UInt64
        /// What is not sent but fails.
        let failures: [CKRecord.ID: CKError]
    }

    /// A call of the app whose send is over but for what waits for files.
    struct WaitingSend: Sendable {
        var callIDs: [UInt64]
        let options: CKSyncEngine.SendChangesOptions
        /// What it waits for that was not sent yet.
        var awaited: [CKRecord.ID: CKSyncEngine.PendingRecordZoneChange]
        /// Whether the delegate may have more to send, and was not asked since too much was held.
        let isCut: Bool
        /// The same where it was not asked further since it gave nothing but what waited.
        let isGivenAgain: Bool
        var failedRecords: [CKRecord.ID: CKError] = [:]
        var failure: CKError?

        /// What came of it so far.
        var error: CKError? {
            if let failure { return failure }
            let items = failedRecords.map { (AnyHashable($0), $1 as any Error) }
            return items.isEmpty ? nil : .partialFailure(Dictionary(uniqueKeysWithValues: items))
        }
    }

    /// With so many changes that wait for files the delegate is asked for no more, until half of them are gone. A
    /// record takes some kilobytes, and others behind it in the app's list wait that long only if there are that many.
    /// A call for some records or zones may add as many again.
    static let heldChangesMax = 1_000

    /// So many bytes of records count like ``heldChangesMax`` of them: a record may take most of a megabyte.
    static let heldBytesMax = 16 * 1024 * 1024

    /// How long a record whose files are there waits for others, in milliseconds, which then go in one request.
    static let releaseDelay: UInt64 = 1_000

    /// How full the room for what waits is, 1 when the delegate is asked for no more.
    var heldFill: Double {
        let bytes = heldChanges.values.reduce(0) { $0 + $1.byteCount }
        return max(Double(heldChanges.count) / Double(Self.heldChangesMax), Double(bytes) / Double(Self.heldBytesMax))
    }

    // MARK: Before

    /// The files of the batch in question are known.
    mutating func assetFilesFound(_ files: [CKRecord.ID: [AssetUpload]]) {
        sendCycle?.files = files
    }

    /// Takes out of a batch what has to wait, and begins its uploads. Nil when nothing is left to be sent now.
    mutating func holdingBack(
        _ given: CKSyncEngine.RecordZoneChangeBatch, files: [CKRecord.ID: [AssetUpload]], now: UInt64
    ) -> CKSyncEngine.RecordZoneChangeBatch? {
        if heldBatches.isEmpty, files.isEmpty { return given }
        let wasHeld = Set(given.changes.filter(isGivenAgain).map(\.recordID))
        var batch = takingOver(given, now: now)
        for id in given.itemIDs {
            // The newest version of the record counts: others of its files are not needed.
            if let upload = uploads[id], upload.error != nil || upload.files != files[id] ?? [] { cancelUpload(id) }
        }
        let unready = batch.recordsToSave.map(\.recordID).filter { files[$0] != nil && uploads[$0]?.assets == nil }
        let earlier = heldBatches.map(\.batch)
        let waiting = BatchDependencies(batch, behind: earlier)
            .waiting(for: unready + earlier.flatMap { $0.recordsToSave.map(\.recordID) })
        let later = batch.filtered { waiting.contains($0) }
        batch = batch.filtered { !waiting.contains($0) }
        if later.itemCount > 0 { hold(later, files: files, now: now) }
        if batch.itemCount > 0 { return withUploads(batch) }
        // A delegate that always gives what waits already would be asked for ever.
        if !later.itemIDs.isEmpty, later.itemIDs.allSatisfy(wasHeld.contains) {
            sendCycle!.phase = .end
            sendCycle!.isGivenAgain = true
        }
        return nil
    }

    /// Whether the delegate gives what waits for files already, and for no reason of which the engine knows.
    private func isGivenAgain(_ change: CKSyncEngine.PendingRecordZoneChange) -> Bool {
        guard let held = heldChanges[change.recordID], held.change == change else { return false }
        return !held.isTracked || isHeld(held)
    }

    /// What the batch gives takes the place of what is held of the same records. Where that was to happen at once with
    /// others, the delegate is asked for all of it anew.
    private mutating func takingOver(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, now: UInt64
    ) -> CKSyncEngine.RecordZoneChangeBatch {
        let ids = Set(batch.itemIDs)
        let torn = tornShares(batch)
        // What waits for it has its place behind it.
        var others = dependents(of: ids.filter { heldChanges[$0] != nil }, in: batch)
        // So has what does not wait for it yet: what it waited for has failed, and is given anew.
        var more = torn.held.union(dependents(of: ids.union(torn.held), in: batch))
        more.subtract(ids.union(sendCycle!.askedBehind))
        sendCycle!.askedBehind.formUnion(more)
        others.formUnion(more)
        let again = torn.given.union(others.subtracting(ids))
        let givenAgain =
            again.isEmpty ? [] : BatchDependencies(batch, behind: heldBatches.map(\.batch)).waiting(for: again)
        var droppedIDs = ids.union(others)
        var zonesGivenAgain: Set<CKRecordZone.ID> = []
        for held in heldBatches {
            let overlap = Set(held.batch.itemIDs.filter(ids.contains).map(\.zoneID).filter(held.batch.isWhole))
            let others = held.batch.itemIDs.filter {
                overlap.contains($0.zoneID) && !ids.contains($0) && heldChanges[$0]?.isTracked == true
            }
            droppedIDs.formUnion(others)
            zonesGivenAgain.formUnion(others.map(\.zoneID))
        }
        dropHeld(droppedIDs, now: now)
        return batch.filtered {
            !zonesGivenAgain.contains($0.zoneID) && !givenAgain.contains($0) || !state.recordChanges.contains($0)
        }
    }

    /// New shares and their roots of which a batch gives one, while the other one waits. The server takes them together
    /// alone.
    private func tornShares(
        _ batch: CKSyncEngine.RecordZoneChangeBatch
    ) -> (given: Set<CKRecord.ID>, held: Set<CKRecord.ID>) {
        let ids = Set(batch.itemIDs)
        var given: Set<CKRecord.ID> = []
        var held: Set<CKRecord.ID> = []
        for case let share as CKShare in heldBatches.flatMap(\.batch.recordsToSave) + batch.recordsToSave {
            let (record, details) = share.snapshots
            guard record.version == nil, !details.root.isEmpty else { continue }
            let rootID = CKRecord.ID(recordName: details.root, zoneID: share.recordID.zoneID)
            for (id, other) in [(share.recordID, rootID), (rootID, share.recordID)] {
                // A delegate that always gives one of them alone would be asked for ever, and one that is asked for one
                // alone can't give both.
                guard ids.contains(id), !ids.contains(other), !sendCycle!.askedBehind.contains(other),
                    sendCycle!.context.options.scope.contains(other),
                    state.recordChanges[id] == .saveRecord(id), heldChanges[other]?.isTracked == true
                else { continue }
                given.insert(id)
                held.insert(other)
            }
        }
        return (given, held)
    }

    private mutating func hold(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, files: [CKRecord.ID: [AssetUpload]], now: UInt64
    ) {
        let additions = sendCycle!.additionsAtQuestion
        heldBatches.append(HeldBatch(batch: batch, additionsAtQuestion: additions))
        let byteCounts = Dictionary(
            batch.recordsToSave.map { ($0.recordID, $0.outgoing().savedBytesMax) }, uniquingKeysWith: max)
        for change in batch.changes {
            let id = change.recordID
            heldChanges[id] = HeldChange(
                change: change, additionsAtQuestion: additions, isTracked: state.recordChanges[id] == change,
                byteCount: byteCounts[id] ?? 0)
        }
        for record in batch.recordsToSave {
            let id = record.recordID
            guard let files = files[id], uploads[id] == nil else { continue }
            lastUploadID += 1
            uploads[id] = Upload(id: lastUploadID, zoneID: id.zoneID, files: files)
            waitingUploads.append(id)
        }
        beginUploads()
        // All of it may wait for others alone, which are uploaded.
        if runningUploads.isEmpty { uploadsDue = now }
    }

    // MARK: Behind

    /// A record's files are on the server, or can't be brought there. One that was cancelled may come late.
    package mutating func uploadEnded(_ id: UInt64, _ result: Result<[URL: UploadedFile], CKError>, now: UInt64)
        -> [Action]
    {
        if let recordID = runningUploads.removeValue(forKey: id) {
            if case .failure(let error) = result, error.code == .assetFileNotFound, asksAgain(recordID, now: now) {
                return turn(now: now)
            }
            uploads[recordID]?.progress = .ended(result)
            // What concerns the way to the server concerns those that have not begun, too.
            if case .failure(let error) = result, error.isOfEveryTransfer {
                for id in waitingUploads { uploads[id]?.progress = .ended(.failure(error)) }
                waitingUploads = []
            }
            beginUploads()
            uploadsDue = runningUploads.isEmpty ? now : min(uploadsDue ?? .max, now + Self.releaseDelay)
        }
        return turn(now: now)
    }

    /// Has the delegate asked once more for a record of which a file is gone, and for what waits for it: many apps
    /// remove or move files of which they think that they were sent.
    private mutating func asksAgain(_ id: CKRecord.ID, now: UInt64) -> Bool {
        guard heldChanges[id] != nil, !recordsAskedAgain.contains(id),
            // Otherwise it was missing when the delegate gave it.
            uploads[id]?.files.contains(where: { $0.version == nil }) == false
        else { return false }
        var ids: Set = [id]
        for index in heldBatches.indices {
            let earlier = heldBatches[..<index].map(\.batch)
            ids.formUnion(BatchDependencies(heldBatches[index].batch, behind: earlier).waiting(for: ids))
        }
        // What is not pending would not be given again.
        guard ids.allSatisfy({ heldChanges[$0]?.isTracked == true }) else { return false }
        recordsAskedAgain.insert(id)
        sendCycle?.mustAskAgain = true
        cancelUpload(id)
        dropHeld(ids, now: now)
        beginUploads()
        schedule.wantSend(now: now)
        return true
    }

    /// The files of a record are not needed any more.
    mutating func cancelUpload(_ id: CKRecord.ID) {
        guard let upload = uploads.removeValue(forKey: id) else { return }
        if runningUploads.removeValue(forKey: upload.id) != nil { actions.append(.cancelUpload(id: upload.id)) }
        waitingUploads.removeAll { $0 == id }
    }

    /// Forgets what is held of some records. Their changes are as they are.
    mutating func dropHeld(_ ids: Set<CKRecord.ID>, now: UInt64) {
        let dropped = ids.filter { heldChanges.removeValue(forKey: $0) != nil }
        if dropped.isEmpty { return }
        for index in heldBatches.indices {
            heldBatches[index].batch = heldBatches[index].batch.filtered { !dropped.contains($0) }
        }
        heldBatches.removeAll { $0.batch.itemCount == 0 }
        // What waited for it need not any longer.
        uploadsDue = now
    }

    /// The outcome of a record's save is known. One that is saved again, since it failed or the delegate has mended it,
    /// does without another upload.
    mutating func uploadUsed(_ id: CKRecord.ID, error: CKError?) {
        recordsAskedAgain.remove(id)
        let isKept = error != nil && error?.code != .assetNotAvailable && uploads[id]?.assets != nil
        if heldChanges[id] == nil, !isKept { cancelUpload(id) }
    }

    /// The app has removed a record's change, or replaced it by another one: what is held of it is not sent.
    mutating func dropHeldChange(_ id: CKRecord.ID, now: UInt64) {
        guard let held = heldChanges[id], held.isTracked, state.recordChanges[id] != held.change else { return }
        dropHeld([id], now: now)
        cancelUpload(id)
        beginUploads()
    }

    /// A zone is gone, and with it what was to be saved there.
    mutating func dropHeldChanges(in zoneID: CKRecordZone.ID, now: UInt64) {
        let ids = Set(heldChanges.keys.filter { $0.zoneID == zoneID })
        dropHeld(ids, now: now)
        for id in ids { cancelUpload(id) }
        beginUploads()
    }

    /// Nothing that is held is sent; it fails with the error, and stays pending.
    mutating func cancelHeld(_ error: CKError, now: UInt64) {
        for (id, upload) in uploads where !upload.isOver { cancelUpload(id) }
        for index in heldBatches.indices where heldBatches[index].failure == nil { heldBatches[index].failure = error }
        if !heldBatches.isEmpty { uploadsDue = now }
    }

    /// Forgets everything that is held: it was another user's, or nobody handles it any more.
    mutating func forgetHeld(_ error: CKError) {
        for id in uploads.keys { cancelUpload(id) }
        heldBatches = []
        keyWaits = [:]
        heldChanges = [:]
        uploadsDue = nil
        isHeldFull = false
        for waiting in waitingSends { finish(waiting.callIDs, .failure(error)) }
        waitingSends = []
    }
}
