internal import BrumeModel

/// The rules of references, checked against the state after the batch (cloudkit.md 2.6):
///
/// - A save that names a parent needs it to exist. (`referenceViolation`)
/// - A requested deletion takes with it every record that points to a deleted one with `deleteSelf`, recursively, over
///   cycles and through lists. A record that is saved and falls to a cascade in the same batch is saved, then deleted.
/// - A deletion that would leave a record whose parent is gone, directly or by its cascade, is refused whole.
///   (`referenceViolation`) Not so in the public database: there one user's record must not keep another's from going.
/// - At most ``Limits/cascadeReferencesPerTarget`` `deleteSelf` references point to one name. (`limitExceeded`)
/// - User records never fall to a cascade.
///
/// An item that fails changes what holds for the others, so a batch that is not atomic is settled in rounds. Rounds share
/// a bound on the records that they visit; beyond it the remaining deletions fail with `limitExceeded`.
extension ZoneBatch {
    private static let visitsLimit = 4 * Limits.changesPerCommit

    func needsReferencesSettled(in zone: ZoneState) -> Bool {
        for index in staged.indices where staged[index].setsParent || staged[index].changesCascades { return true }
        return !deletions.isEmpty && zone.holdsReferences
    }

    mutating func settleReferences(in zone: ZoneState) {
        var visits = 0
        var canStillFail = true
        while canStillFail {
            canStillFail = false
            failOrphans(in: zone)
            let view = PostBatchView(zone: zone, staged: staged, records: records)
            let room = changesLeft - staged.count
            guard let closure = view.closure(of: deletions, limit: min(room, ZoneBatch.visitsLimit - visits)) else {
                for deletion in deletions {
                    if let item = deletion.item { fail(requestedDeletion: item, ZoneBatch.tooManyChanges) }
                }
                setDeletions([])
                visits = 0
                canStillFail = !isAtomic
                continue
            }
            visits += closure.count
            let blocked = scope == .public ? [] : view.blocked(in: closure)
            var overLimit = Set<Int>()
            for index in view.savesOverCascadeLimit(deleted: closure) {
                fail(stagedSave: index, ZoneBatch.tooManyCascades)
                overLimit.insert(index)
            }
            for deletion in deletions where blocked.contains(deletion.name) {
                if let item = deletion.item { fail(requestedDeletion: item, ZoneBatch.stillAParent) }
            }
            if overLimit.isEmpty, blocked.isEmpty {
                setDeletions(view.deletions(requested: deletions, closure: closure))
                if !closure.isEmpty { keepStaged { [records] in !closure.contains($1.record(in: records).name) } }
                return
            }
            keepStaged { index, _ in !overLimit.contains(index) }
            setDeletions(deletions.filter { !blocked.contains($0.name) })
            canStillFail = !isAtomic
        }
    }

    /// Fails saves whose new parent neither exists nor is made by this batch, until none is left.
    ///
    /// In an atomic batch a parent whose own save failed counts as made: its child is innocent.
    private mutating func failOrphans(in zone: ZoneState) {
        while staged.contains(where: \.setsParent) {
            let made = Set(isAtomic ? modification.saves.map(\.name) : staged.map { $0.record(in: records).name })
            var orphans = Set<Int>()
            for (index, save) in staged.enumerated() where save.setsParent {
                let parent = save.record(in: records).parent
                if made.contains(parent) || zone.liveSlot(of: parent) != nil { continue }
                fail(stagedSave: index, ZoneBatch.missingParent)
                orphans.insert(index)
            }
            if orphans.isEmpty { return }
            keepStaged { index, _ in !orphans.contains(index) }
        }
    }

    private static let missingParent = ServiceError(
        .referenceViolation, "the record's parent does not exist; save it in the same batch or before")
    private static let stillAParent = ServiceError(
        .referenceViolation,
        "the record, or one that goes with it, is the parent of a record that stays; delete that in the same batch")
    private static let tooManyCascades = ServiceError(
        .limitExceeded,
        "more than \(Limits.cascadeReferencesPerTarget) deleteSelf references would point to one record; use a parent")
    private static let tooManyChanges = ServiceError(
        .limitExceeded,
        "the request and its cascades change more than \(Limits.changesPerCommit) records; delete the referring ones first"
    )
}

/// A zone as it would be with the staged saves in it.
private struct PostBatchView {
    let zone: ZoneState
    let staged: [ZoneBatch.StagedSave]
    /// Those of the staged saves, in their order.
    private let records: [RecordSlot]
    private var stagedOfName: [String: Int] = [:]
    private var stagedOfSlot: [Int32: Int] = [:]
    private var stagedChildren: [String: [Int]] = [:]
    private var stagedReferrers: [String: [Int]] = [:]
    /// Nothing in the zone or the batch refers to anything: deletions stand alone.
    private let isWithoutReferences: Bool

