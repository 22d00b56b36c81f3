package import BrumeModel
internal import BrumeRecord

extension Database {
    /// Saves and deletes records: each zone's items atomically where the zone can and the request does not say
    /// otherwise.
    ///
    /// Results stand in the order of the request; nothing of a failed item is written. All zones of the request are one
    /// commit. Names, values and sizes of fields have been checked before (``CheckedFields``); the rules that are
    /// checked here are those of Documentation/CloudKit.md, Change tags and save policies, Atomic batches, References.
    ///
    /// - Parameters:
    ///   - quota: Limits what ``quotaBytes`` may reach; nil for no limit. A save that would exceed it fails
    ///     with `quotaExceeded`. Deletions, and saves that store no more than before, go through even above it.
    ///   - mayUseIndexReserve: Whether what others have left to the indexes does not keep small requests back
    ///     (``StoreLimits/pendingIndexReserveBytes``).
    ///   - grants: The assets that the request may name beside those that the records name already.
    ///   - keyRefusals: Saves that fail for the keys of what they encrypt, and zones without plain assets: rings are
    ///     opaque here.
    ///   - takenNames: How many names a caller who does not own the database may be told to be taken.
    package func modifyRecords(
        _ request: ModifyRecordsRequest<CheckedFields>, caller: Caller, nowMilliseconds: Int64,
        quota: StorageQuota? = nil, mayUseIndexReserve: Bool = false, grants: AssetGrants = AssetGrants(),
        takenNames: TakenNameRoom = .unlimited, keyRefusals: KeyRefusals = KeyRefusals()
    ) -> Decision<[ZoneModificationResult<SharedBytes>]> {
        assert(answers(request.database), "a request was routed to a database of another scope")
        let itemCount = request.zones.reduce(0) { $0 + $1.saves.count + $1.deletions.count }
        if let refusal = refusal(of: caller, itemCount: itemCount) {
            return Decision(answer: request.zones.map { ZoneBatch.refusal(of: $0, refusal) }, commit: nil)
        }
        var builder = CommitBuilder(sequence: sequence + 1)
        var results: [ZoneModificationResult<SharedBytes>] = []
        var seen = Set<Int>()
        var bytesLeft = ByteBudget()
        var referenceBudget = ReferenceBudget()
        var shareBudget = ShareBudget()
        var takenNames = takenNames
        var assetsLeft = Limits.assetsPerRequest
        var leavingRoom = StoreLimits.shareBytesLeftPerCommit
        for (place, modification) in request.zones.enumerated() {
            switch zoneIndex(of: modification.zone, for: caller) {
            case .failure(let error):
                results.append(ZoneBatch.refusal(of: modification, error))
            case .success(let index):
                guard request.zones.count == 1 || seen.insert(index).inserted else {
                    results.append(ZoneBatch.refusal(of: modification, Database.repeatedZone))
                    continue
                }
                let member = isOwn(caller) ? nil : member(caller, ofZoneAt: index)
                if let member {
                    let shares = sharesToLeave(modification, member, zoneAt: index)
                    if !shares.isEmpty {
                        results.append(
                            leave(
                                modification, shares, zoneAt: index, caller, room: &leavingRoom,
                                nowMilliseconds: nowMilliseconds, into: &builder))
                        continue
                    }
                }
                var batch = ZoneBatch(
                    modification, savePolicy: request.savePolicy, member: member,
                    isAtomic: request.isAtomic && zoneStates[index].incarnation != 0, caller: caller, owner: id.owner,
                    scope: id.scope, tag: changeTag(builder.sequence), nowMilliseconds: nowMilliseconds,
                    bytesLeft: bytesLeft, referenceBudget: referenceBudget, shareBudget: shareBudget,
                    shareAddresses: shareAddresses,
                    secretPlace: ShareAddresses.Place(
                        run: run, sequence: builder.sequence, zone: zoneStates[index].incarnation),
                    runOfZone: modification.isKnownDistinct
                        ? run : run(of: ChangePosition(rawValue: zoneStates[index].incarnation)),
                    takenNames: takenNames, grants: grants.assets(inZone: zoneStates[index].name),
                    assetsLeft: assetsLeft, quota: room(in: quota),
                    blobs: quota != nil && blobs.count > 0 ? BlobsInUse(of: self) : nil,
                    keyRefusals: keyRefusals.ofZone(place),
                    plainAssetRefusal: keyRefusals.ofPlainAssets(inZone: place))
                // Evaluated in place: a copy of the zone would retain each of its parts.
                let result = withZone(at: index) { batch.evaluate(in: $0) }
                referenceBudget = batch.referenceBudget
                shareBudget = batch.shareBudget
                takenNames = batch.takenNames
                assetsLeft = batch.assetsLeft
                let before = bytesLeft
                bytesLeft = batch.bytesLeft(after: result, of: before)
                if let refusal = indexRefusal(
                    inZoneAt: index, byteCount: batch.changedBytes(in: zoneStates[index]),
                    mayUseReserve: mayUseIndexReserve)
                {
                    results.append(ZoneBatch.refusal(of: modification, refusal))
                    // The refusal takes no room in the answer; what was read stays counted.
                    bytesLeft.answer = before.answer
                    continue
                }
                results.append(result)
                apply(batch, toZoneAt: index, into: &builder)
                if !request.clientToken.isEmpty, result.holdsSuccess,
                    member?.mayWrite ?? true
                {
                    keep(
                        ClientToken(device: caller.device, bytes: request.clientToken), quota,
                        isOwners: member == nil, inZoneAt: index, into: &builder)
                }
            }
        }
        return Decision(answer: results, commit: finish(builder, nowMilliseconds: nowMilliseconds))
    }

