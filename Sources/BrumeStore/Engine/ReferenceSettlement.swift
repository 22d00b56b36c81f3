internal import BrumeModel
internal import BrumeRecord

/// The rules of references, checked against the state after the batch (Documentation/CloudKit.md, References):
///
/// - A save that names a parent needs it to exist. (`referenceViolation`)
/// - A requested deletion takes with it every record that points to a deleted one with `deleteSelf`, recursively, over
///   cycles and through lists. A record that is saved and falls to a cascade in the same batch is saved, then deleted.
/// - A deletion that would leave a record whose parent is gone, directly or by its cascade, is refused whole.
///   (`referenceViolation`) Not so in the public database: there one user's record must not keep another's from being
///   deleted.
/// - At most ``Limits/cascadeReferencesPerTarget`` `deleteSelf` references point to one name. (`limitExceeded`) In the
///   public database each user's records have that many.
/// - What falls has to find room in the request, or the deletions fail. (`limitExceeded`) In the public database that
///   is asked of the caller's own records alone; others' go as far as there is room, and those that stay keep a
///   reference to nothing.
/// - User records never fall to a cascade, nor do shares and their roots to one of a user who does not own the zone:
///   the share would end for all. What such a user does not see neither counts, nor falls, nor keeps its parent; what
///   they may not write does not fall.
///
/// An item that fails changes what holds for the others, so a batch that is not atomic is settled in rounds. All of it
/// is linear in the references that the batch brings and takes away, the records that fall, and the rounds, which share
/// a bound.
struct ReferenceSettlement {
    /// A save of the batch, as far as it matters here.
    struct Save {
        let staged: ZoneBatch.StagedSave
        let name: String
        /// Nil when it refers to others as before.
        let change: ZoneBatch.StagedReferences?
        /// The user who made the record.
        let user: UserKey
    }

    let zone: ZoneState
    let saves: [Save]
    let isAtomic: Bool
    let caller: Caller
    /// The caller, whose records go first; ``UserKey/all`` where users are not told apart.
    let user: UserKey
    /// The caller's part in a zone that another user owns; nil for the owner.
    private let member: ZoneMember?

    /// Whether each of the saves stands.
    private(set) var stands: [Bool]
    /// The deletions that stand: the requested ones first, then their cascades by slot, so that the order is the same
    /// each time.
    private(set) var deletions: [ZoneBatch.StagedDeletion]
    private(set) var saveFailures: [(save: Int, error: ServiceError)] = []
    private(set) var deletionFailures: [(item: Int, error: ServiceError)] = []
    private(set) var budget: ReferenceBudget

    private let missingParent: ServiceError
    private var graph: ReferenceGraph
    private var counts: TargetCounts
    /// Saves whose parents other saves make, by the save that makes the parent.
    private var dependents: [Int: [Int]] = [:]

    init(
        zone: ZoneState, saves: [Save], deletions: [ZoneBatch.StagedDeletion], isAtomic: Bool, caller: Caller,
        user: UserKey, budget: ReferenceBudget, member: ZoneMember?
    ) {
        self.zone = zone
        self.saves = saves
        self.deletions = deletions
        self.isAtomic = isAtomic
        self.caller = caller
        self.user = user
        self.member = member
        self.budget = budget
        stands = [Bool](repeating: true, count: saves.count)
        graph = ReferenceGraph(zone: zone, saves: saves, budget: budget, member: member)
        counts = TargetCounts(zone: zone, saves: saves, member: member)
        missingParent = member == nil ? ReferenceSettlement.missingParent : ZoneBatch.isOutside
    }

    /// - Parameter names: The names of all saves of the request, those that failed before included.
    mutating func settle(namesOfRequest names: () -> [String]) {
        // What does not stand in the end counts, too: the zones after this one must not cost as much again.
        defer { budget.take(graph.cost) }
        failOrphans(namesOfRequest: names)
        var isFirst = true
        while true {
            let fits = graph.fall(with: deletions, by: user, stands: stands, visitsAreFree: isFirst)
            isFirst = false
            if graph.visitsLeft < 0 { return giveUp() }
            if !fits {
                failAllDeletions(ReferenceSettlement.tooManyCascades)
                if isAtomic { return }
                continue
            }
            let blocked = user == .all ? graph.blocked(stands: stands) : []
            let over = counts.savesOverLimit(graph: graph, stands: stands)
            graph.visit(counts.visits)
            if over.isEmpty, blocked.isEmpty { return finish() }
            for save in over { fail(save, ReferenceSettlement.tooManyReferences) }
            failDeletions(blocked)
            if isAtomic { return }
        }
    }