    init(zone: ZoneState, staged: [ZoneBatch.StagedSave], records bytes: [UInt8]) {
        self.zone = zone
        self.staged = staged
        records = staged.map { $0.record(in: bytes) }
        isWithoutReferences =
            !zone.holdsReferences
            && staged.allSatisfy { !$0.refersToOthers }
        if isWithoutReferences { return }
        for (index, save) in staged.enumerated() {
            let record = records[index]
            stagedOfName[record.name] = index
            if let slot = save.existing { stagedOfSlot[slot] = index }
            if !record.parent.isEmpty { stagedChildren[record.parent, default: []].append(index) }
            for target in record.cascadeTargets { stagedReferrers[target, default: []].append(index) }
        }
    }

    private func record(named name: String) -> RecordSlot? {
        if let index = stagedOfName[name] { return records[index] }
        return zone.liveSlot(of: name).map { zone[$0] }
    }

    private func forEachReferrer(of name: String, _ body: (RecordSlot) -> Void) {
        for slot in zone.referrers(of: name) where stagedOfSlot[slot] == nil { body(zone[slot]) }
        for index in stagedReferrers[name] ?? [] { body(records[index]) }
    }

    /// The deleted records and all that falls with them, by name; nil when there are more than `limit`.
    func closure(of deletions: [ZoneBatch.StagedDeletion], limit: Int) -> Set<String>? {
        var closure = Set(deletions.map(\.name))
        if closure.count > limit { return nil }
        if isWithoutReferences { return closure }
        var pending = deletions.map(\.name)
        while let name = pending.popLast() {
            forEachReferrer(of: name) { record in
                if record.type == Names.userRecordType { return }
                if closure.insert(record.name).inserted { pending.append(record.name) }
            }
            if closure.count > limit { return nil }
        }
        return closure
    }

    /// Those of the closure that can't go: the parents of records that stay, and everything whose deletion would take one.
    func blocked(in closure: Set<String>) -> Set<String> {
        if isWithoutReferences { return [] }
        var blocked = Set<String>()
        var pending: [String] = []
        for name in closure where hasChild(of: name, outside: closure) {
            blocked.insert(name)
            pending.append(name)
        }
        while let name = pending.popLast() {
            guard let record = record(named: name) else { continue }
            for target in record.cascadeTargets + [record.parent] {
                if closure.contains(target), blocked.insert(target).inserted { pending.append(target) }
            }
        }
        return blocked
    }

    private func hasChild(of name: String, outside closure: Set<String>) -> Bool {
        for slot in zone.children(of: name) where stagedOfSlot[slot] == nil {
            if !closure.contains(zone[slot].name) { return true }
        }
        for index in stagedChildren[name] ?? [] where !closure.contains(records[index].name) { return true }
        return false
    }

    /// Staged saves that would be reference number 751 or higher to a name, in the order of the request.
    func savesOverCascadeLimit(deleted closure: Set<String>) -> [Int] {
        var over: [Int] = []
        var counts: [String: Int] = [:]
        for (index, save) in staged.enumerated() where save.changesCascades {
            if closure.contains(records[index].name) { continue }
            var added: [String: Int] = [:]
            for target in records[index].cascadeTargets { added[target, default: 0] += 1 }
            if let slot = save.existing { for target in zone[slot].cascadeTargets { added[target, default: 0] -= 1 } }
            let grown = added.filter { $0.value > 0 }
            for target in grown.keys where counts[target] == nil {
                counts[target] = countBeforeGrowth(of: target, deleted: closure)
            }
            if grown.contains(where: { counts[$0.key, default: 0] + $0.value > Limits.cascadeReferencesPerTarget }) {
                over.append(index)
            } else {
                for (target, count) in grown { counts[target, default: 0] += count }
            }
        }
        return over
    }

    /// References to `target` after the batch, but for those that staged saves add.
    private func countBeforeGrowth(of target: String, deleted closure: Set<String>) -> Int {
        var count = 0
        for slot in zone.referrers(of: target) where stagedOfSlot[slot] == nil {
            if !closure.contains(zone[slot].name) { count += 1 }
        }
        for (index, save) in staged.enumerated() {
            guard let slot = save.existing, !closure.contains(records[index].name) else { continue }
            let old = zone[slot].cascadeTargets.count { $0 == target }
            if old == 0 { continue }
            count += min(old, records[index].cascadeTargets.count { $0 == target })
        }
        return count
    }

    /// What is to be applied: the requested deletions, then their cascades by slot, so that the order is the same each time.
    func deletions(
        requested: [ZoneBatch.StagedDeletion], closure: Set<String>
    ) -> [ZoneBatch.StagedDeletion] {
        if closure.count == requested.count { return requested }
        var names = closure
        for deletion in requested { names.remove(deletion.name) }
        // A record that was staged as new and falls to a cascade never was: it has no slot, and leaves no trace.
        var cascades = names.compactMap { name in
            zone.liveSlot(of: name).map { ZoneBatch.StagedDeletion(item: nil, slot: $0, name: name) }
        }
        cascades.sort { $0.slot < $1.slot }
        return requested + cascades
    }
}
