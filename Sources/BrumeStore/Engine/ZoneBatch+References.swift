internal import BrumeModel
internal import BrumeRecord

/// What the items of a batch refer to. The rules are those of ``ReferenceSettlement``.
extension ZoneBatch {
    /// How a staged save changes what its record says of others. What both have in common may be missing from both.
    struct StagedReferences {
        let from: RecordReferences
        let to: RecordReferences
    }

    /// What was found out about a staged save's references.
    struct ReferenceFindings {
        /// Whether the record has a parent or references that delete it with their targets.
        var refersToOthers = false
        /// Whether `deleteSelf` references differ from those of the older version.
        var changesCascades = false
        /// Nil when nothing changes.
        var references: StagedReferences?

        /// Those of the record as it is to be.
        func marks(_ sharing: SharingPart?, namesAssets: Bool) -> RecordMarks {
            var marks: RecordMarks = refersToOthers ? .refersToOthers : []
            if sharing != nil { marks.insert(.sharing) }
            if namesAssets { marks.insert(.assets) }
            return marks
        }
    }

    /// Looks at the references of a save, as far as they may have changed.
    ///
    /// - Parameter fields: The encoded fields of the record as it is to be.
    mutating func findReferences(
        of save: RecordSave<CheckedFields>, over existing: RecordSlot?, merged: borrowing MergedRecord,
        fields: SharedBytes, in zone: ZoneState
    ) throws(ServiceError) -> ReferenceFindings {
        let referred = existing?.refersToOthers ?? false
        let mayChange = referred ? merged.fields.changesReferences : save.fields.mayHoldReferences
        if !referred, !mayChange, merged.parent == nil { return ReferenceFindings() }
        var (before, after) = (StoredRecord.Cascades(), StoredRecord.Cascades())
        // A record that loses its parent refers to no other record, unless a field does.
        let losesParent = referred && merged.formerParent != nil && merged.parent == nil
        if mayChange || losesParent {
            let older = referred && mayChange ? existing : nil
            guard let read = referenceBudget.read(older: older, newer: fields) else {
                throw ZoneBatch.referencesAreFull
            }
            (before, after) = read
            if older == nil, losesParent { before = after }
            guard after.targets.count <= max(Limits.cascadeReferencesPerRecord, before.targets.count) else {
                throw ZoneBatch.tooManyReferencesOfRecord
            }
        }
        var findings = ReferenceFindings(
            refersToOthers: merged.parent != nil || !after.targets.isEmpty,
            changesCascades: mayChange && before.targets != after.targets)
        if !mayChange, !losesParent, referred {
            // Its fields are as they were, and may refer to others as well as the parent did.
            findings.refersToOthers = true
        }
        if member != nil {
            let newTargets = findings.changesCascades ? Set(after.targets).subtracting(before.targets) : []
            try checkTargets(
                parent: merged.formerParent != merged.parent ? merged.parent : nil, newTargets, in: zone)
        }
        if findings.changesCascades || merged.parent != merged.formerParent {
            findings.references = StagedReferences(
                from: RecordReferences(
                    parent: merged.formerParent ?? "", targets: findings.changesCascades ? before.targets : []),
                to: RecordReferences(
                    parent: merged.parent ?? "", targets: findings.changesCascades ? after.targets : []))
        }
        return findings
    }

    func needsReferencesSettled(in zone: ZoneState) -> Bool {
        for index in staged.indices where staged[index].setsParent || staged[index].changesCascades { return true }
        return !deletions.isEmpty && !(zone.references.isEmpty && zone.sharing.isEmpty)
    }

    mutating func settleReferences(in zone: ZoneState) {
        let isPublic = scope == .public
        let callerKey = isPublic ? UserKey(caller.user) : .all
        var settlement = ReferenceSettlement(
            zone: zone,
            saves: staged.map { save in
                ReferenceSettlement.Save(
                    staged: save, name: modification.saves[save.item].name,
                    change: save.references < 0 ? nil : references[Int(save.references)],
                    user: isPublic ? save.existing.map { zone.references.user(of: zone[$0]) } ?? callerKey : .all)
            },
            deletions: deletions, isAtomic: isAtomic, caller: caller, user: callerKey, budget: referenceBudget,
            member: member)
        settlement.settle { modification.saves.map(\.name) }
        for (save, error) in settlement.saveFailures { fail(stagedSave: save, error) }
        for (item, error) in settlement.deletionFailures { fail(requestedDeletion: item, error) }
        let stands = settlement.stands
        keepStaged { index, _ in stands[index] }
        setDeletions(settlement.deletions)
        referenceBudget = settlement.budget
    }

    /// How the save at a place of ``staged`` changes what its record says of others.
    func referenceChange(ofStaged place: Int) -> ReferenceChange {
        let index = Int(staged[place].references)
        return index < 0 ? .none : .changed(from: references[index].from, to: references[index].to)
    }

    static let tooManyReferencesOfRecord = ServiceError(
        .limitExceeded,
        """
        a record would have more than \(Limits.cascadeReferencesPerRecord) deleteSelf references; let the records refer to it \
        instead, or use references without deleteSelf
        """)
    static let referencesAreFull = ServiceError(
        .limitExceeded,
        """
        the records of this request bring or take away more than \(Limits.cascadeReferencesPerRequest) deleteSelf references, or \
        hold too many of any kind; send the item in another request
        """)
}
