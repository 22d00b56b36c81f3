package import BrumeModel
internal import BrumeRecord

/// A journal entry that does not follow from what a database holds: the journal, or the snapshot before it, is damaged.
package struct ReplayError: Error, Equatable, Sendable {
    package let sequence: UInt64
    package let problem: String
}

extension Database {
    /// Applies a commit of the journal again. Entries up to ``sequence`` are skipped, so that replay from an older
    /// place is harmless; one that is not the next is damage, and so is one that does not fit what the database holds.
    ///
    /// After an error the database must not be used any more.
    package func apply(_ entry: JournalEntry) throws(ReplayError) {
        guard entry.database == id else {
            throw ReplayError(sequence: entry.sequence, problem: "an entry is of another database")
        }
        if entry.sequence <= sequence { return }
        guard entry.sequence == sequence + 1 else {
            throw ReplayError(
                sequence: entry.sequence,
                problem: "commit \(entry.sequence) follows on commit \(sequence): those between are missing")
        }
        guard entry.sequence < StoreLimits.commitSequenceLimit, entry.changes.count <= Limits.changesPerCommit * 2
        else {
            throw ReplayError(sequence: entry.sequence, problem: "an entry is larger than the server writes")
        }
        var builder = CommitBuilder(sequence: entry.sequence)
        var touched: [Int] = []
        for change in entry.changes {
            do throws(ServiceError) {
                try apply(change, touched: &touched, builder: &builder)
            } catch {
                throw ReplayError(sequence: entry.sequence, problem: error.message)
            }
        }
        if let put = entry.clientToken {
            do throws(ServiceError) {
                try apply(put)
            } catch {
                throw ReplayError(sequence: entry.sequence, problem: error.message)
            }
        }
        touched.sort { zoneStates[$0].lastChange < zoneStates[$1].lastChange }
        for index in touched where zoneStates[index].deletion == nil && !zoneStates[index].isDefault {
            if zoneStates[index].lastChange > zoneFeedHead { noteChange(inZoneAt: index, isNewEntry: false) }
            settleTrees(inZoneAt: index)
        }
        if !entry.operationID.isEmpty {
            remember(
                operation: entry.operationID, encoded: entry.operationOutcome, digest: entry.operationDigest,
                user: entry.operationUser)
        }
        count(entry.sequence, run: entry.run)
        if hasAssetReleases { releaseReplayedAssets() }
    }

    private func apply(
        _ change: Change, touched: inout [Int], builder: inout CommitBuilder
    ) throws(ServiceError) {
        switch change {
        case .recordPut(let incarnation, let record):
            let index = try zoneIndex(ofIncarnation: incarnation)
            let summary: Result<StoredRecord.Summary, ServiceError> = record.withUnsafeBytes { bytes in
                Result { () throws(ServiceError) in try RecordSlot.check(bytes) }
            }
            putRecord(
                record, marks: RecordMarks(try summary.get()), at: builder.nextPosition(), inZoneAt: index)
            if touched.last != index { touched.append(index) }
        case .recordDeletion(let incarnation, let name, _):
            let index = try zoneIndex(ofIncarnation: incarnation)
            guard let slot = zoneStates[index].liveSlot(of: name) else {
                throw ServiceError(.internalError, "a record is deleted that is not there")
            }
            deleteRecord(slot, at: builder.nextPosition(), inZoneAt: index)
            if touched.last != index { touched.append(index) }
        case .zoneCreation(let incarnation, let name):
            let position = builder.nextPosition()
            guard incarnation == position.rawValue, Names.problemWithZoneName(name) == nil else {
                throw ServiceError(.internalError, "a zone is made that the server would not have made")
            }
            if let known = zoneIndexOfName[name], zoneStates[known].deletion == nil {
                throw ServiceError(.internalError, "a zone is made that is there already")
            }
            _ = createZone(named: name, at: position)
        case .zoneDeletion(let incarnation, _, let reason):
            let index = try zoneIndex(ofIncarnation: incarnation)
            if zoneStates[index].isDefault { throw ServiceError(.internalError, "the default zone is deleted") }
            deleteZone(at: index, reason: reason, position: builder.nextPosition())
        case .subscriptionPut(let subscription):
            guard mayKeep(subscription) else {
                throw ServiceError(.internalError, "a subscription is saved that the server would not have kept")
            }
            putSubscription(subscription)
        case .subscriptionDeletion(let id, let owner):
            removeSubscription(id, of: owner)
        case .sharedZoneAsked, .sharedZoneAnswered, .sharedZonePut, .sharedZoneEnd:
            try apply(sharedZone: change, builder: &builder)
        case .statement, .statementsReplaced, .statementsEnd:
            try apply(statement: change)
        case .ringEntry, .ringsEnd:
            try apply(ring: change)
        case .ringStatement, .ringChain, .ringGuest, .ringGuestEnd, .ringUsersUnnamed, .ringUsersNamed,
            .ringUsersEnd:
            try apply(besideRing: change)
        }
    }

    private func apply(_ put: ClientTokenPut) throws(ServiceError) {
        guard put.token.isUsable else {
            throw ServiceError(.internalError, "a client token is kept that the server would not have kept")
        }
        for incarnation in put.zones {
            let index = try zoneIndex(ofIncarnation: incarnation)
            if zoneStates[index].isDefault {
                throw ServiceError(.internalError, "a client token is kept in the default zone")
            }
            withZone(at: index) { $0.put(put.token) }
        }
    }

    private func zoneIndex(ofIncarnation incarnation: UInt64) throws(ServiceError) -> Int {
        guard let index = zoneIndexOfIncarnation[incarnation] else {
            throw ServiceError(.internalError, "a change is in a zone that is not there")
        }
        return index
    }
}
