internal import BrumeModel
internal import BrumeRecord

/// Decides the saves and deletions that one request asks for in one zone, without changing the zone.
///
/// Every item is looked at by itself first (names, permissions, tags, limits: `ZoneBatch+Checks.swift`); what passes is
/// *staged*. Then references are checked against the state after the whole batch, so that the order of items does not
/// matter; see `ZoneBatch+References.swift`. An atomic batch with any failure stages nothing, and its other items
/// fail with `batchRequestFailed`; otherwise items that fail leave and the rest goes on.
struct ZoneBatch {
    struct StagedSave {
        /// The index of the save in the zone's part of the request.
        let item: Int
        /// The older version's slot, or nil for a new record.
        let existing: Int32?
        /// Where it stands in ``records``, as it will be stored.
        var range: Range<Int>
        let marks: RecordMarks
        /// How many of its bytes are the answer: all, or those before its fields; 0: the answer is given already.
        let answerCount: Int
        /// Whether this save names a parent that the record did not have before.
        let setsParent: Bool
        /// Whether `deleteSelf` references differ from those of the older version.
        let changesCascades: Bool
        /// Where ``ZoneBatch/references`` tells how the record's references or its parent change, or -1.
        let references: Int32
    }

    struct StagedDeletion {
        /// The index of the deletion in the zone's part of the request, or nil for a cascade.
        let item: Int?
        let slot: Int32
        let name: String
        /// What the record says of others.
        let references: RecordReferences
    }

    let modification: ZoneModification<CheckedFields>
    let savePolicy: SavePolicy
    var isAtomic: Bool
    let caller: Caller
    /// The caller's part in a zone that another user owns; nil for the owner, and in public databases.
    let member: ZoneMember?
    /// The zone's owner: a user record name, empty in a public database.
    let owner: String
    let shareAddresses: ShareAddresses
    /// Where the next secret of a share is made.
    var secretPlace: ShareAddresses.Place
    /// The run of the server that made the zone.
    let runOfZone: UInt32
    let scope: DatabaseScope
    let tag: ChangeTag
    private let tagText: [UInt8]
    let nowMilliseconds: Int64
    /// Saves that are refused for the keys of what they encrypt, by their indices.
    let keyRefusals: [Int: ServiceError]
    /// What a save fails with that puts a plain asset into a field; nil where it may.
    let plainAssetRefusal: ServiceError?
    /// What references may still cost.
    var referenceBudget: ReferenceBudget
    /// What saves may still read and answer.
    var bytesLeft: ByteBudget
    /// What saves of shares may still cost.
    var shareBudget: ShareBudget
    /// How many names the caller may still be told to be taken.
    private(set) var takenNames: TakenNameRoom
    /// The assets that saves may name although no record names them; nil for none.
    let grants: Set<Asset>?
    /// How many assets the records may still name.
    var assetsLeft: Int
    /// The quota of records, and how much of it was used before this batch; nil for no limit.
    let quota: QuotaRoom?
    /// Which assets records name, and which are pending; nil where no quota counts them.
    let blobs: BlobsInUse?
    /// Bytes of the assets that the records name of all saves that were ever staged, however often.
    var namedAssetBytes = 0

    var staged: [StagedSave] = []
    /// Roots whose shares go, and that are not among ``staged``.
    var roots: [StagedRoot] = []
    private(set) var plan = SharePlan()
    /// Which trees cover the records after the batch; nil where none do, and nobody asks.
    var trees: BatchTrees?
    /// Whether a save is one of a share.
    private(set) var hasShares = false
    /// The encoded records of all saves that were ever staged, one after the other: what is answered and what the
    /// journal gets are parts of it, so that a record of a batch needs no memory of its own for either.
    var records: [UInt8] = []
    var deletions: [StagedDeletion] = []
    /// How staged saves change the references of their records, for those that do.
    private(set) var references: [StagedReferences] = []
    var saveResults: [SaveResult<SharedBytes>] = []
    var deletionResults: [ServiceError?] = []
    var hasFailed = false

