internal import BrumeModel
internal import BrumeRecord

/// What users who do not own a zone may do in it (Documentation/CloudKit.md, Sharing):
///
/// - A record that they don't see is to them as one that does not exist, but that its name is taken.
/// - With trees of records they may make records below those that they may write, and change and delete these. What
///   they save stays in its tree, and roots are their owner's.
extension ZoneBatch {
    /// Throws for whoever may write nothing that is in the zone.
    func checkPermission() throws(ServiceError) {
        if let member, !member.mayWrite { throw ZoneBatch.isReadOnly }
    }

    /// Throws for whoever may not write a record that they see.
    func checkPermission(of slot: Int32, in zone: ZoneState) throws(ServiceError) {
        if let member, member.permission(of: slot, in: zone) != .readWrite { throw ZoneBatch.isReadOnly }
    }

    /// Checks where a save puts its record among the trees of the zone: throws why it can't stand there.
    ///
    /// - Parameter existing: The slot of the record; nil for a new one.
    mutating func checkTree(
        of save: RecordSave<CheckedFields>, over existing: Int32?, in zone: ZoneState
    ) throws(ServiceError) {
        guard case .trees(let trees) = member?.reach else {
            // For the owner it is a question of its cost alone.
            return try takeMove(of: save.name, over: existing, in: zone)
        }
        guard let existing else {
            let number = try cover(of: save.name, in: zone)
            guard trees.parts[number]?.permission == .readWrite else { throw ZoneBatch.isOutside }
            // Its name is taken, of which nothing else is to be told.
            if zone.liveSlot(of: save.name) != nil { return }
            return try takeMove(of: save.name, over: nil, in: zone)
        }
        switch save.parent {
        case .unchanged: return
        case .set(let parent) where zone.kinship(of: existing) == .init(parent: parent): return
        case .removed: throw ZoneBatch.leavesTree
        case .set(let parent):
            if !zone.kinship(of: existing).share.isEmpty || zone.sharing.shares[parent] != nil {
                throw ZoneBatch.leavesTree
            }
            guard try cover(of: save.name, in: zone) == zone.trees.cover(of: existing) else {
                throw ZoneBatch.leavesTree
            }
        }
    }

    /// Takes room for what a save brings into a tree, or takes out of one, with the record.
    private mutating func takeMove(of name: String, over existing: Int32?, in zone: ZoneState) throws(ServiceError) {
        if trees == nil { return }
        guard let existing else {
            // Records below a name that is free: its record was deleted by somebody who did not see them.
            let orphans = zone.references.children(of: name)
            if orphans.isEmpty { return }
            if plan.roots[name] == nil, try cover(of: name, in: zone) == 0 { return }
            for orphan in orphans where !zone.isRoot(orphan) { try shareBudget.takeMove(of: orphan, in: zone) }
            return
        }
        guard trees!.movesTrees else { return }
        if plan.roots[name] != nil, !trees!.movesOthersThanRoots,
            zone.isReady(treeBelow: name, before: secretPlace.sequence)
        {
            return
        }
        let becomesOther = trees!.moves(name) ? try cover(of: name, in: zone) != zone.trees.cover(of: existing) : false
        if becomesOther || plan.roots[name] != nil { try shareBudget.takeMove(of: existing, in: zone) }
    }

    mutating func cover(of name: String, in zone: ZoneState) throws(ServiceError) -> UInt32 {
        let number = trees!.cover(of: name, in: zone)
        if trees!.stepsLeft < 0 { throw ShareTree.isTooDeep }
        return number
    }

    /// Throws where a save refers to a share in a way that would keep its owner from deleting it.
    func checkTargets(
        parent: String?, _ targets: Set<String>, in zone: ZoneState
    ) throws(ServiceError) {
        guard let member else { return }
        if let parent, member.takesPart(inShare: parent, of: zone) { throw ZoneBatch.shareIsNoTarget }
        if targets.contains(where: { member.takesPart(inShare: $0, of: zone) }) { throw ZoneBatch.shareIsNoTarget }
    }

    static let isReadOnly = ServiceError(
        .permissionFailure,
        "this user may only read what is shared with them there; ask its owner for the permission to write")
    static let isOutside = ServiceError(
        .permissionFailure,
        "a new record needs a parent that is shared with this user, and that they may write; set its parent, and save"
            + " that before or with it")
    private static let leavesTree = ServiceError(
        .permissionFailure,
        "a user with whom a record is shared can't take it out of its share, nor give its root a parent; ask its owner")
    static let isRoot = ServiceError(
        .permissionFailure, "only its owner deletes the root of a share; delete the share to leave it")
    /// Records that stay, or too many that fall, would keep its owner from deleting the share.
    private static let shareIsNoTarget = ServiceError(
        .permissionFailure,
        "another user's share is no record's parent, and no record goes with it; refer to another record")
}
