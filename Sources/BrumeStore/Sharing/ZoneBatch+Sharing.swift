internal import BrumeModel
internal import BrumeRecord

/// Shares and their roots in a batch (Documentation/CloudKit.md, Sharing):
///
/// - A share is always saved over the version that the client knows, whatever the policy.
/// - A batch that saves or deletes a share, or deletes a root, is atomic, whatever the request says: half of it would
///   leave a root without its share.
/// - A new share's name is put into its root, which gets a new tag with it, though nothing else changes.
/// - A root that goes takes its share with it (``ReferenceGraph``). A share that goes leaves a root, whose next version
///   does not name it; see ``settleSharing(in:)``.
extension ZoneBatch {
    /// A root that stays while its share goes, as it is to be stored.
    struct StagedRoot {
        let slot: Int32
        /// Where it stands in ``ZoneBatch/records``.
        let range: Range<Int>
        let marks: RecordMarks
    }

    /// What a record that concerns sharing says of it after a save.
    mutating func sharing(
        of save: RecordSave<CheckedFields>, over existing: RecordSlot?, in zone: ZoneState
    ) throws(ServiceError) -> SharingPart? {
        if save.type == Names.shareType { return try share(of: save, over: existing, in: zone) }
        guard let new = plan.roots[save.name] else { return existing?.sharing }
        return SharingPart(share: new.share, secret: new.secret)
    }

    private mutating func share(
        of save: RecordSave<CheckedFields>, over existing: RecordSlot?, in zone: ZoneState
    ) throws(ServiceError) -> SharingPart? {
        if case .set = save.parent { throw ZoneBatch.shareHasNoParent }
        let change = modification.shares[save.name] ?? ShareSave()
        guard let existing, let former = existing.sharing, let known = try read(former) else {
            var share = Share(secret: try plan.secret(ofShare: save.name))
            _ = try apply(change.edit, to: &share)
            return SharingPart(storedShare: ShareCoder.encode(share))
        }
        let changesFields = try changesFields(save, of: existing)
        let isManager = known.isManaged(by: caller.user, owner: owner)
        // Fields as they are may come with whatever a user changes, who may send all that they have.
        if !isManager, changesFields { throw Share.notManager }
        let root = zone.sharing.roots[save.name].map { zone[$0].name } ?? ""
        guard change.root.isEmpty || change.root == root else { throw ZoneBatch.rootStays }
        var share = known
        let isChanged = try apply(change.edit, to: &share)
        if !isChanged, !changesFields { return former }
        if !isManager {
            // The user leaves, and the share is written with what they are not shown.
            try shareBudget.takeReading(of: Limits.shareBytesChargedToLeave)
            share = former.decodedShare!
            _ = try apply(change.edit, to: &share)
        }
        share.noteChange(
            from: known, ofFields: changesFields, madeBy: ShownChange(of: existing.bytes, at: existing.position))
        return SharingPart(storedShare: ShareCoder.encode(share))
    }

    private mutating func apply(_ edit: ShareEdit, to share: inout Share) throws(ServiceError) -> Bool {
        try share.apply(
            edit, by: ShareVisitor(user: caller.user, handles: []), owner: owner, nowMilliseconds: nowMilliseconds,
            newSecret: { nextSecret() })
    }

    /// Reads a share as far as the caller is shown it; nil for what is none. What others are not shown counts for
    /// nothing with them.
    private mutating func read(_ part: SharingPart) throws(ServiceError) -> Share? {
        if part.storedShare.isEmpty { return nil }
        if member != nil {
            try shareBudget.takeReading(of: Limits.shareBytesCharged)
            if let front = part.decodedFront, !front.isManaged(by: caller.user, owner: owner) { return front }
        }
        try shareBudget.takeReading(of: part.storedShare.count)
        return part.decodedShare
    }

    private func changesFields(
        _ save: RecordSave<CheckedFields>, of existing: RecordSlot
    ) throws(ServiceError) -> Bool {
        if save.fields.puts.count == 0, save.fields.removals.isEmpty { return false }
        return try FieldMerge(save.fields, over: existing.bytes).isChanged
    }

    /// Whether a save comes with the tag of the version that the caller knows: of a share the last that they are shown.
    mutating func isOfKnownVersion(
        _ save: RecordSave<CheckedFields>, _ existing: RecordSlot
    ) throws(ServiceError) -> Bool {
        if hasShares, member != nil, save.type == Names.shareType, let part = existing.sharing,
            let share = try read(part), let viewer = share.viewer(caller.user, owner: owner),
            let change = share.shown(to: viewer)
        {
            return save.changeTag == change.changeTag
        }
        return existing.hasTag(save.changeTag)
    }

    mutating func nextSecret() -> [UInt8] {
        defer { secretPlace.index += 1 }
        return shareAddresses.newSecret(secretPlace)
    }