    init(
        _ modification: ZoneModification<CheckedFields>, savePolicy: SavePolicy, member: ZoneMember? = nil,
        isAtomic: Bool,
        caller: Caller,
        owner: String = "", scope: DatabaseScope, tag: ChangeTag, nowMilliseconds: Int64, bytesLeft: ByteBudget,
        referenceBudget: ReferenceBudget, shareBudget: ShareBudget = ShareBudget(), shareAddresses: ShareAddresses,
        secretPlace: ShareAddresses.Place, runOfZone: UInt32, takenNames: TakenNameRoom = .unlimited,
        grants: Set<Asset>? = nil, assetsLeft: Int = Limits.assetsPerRequest, quota: QuotaRoom? = nil,
        blobs: BlobsInUse? = nil, keyRefusals: [Int: ServiceError] = [:],
        plainAssetRefusal: ServiceError? = nil
    ) {
        self.modification = modification
        self.savePolicy = savePolicy
        self.isAtomic = isAtomic
        self.caller = caller
        self.member = member
        self.owner = owner
        self.shareAddresses = shareAddresses
        self.secretPlace = secretPlace
        self.runOfZone = runOfZone
        self.shareBudget = shareBudget
        self.scope = scope
        self.tag = tag
        tagText = tag.utf8
        self.nowMilliseconds = nowMilliseconds
        self.bytesLeft = bytesLeft
        self.referenceBudget = referenceBudget
        self.takenNames = takenNames
        self.grants = grants
        self.assetsLeft = assetsLeft
        self.quota = quota
        self.blobs = blobs
        self.keyRefusals = keyRefusals
        self.plainAssetRefusal = plainAssetRefusal
    }

    /// Decides. Afterwards `staged` and `deletions` are what is to be applied, saves first.
    mutating func evaluate(in zone: ZoneState) -> ZoneModificationResult<SharedBytes> {
        let repeated = modification.isKnownDistinct ? [] : repeatedNames()
        let allSaves = modification.saves
        // Read in place: a copy of a save would retain each of its parts.
        let saves = allSaves.span
        saveResults.reserveCapacity(saves.count)
        staged.reserveCapacity(saves.count)
        planShares(in: zone)
        // A single save grows the array by what it needs.
        if saves.count > 1 { records.reserveCapacity(expectedRecordBytes) }
        for item in saves.indices {
            let start = records.count
            do throws(ServiceError) {
                if !repeated.isEmpty, repeated.contains(saves[item].name) { throw ZoneBatch.repeatedName }
                saveResults.append(try stage(saves[item], item: item, in: zone))
            } catch {
                var error = error
                if let record = error.serverRecord, !bytesLeft.takeAnswer(record.count) {
                    error = ZoneBatch.answerIsFull
                }
                saveResults.append(SaveResult(outcome: .failure(error)))
                hasFailed = true
                // A record that is too large was encoded, too: of four hundred such records none may stay.
                records.removeSubrange(start...)
            }
        }
        answerStaged()
        for (item, name) in modification.deletions.enumerated() {
            let error =
                !repeated.isEmpty && repeated.contains(name)
                ? ZoneBatch.repeatedName
                : modification.refusedDeletions[name] ?? stageDeletion(of: name, item: item, in: zone)
            deletionResults.append(error)
            if error != nil { hasFailed = true }
        }
        failOverQuota(in: zone)
        if needsReferencesSettled(in: zone) {
            settleReferences(in: zone)
            // Deletions and shrinking saves that made room may have failed. If this fails more saves, the next time all
            // that would grow fail together: one after the other they could fail each other for as many rounds as there
            // are items.
            var isLast = false
            while !(isAtomic && hasFailed), failOverQuota(in: zone, allThatGrow: isLast) {
                settleReferences(in: zone)
                isLast = true
            }
        }
        if let trees { shareBudget.moveSteps = trees.stepsLeft }
        settleSharing(in: zone)
        if isAtomic, hasFailed { failUnattempted() }
        return ZoneModificationResult(saves: saveResults, deletions: deletionResults)
    }

    private mutating func planShares(in zone: ZoneState) {
        defer { planTrees(in: zone) }
        if modification.isKnownDistinct { return }
        hasShares = modification.saves.contains { $0.type == Names.shareType }
        if !hasShares { return }
        // Nothing is shared in a default zone, and nothing is atomic there.
        if !zone.isDefault { isAtomic = true }
        let run = runOfZone
        var steps = shareBudget.steps
        defer { shareBudget.steps = steps }
        plan = SharePlan(
            of: modification, in: zone, scope: scope, steps: &steps,
            secretOfZone: { [shareAddresses] in shareAddresses.secretOfZone(run, $0) }, newSecret: { nextSecret() })
    }

