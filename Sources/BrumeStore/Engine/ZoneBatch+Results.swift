internal import BrumeModel
internal import BrumeRecord

/// What the items of a batch are answered, and how they fail after they were staged.
extension ZoneBatch {
    /// What every item gets when the zone as a whole is refused.
    static func refusal(
        of modification: ZoneModification<CheckedFields>, _ error: ServiceError
    ) -> ZoneModificationResult<SharedBytes> {
        ZoneModificationResult(
            saves: modification.saves.map { _ in SaveResult(outcome: .failure(error)) },
            deletions: modification.deletions.map { _ in error })
    }

    /// What is left for the zones that follow. Room in the answer that was taken for items that failed later is free
    /// again; what was read stays counted.
    ///
    /// - Parameters:
    ///   - result: What is answered about this zone.
    ///   - budget: What was left before this zone.
    func bytesLeft(after result: ZoneModificationResult<SharedBytes>, of budget: ByteBudget) -> ByteBudget {
        var left = bytesLeft
        left.answer = budget.answer
        for save in result.saves {
            switch save.outcome {
            case .record(let record): left.answer -= record.count
            case .failure(let error): left.answer -= error.serverRecord?.count ?? 0
            case .deferred: break
            }
        }
        return left
    }

    /// Bytes of the records that are to change, all their versions together; in a public database without others'
    /// records that go with the deleted ones, for which the caller can do nothing.
    func changedBytes(in zone: ZoneState) -> Int {
        var count = 0
        for save in staged { count += save.range.count + (save.existing.map { zone.slots.byteCount(of: $0) } ?? 0) }
        for root in roots { count += root.range.count + zone.slots.byteCount(of: root.slot) }
        let user = UserKey(caller.user)
        for deletion in deletions {
            if scope == .public, deletion.item == nil, zone.references.user(of: zone[deletion.slot]) != user {
                continue
            }
            count += zone.slots.byteCount(of: deletion.slot)
        }
        return count
    }

    /// Takes back a staged save that can't stand.
    mutating func fail(stagedSave index: Int, _ error: ServiceError) {
        saveResults[staged[index].item] = SaveResult(outcome: .failure(error))
        hasFailed = true
    }

    /// Takes back a requested deletion that can't stand.
    mutating func fail(requestedDeletion item: Int, _ error: ServiceError) {
        deletionResults[item] = error
        hasFailed = true
    }

    /// Fails all of the batch, whose deletions can't stand together.
    mutating func failWhole(_ error: ServiceError) {
        isAtomic = true
        hasFailed = true
        for item in deletionResults.indices where deletionResults[item] == nil { deletionResults[item] = error }
    }

    /// Answers a save that did not fail with another version of its record, as short as it was to be answered.
    mutating func answer(save item: Int, _ record: SharedBytes) {
        if case .failure = saveResults[item].outcome { return }
        let isShort = saveResults[item].fieldsOmitted
        saveResults[item].outcome = .record(isShort ? StoredRecord.withoutFields(record) : record)
    }

    /// Appends a record to ``records``, and returns where it stands there.
    mutating func append(_ record: [UInt8]) -> Range<Int> {
        records += record
        return records.count - record.count..<records.count
    }

    mutating func keepStaged(where isKept: (Int, StagedSave) -> Bool) {
        staged = staged.enumerated().filter { isKept($0.offset, $0.element) }.map(\.element)
    }

    mutating func setDeletions(_ deletions: [StagedDeletion]) {
        self.deletions = deletions
    }

    mutating func failUnattempted() {
        let failure = ServiceError(
            .batchRequestFailed, "nothing was written, because another item of this atomic batch failed; fix that one")
        for index in saveResults.indices {
            if case .failure = saveResults[index].outcome { continue }
            saveResults[index] = SaveResult(outcome: .failure(failure))
        }
        for index in deletionResults.indices where deletionResults[index] == nil {
            deletionResults[index] = failure
        }
        staged = []
        roots = []
        deletions = []
    }
}