    /// Makes the user's record (Documentation/CloudKit.md, Users' records) in the default zone, unless it exists. Done
    /// at a user's first access, in the private and in the public database.
    package func ensureUserRecord(named name: String, nowMilliseconds: Int64) -> Commit? {
        if zoneStates[0].liveSlot(of: name) != nil { return nil }
        var builder = CommitBuilder(sequence: sequence + 1)
        let tag = changeTag(builder.sequence)
        let record = StoredRecord.encode(
            SystemFields(
                name: name, type: Names.userRecordType, changeTag: tag.text, creator: name,
                createdMilliseconds: nowMilliseconds, modifier: name, modifiedMilliseconds: nowMilliseconds),
            fields: [])
        put(SharedBytes(record), marks: [], replacing: nil, inZoneAt: 0, of: 0, into: &builder)
        builder.touch(
            TouchedZone(
                zone: .defaultZone, incarnation: 0, recordTypes: [Names.userRecordType], isNew: false, isDeleted: false)
        )
        return finish(builder, nowMilliseconds: nowMilliseconds)
    }

    /// Finishes a commit: fires subscriptions, and counts the commit. Returns nil when nothing changed.
    func finish(_ builder: consuming CommitBuilder, nowMilliseconds: Int64) -> Commit? {
        if !builder.records.isEmpty { matchSubscriptions(into: &builder) }
        if builder.isEmpty { return nil }
        count(builder.sequence, run: run)
        return builder.commit(of: id, run: run, nowMilliseconds: nowMilliseconds)
    }

    /// The last step of every commit, both when it is made and when it is replayed.
    func count(_ sequence: UInt64, run: UInt32) {
        self.sequence = sequence
        runHistory.note(sequence, run: run, limit: history.runs)
        forgetDeletedZones()
    }

    private func refusal(of caller: Caller, itemCount: Int) -> ServiceError? {
        if caller.isAnonymous {
            return ServiceError(.notAuthenticated, "saving and deleting needs an account; sign in")
        }
        if itemCount + Limits.cascadesPerRequest > Limits.changesPerCommit {
            return ServiceError(
                .limitExceeded, "a request has \(itemCount) items; the limit is \(Limits.itemsPerRequest): split it")
        }
        return nil
    }

    private static let repeatedZone = ServiceError(
        .invalidArguments, "a request names a zone twice; put all items of a zone together")