    /// The policy that a save follows.
    func policy(of save: RecordSave<CheckedFields>) -> SavePolicy {
        hasShares && save.type == Names.shareType ? .ifServerRecordUnchanged : savePolicy
    }

    /// A record that concerns sharing, as the caller is shown it. Throws `limitExceeded` when the request has been
    /// shown enough of shares.
    mutating func shown(_ record: SharedBytes) throws(ServiceError) -> SharedBytes {
        let showing = ShareShowing(
            owner: owner, user: caller.user, zone: secretPlace.zone, addresses: shareAddresses)
        guard let share = try read(StoredRecord.sharing(of: record)) else { return showing.shown(record) }
        try shareBudget.takeShowing(of: share)
        return showing.shown(record, share)
    }

    /// The bytes that a save over a record counts for.
    func mergedBytes(of existing: RecordSlot) -> Int {
        guard member != nil, existing.marks.contains(.sharing), let part = existing.sharing, !part.storedShare.isEmpty
        else { return existing.byteCount }
        return existing.byteCount - part.byteCount + Limits.shareBytesCharged
    }

    /// What a save of a record that concerns sharing is answered with. A root that the client knows comes without its
    /// fields, as any record does.
    mutating func sharingAnswer(
        _ record: SharedBytes, systemByteCount: Int, isKnown: Bool, _ part: SharingPart
    ) throws(ServiceError) -> SaveResult<SharedBytes> {
        let isShort = isKnown && part.storedShare.isEmpty
        let answer = try shown(isShort ? record.part(0..<systemByteCount) : record)
        guard bytesLeft.takeAnswer(answer.count) else { throw ZoneBatch.answerIsFull }
        return .done(answer, fieldsOmitted: isShort)
    }

    // MARK: What goes

    /// Takes the names of the shares that go off the roots that stay. Done when it is settled what goes.
    mutating func settleSharing(in zone: ZoneState) {
        if isAtomic && hasFailed || zone.sharing.isEmpty && plan.isEmpty { return }
        do throws(ServiceError) {
            let saved = Set(staged.map { modification.saves[$0.item].name })
            for (root, new) in plan.roots where saved.contains(new.share) != saved.contains(root) {
                throw ZoneBatch.rootGoes
            }
            var going: Set<Int32>?
            for deletion in deletions where zone.slots.marks(of: deletion.slot).contains(.sharing) {
                guard let root = zone.sharing.roots[deletion.name], zone.sharing.shares[deletion.name] == deletion.slot
                else { continue }
                let slots = going ?? Set(deletions.map(\.slot))
                going = slots
                if !slots.contains(root) { try unshare(root, in: zone) }
            }
        } catch {
            failWhole(error)
        }
    }

    /// Stages a root without the name of its share: a new version of it, or of what this batch saves there.
    private mutating func unshare(_ root: Int32, in zone: ZoneState) throws(ServiceError) {
        // Below a record of another share, all of it comes into that one.
        if let tree = zone.trees.tree(of: root), let parent = trees?.parent(of: root, in: zone), !parent.isEmpty,
            try cover(of: parent, in: zone) != 0
        {
            try shareBudget.takeMove(ofAll: tree.count)
        }
        let place = staged.firstIndex { $0.existing == root }
        let record = place.map { SharedBytes(of: records, at: staged[$0].range) } ?? zone.slots.bytes(of: root)
        guard bytesLeft.takeMerge(of: record.count) else { throw ZoneBatch.mergeIsFull }
        let former = record.withUnsafeBytes { StoredRecord.sharing(of: $0) }
        let (tag, user, now) = (tag.text, caller.user, nowMilliseconds)
        let unshared = try StoredRecord.resharing(record, SharingPart(secret: former.secret)) { system in
            (system.changeTag, system.modifier, system.modifiedMilliseconds) = (tag, user, now)
        }
        let range = append(unshared)
        let name = zone[root].name
        if let place {
            staged[place].range = range
        } else {
            roots.append(StagedRoot(slot: root, range: range, marks: zone.slots.marks(of: root)))
        }
        // A root that was saved in this batch, even one that was as it is, is answered as it is now.
        if let item = modification.saves.firstIndex(where: { $0.name == name }) {
            answer(save: item, StoredRecord.shown(SharedBytes(unshared)))
        }
    }

    static let notShare = ServiceError(
        .invalidArguments, "a share can't be saved as a record of another type; save it as a share")
    private static let shareHasNoParent = ServiceError(
        .invalidArguments, "a share has no parent; set the parent of its root record")
    private static let rootStays = ServiceError(
        .invalidArguments, "a share keeps its root record; delete the share, and make one of the other record")
    private static let rootGoes = ServiceError(
        .invalidArguments,
        "a new share or its root would be deleted with what the same request deletes; leave out the one or the other")
}