    private mutating func planTrees(in zone: ZoneState) {
        if zone.trees.isEmpty && plan.roots.isEmpty { return }
        trees = BatchTrees(
            modification, in: zone, member, plan, steps: shareBudget.moveSteps)
        if member != nil, trees!.movesTrees { isAtomic = true }
    }

    /// About what ``records`` will have: what was sent, and what the server adds. A record that keeps fields of its
    /// older version needs more.
    private var expectedRecordBytes: Int {
        let systemBytes = 64 + 2 * caller.user.utf8.count + tagText.count
        var count = 0
        let saves = modification.saves
        for save in saves.span.indices {
            count += systemBytes + saves[save].name.utf8.count + saves[save].type.utf8.count
            count += saves[save].fields.puts.bytes.count
        }
        return count
    }

    /// Answers what was staged. Not earlier: sharing a part of ``records`` while it grows would force a copy of it.
    private mutating func answerStaged() {
        for index in staged.indices where staged[index].answerCount > 0 {
            let start = staged[index].range.lowerBound
            saveResults[staged[index].item].outcome = .record(
                SharedBytes(of: records, at: start..<start + staged[index].answerCount))
        }
    }

    private static let repeatedName = ServiceError(
        .invalidArguments, "a record is named twice in one request; save or delete each record once")

    private func repeatedNames() -> Set<String> {
        if modification.saves.count + modification.deletions.count < 2 { return [] }
        var seen = Set<String>(minimumCapacity: modification.saves.count + modification.deletions.count)
        var repeated = Set<String>()
        for save in modification.saves where !seen.insert(save.name).inserted { repeated.insert(save.name) }
        for name in modification.deletions where !seen.insert(name).inserted { repeated.insert(name) }
        return repeated
    }

    // MARK: One item