    /// Saves first, then roots whose shares go, then deletions and their cascades.
    private func apply(_ batch: ZoneBatch, toZoneAt index: Int, into builder: inout CommitBuilder) {
        if batch.staged.isEmpty, batch.deletions.isEmpty { return }
        var types: [String] = []
        let incarnation = zoneStates[index].incarnation
        builder.expect(batch.staged.count + batch.deletions.count)
        for place in batch.staged.indices {
            let (item, existing) = (batch.staged[place].item, batch.staged[place].existing)
            // Usually all are of one type.
            if batch.modification.saves[item].type != types.last { types.append(batch.modification.saves[item].type) }
            let slot = put(
                SharedBytes(of: batch.records, at: batch.staged[place].range),
                marks: batch.staged[place].marks, replacing: existing,
                references: batch.referenceChange(ofStaged: place), inZoneAt: index, of: incarnation, into: &builder)
            note(slot, existing == nil ? .created : .updated, inZoneAt: index, into: &builder)
        }
        for root in batch.roots {
            put(
                SharedBytes(of: batch.records, at: root.range), marks: root.marks, replacing: root.slot,
                references: .none, inZoneAt: index, of: incarnation, into: &builder)
            types.append(zoneStates[index][root.slot].type)
            note(root.slot, .updated, inZoneAt: index, into: &builder)
        }
        for deletion in batch.deletions {
            let type = zoneStates[index][deletion.slot].type
            if type != types.last { types.append(type) }
            note(deletion.slot, .deleted, inZoneAt: index, into: &builder)
            deleteRecord(
                deletion.slot, at: builder.nextPosition(), inZoneAt: index, references: deletion.references)
            builder.append(
                .recordDeletion(zone: zoneStates[index].incarnation, name: deletion.name, type: type))
        }
        noteChange(inZoneAt: index, isNewEntry: false)
        if types.count > 1 { types = Set(types).sorted() }
        builder.touch(
            TouchedZone(
                zone: ZoneID(name: zoneStates[index].name), incarnation: incarnation, recordTypes: types,
                isNew: false, isDeleted: false, trees: settleTrees(inZoneAt: index, changing: types)))
    }

    /// Keeps a request's client token in a zone that has a feed to return it with. A token that the zone already has is
    /// no change.
    ///
    /// A token for which the quota has no room is not kept: with the feed the device then gets its earlier one, and
    /// assumes that its latest request may not have arrived.
    private func keep(
        _ token: ClientToken, _ quota: StorageQuota?, isOwners: Bool, inZoneAt index: Int,
        into builder: inout CommitBuilder
    ) {
        if token.device.isEmpty || zoneStates[index].isDefault { return }
        let former = zoneStates[index].clientTokens[token.device]
        // Devices of others push none out: half of the room is the owner's.
        let othersLimit = Limits.clientTokensPerZone / 2
        if !isOwners, former.isEmpty, zoneStates[index].clientTokens.count >= othersLimit { return }
        if former == token.bytes { return }
        let grownBytes = former.isEmpty ? token.storedBytes : token.bytes.count - former.count
        if grownBytes > 0, let room = room(in: quota), grownBytes > room.bytes { return }
        withZone(at: index) { $0.put(token) }
        builder.note(token, inZone: zoneStates[index].incarnation)
    }

    /// Notes a changed record for query subscriptions, if somebody subscribed to its type.
    ///
    /// - Parameter slot: The slot of the record: after it was saved, or before it is deleted.
    func note(_ slot: Int32, _ reason: RecordChangeReason, inZoneAt index: Int, into builder: inout CommitBuilder) {
        if subscriptionTable.index.isEmpty { return }
        let record = zoneStates[index][slot]
        let type = record.type
        if !subscriptionTable.index.concerns(type) { return }
        builder.note(
            CommittedRecord(
                zone: zoneStates[index].id, name: record.name, type: type, reason: reason, bytes: record.bytes.array))
    }

    /// Puts a record into the zone at an index, which is of that incarnation, and returns its slot.
    ///
    /// - Parameters:
    ///   - existing: The slot of its older version, or nil for a new record.
    ///   - references: How its references differ from those of the older version, where that is known.
    @discardableResult
    func put(
        _ record: SharedBytes, marks: RecordMarks, replacing existing: Int32?, references: ReferenceChange = .unknown,
        inZoneAt index: Int, of incarnation: UInt64, into builder: inout CommitBuilder
    ) -> Int32 {
        builder.append(.recordPut(zone: incarnation, record: record))
        return putRecord(
            record, marks: marks, at: builder.nextPosition(), replacing: existing,
            references: references, inZoneAt: index)
    }
}

extension ZoneModificationResult {
    /// Whether a record was saved, or is as it was asked for.
    var holdsSave: Bool {
        saves.contains {
            if case .record = $0.outcome { true } else { false }
        }
    }

    /// Whether an item was done.
    fileprivate var holdsSuccess: Bool { holdsSave || deletions.contains { $0 == nil } }
}