    // MARK: Failures

    /// Fails saves whose new parent neither exists nor is made by this batch.
    ///
    /// In an atomic batch a parent whose own save failed counts as made, so that its child's own result is not a
    /// failure.
    private mutating func failOrphans(namesOfRequest names: () -> [String]) {
        var made: [String: Int]?
        var orphans: [Int] = []
        for (index, save) in saves.enumerated() where save.staged.setsParent {
            guard let parent = save.change?.to.parent else { continue }
            if let slot = zone.liveSlot(of: parent), Database.mayRead(zone[slot], caller),
                zone.isVisible(slot, to: member)
            {
                continue
            }
            if made == nil {
                made = [:]
                if isAtomic { for name in names() { made?[name] = -1 } }
                for (index, save) in saves.enumerated() { made?[save.name] = index }
            }
            guard let maker = made?[parent] else {
                orphans.append(index)
                continue
            }
            if !isAtomic { dependents[maker, default: []].append(index) }
        }
        for orphan in orphans { fail(orphan, missingParent) }
    }

    /// Fails a save, and those whose parent it would have made.
    private mutating func fail(_ save: Int, _ error: ServiceError) {
        var pending = [save]
        while let next = pending.popLast() {
            guard stands[next] else { continue }
            stands[next] = false
            saveFailures.append((next, next == save ? error : missingParent))
            pending += dependents[next] ?? []
        }
    }

    private mutating func failDeletions(_ slots: Set<Int32>) {
        if slots.isEmpty { return }
        for deletion in deletions where slots.contains(deletion.slot) {
            if let item = deletion.item { deletionFailures.append((item, ReferenceSettlement.stillAParent)) }
        }
        deletions.removeAll { slots.contains($0.slot) }
    }

    private mutating func failAllDeletions(_ error: ServiceError) {
        for deletion in deletions {
            if let item = deletion.item { deletionFailures.append((item, error)) }
        }
        deletions = []
    }

    /// Fails all items that refer to others, and all deletions, because the items undo each other too often.
    private mutating func giveUp() {
        for (index, save) in saves.enumerated() where save.change != nil {
            fail(index, ReferenceSettlement.tooEntangled)
        }
        failAllDeletions(ReferenceSettlement.tooEntangled)
    }

    // MARK: The end

    private mutating func finish() {
        let fallen = graph.fallen
        // A record that was staged as new and falls to a cascade has no slot, and leaves no trace.
        for index in saves.indices where stands[index] && graph.hasFallen(save: index) { stands[index] = false }
        var cascades: [ZoneBatch.StagedDeletion] = []
        for node in fallen.dropFirst(deletions.count) {
            guard let slot = graph.slot(of: node) else { continue }
            let known = graph.cascades(of: node)
            cascades.append(
                ZoneBatch.StagedDeletion(
                    item: nil, slot: slot, name: graph.name(of: node),
                    references: RecordReferences(parent: zone[slot].parent, targets: known.targets)))
        }
        cascades.sort { $0.slot < $1.slot }
        deletions += cascades
    }

    private static let missingParent = ServiceError(
        .referenceViolation, "the record's parent does not exist; save it in the same batch or before")
    private static let stillAParent = ServiceError(
        .referenceViolation,
        "the record, or one that goes with it, is the parent of a record that stays; delete that in the same batch")
    private static let tooManyReferences = ServiceError(
        .limitExceeded,
        "more than \(Limits.cascadeReferencesPerTarget) deleteSelf references would point to one record; use a parent")
    private static let tooManyCascades = ServiceError(
        .limitExceeded,
        """
        more than \(Limits.cascadesPerRequest) records, or records with too many references, would go with those that are \
        deleted; delete the referring ones first
        """)
    private static let tooEntangled = ServiceError(
        .limitExceeded,
        "the references of the batch can't be settled, because many items fail for each other; send fewer at a time")
}