    /// Checks one save by itself and stages it, unless it changes nothing. Throws why the save is refused.
    ///
    /// What was staged is answered later: see ``answerStaged()``.
    private mutating func stage(
        _ save: RecordSave<CheckedFields>, item: Int, in zone: ZoneState
    ) throws(ServiceError) -> SaveResult<SharedBytes> {
        if let problem = save.fields.problem { throw problem }
        if !save.stamp.isEmpty { try checkStamp(of: save) }
        let slot = zone.liveSlot(of: save.name)
        let existing = slot.map { zone[$0] }
        if let slot, let existing, zone.isVisible(slot, to: member) {
            // What users may change of shares the share says.
            if save.type != Names.shareType { try checkPermission(of: slot, in: zone) }
            try check(save, over: existing)
            try checkTree(of: save, over: slot, in: zone)
            guard bytesLeft.takeMerge(of: mergedBytes(of: existing)) else { throw ZoneBatch.mergeIsFull }
        } else {
            try checkNew(save)
            try checkTree(of: save, over: nil, in: zone)
            if case .trees = member?.reach { try takenNames.check() }
            if existing != nil {
                takenNames.take()
                throw ZoneBatch.takenName
            }
        }
        // Behind all that says what the caller may do and see.
        if !keyRefusals.isEmpty, let refusal = keyRefusals[item] { throw refusal }
        let isSharing = hasShares || existing?.marks.contains(.sharing) == true
        let sharing = isSharing ? try sharing(of: save, over: existing, in: zone) : nil
        let merged = try MergedRecord.of(save, over: existing, sharing: sharing, budget: &bytesLeft)
        var isKnownToClient = true
        let isHidden = existing.map { self.isHidden($0) } ?? false
        if let existing, !isHidden {
            isKnownToClient = isKnown(existing, to: save, whichHoldsAll: merged.fields.isWhatWasSent)
            if !merged.isChanged, let part = merged.sharing {
                return try sharingAnswer(
                    existing.bytes, systemByteCount: merged.fields.storedSystemFields.count, isKnown: isKnownToClient,
                    part)
            }
            if !merged.isChanged {
                let bytes = isKnownToClient ? merged.fields.storedSystemFields : existing.bytes
                guard bytesLeft.takeAnswer(bytes.count) else { throw ZoneBatch.answerIsFull }
                return .done(bytes, fieldsOmitted: isKnownToClient)
            }
        }
        let start = records.count
        let systemByteCount = merged.fields.encode(
            into: &records, name: save.name, type: save.type, changeTag: tagText, user: caller.user,
            savedMilliseconds: nowMilliseconds, parent: merged.parent ?? "", stamp: merged.stamp,
            sharing: merged.sharing)
        let range = start..<records.count
        // Without what others add to a share: they can't make its owner's saves fail.
        if range.count - (merged.sharing?.byteCount ?? 0) > Limits.recordBytes {
            throw ServiceError(
                .limitExceeded,
                """
                a record would have more than \(Limits.recordBytes) bytes, the most that one may have: store less in it
                """)
        }
        // What tells less than the record as it is stored.
        var otherAnswer: SaveResult<SharedBytes>?
        if isHidden {
            let answer = hiddenAnswer(to: save)
            guard bytesLeft.takeAnswer(answer.count) else { throw ZoneBatch.answerIsFull }
            otherAnswer = .done(answer, fieldsOmitted: true)
        } else if let part = merged.sharing {
            otherAnswer = try sharingAnswer(
                SharedBytes(Array(records[range])), systemByteCount: systemByteCount, isKnown: isKnownToClient, part)
        }
        let answerCount = otherAnswer != nil ? 0 : isKnownToClient ? systemByteCount : range.count
        guard bytesLeft.takeAnswer(answerCount) else { throw ZoneBatch.answerIsFull }
        var findings = ReferenceFindings()
        if merged.parent != nil || save.fields.mayHoldReferences || existing?.refersToOthers == true {
            findings = try findReferences(
                of: save, over: existing, merged: merged,
                fields: SharedBytes(of: records, at: start + systemByteCount..<records.count), in: zone)
        }
        var namesAssets = false
        if save.fields.mayHoldAssets || existing?.marks.contains(.assets) == true {
            namesAssets = try self.namesAssets(
                of: save, SharedBytes(of: records, at: start + systemByteCount..<range.upperBound), over: existing,
                isHidden: isHidden)
            // Behind what may be named at all: a client uploads anew what it may not name, and then encrypted.
            try checkPlainAssets(of: save, over: existing)
        }
        if let change = findings.references { references.append(change) }
        staged.append(
            StagedSave(
                item: item, existing: slot, range: range,
                marks: findings.marks(merged.sharing, namesAssets: namesAssets),
                answerCount: answerCount,
                setsParent: merged.parent != nil && merged.formerParent != merged.parent,
                changesCascades: findings.changesCascades,
                references: findings.references == nil ? -1 : Int32(references.count - 1)))
        return otherAnswer ?? .staged(fieldsOmitted: isKnownToClient)
    }

    /// Checks one deletion by itself and stages it. Deleting a missing record succeeds, and so does deleting one that
    /// the caller may neither read nor change: it is as missing to them.
    private mutating func stageDeletion(of name: String, item: Int, in zone: ZoneState) -> ServiceError? {
        guard let slot = zone.liveSlot(of: name), zone.isVisible(slot, to: member) else { return nil }
        let record = zone[slot]
        let refusal =
            record.isOfType(Names.userRecordType) ? ZoneBatch.userRecordRefusal : writeRefusal(of: record)
        if let refusal { return mayRead(record) ? refusal : nil }
        do throws(ServiceError) { try checkPermission(of: slot, in: zone) } catch { return error }
        if case .trees = member?.reach, !zone.kinship(of: slot).share.isEmpty { return ZoneBatch.isRoot }
        if record.marks.contains(.sharing), let part = record.sharing, !part.share.isEmpty || !part.storedShare.isEmpty
        {
            isAtomic = true
        }
        guard let cascades = referenceBudget.read(record) else { return ZoneBatch.referencesAreFull }
        deletions.append(
            StagedDeletion(
                item: item, slot: slot, name: name,
                references: RecordReferences(parent: record.parent, targets: cascades.targets)))
        return nil
    }

    static let answerIsFull = ServiceError(
        .limitExceeded, "the answer has no room for this record; send the item in another request")
    static let mergeIsFull = ServiceError(
        .limitExceeded,
        """
        the stored records that this request saves have more than \(Limits.mergedBytesPerRequest) bytes, or \
        \(Limits.mergedFieldsPerRequest) fields; send the item in another request
        """)
}
