internal import BrumeModel

/// Which trees cover the records of a batch after it, as far as its decision depends on that.
///
/// Parents are followed upward, those of the batch before those of the zone. Where the batch moves whole trees it is
/// atomic, so that no save fails by itself that another one relies on. Usually a step or two lead to a record
/// whose tree is known; only where the batch moves records with others below them, or begins or ends shares, every step
/// is taken, and counted.
struct BatchTrees {
    private let member: ZoneMember?
    /// The records that the batch is to share.
    private let newRoots: Set<String>
    /// The parents that saves set or take away.
    private var parents: [String: String] = [:]
    /// Whether trees may change in ways that their numbers do not tell yet.
    let movesTrees: Bool
    /// Whether it moves records with others below them, but for those that it is to share, or ends shares: then no tree
    /// that was made ready is one after it.
    let movesOthersThanRoots: Bool
    private var known: [String: UInt32] = [:]
    /// Steps that are left; below 0 when they were too many.
    private(set) var stepsLeft: Int

    /// - Parameter member: The part of a caller who does not own the zone: what they don't see is as if it were not
    ///   there.
    init(
        _ modification: ZoneModification<CheckedFields>, in zone: ZoneState, _ member: ZoneMember?, _ plan: SharePlan,
        steps: Int
    ) {
        self.member = member
        newRoots = Set(plan.roots.keys)
        stepsLeft = steps
        var movesTrees = !plan.isEmpty
        var movesOthersThanRoots = false
        var moved: [String] = []
        for save in modification.saves {
            let parent: String
            switch save.parent {
            case .unchanged: continue
            case .removed: parent = ""
            case .set(let name): parent = name
            }
            let slot = zone.liveSlot(of: save.name).flatMap { zone.isVisible($0, to: member) ? $0 : nil }
            if let slot {
                if zone.kinship(of: slot).parent == parent { continue }
                moved.append(parent)
            }
            if slot != nil || !newRoots.isEmpty, !zone.references.children(of: save.name).isEmpty {
                if slot != nil { movesTrees = true }
                if !newRoots.contains(save.name) { movesOthersThanRoots = true }
            }
            parents[save.name] = parent
        }
        // They may lead in a circle.
        let parents = parents
        if moved.contains(where: { parents[$0] != nil }) { movesTrees = true }
        for name in modification.deletions where !movesTrees || !newRoots.isEmpty {
            guard let slot = zone.liveSlot(of: name), zone.isVisible(slot, to: member),
                zone.slots.marks(of: slot).contains(.sharing)
            else { continue }
            (movesTrees, movesOthersThanRoots) = (true, true)
        }
        self.movesTrees = movesTrees
        self.movesOthersThanRoots = movesOthersThanRoots
    }

    /// Stands for the trees that begin with the batch.
    private static let newTree = UInt32.max

    /// Whether the batch gives a record another parent, or is the first to give it one.
    func moves(_ name: String) -> Bool { parents[name] != nil }

    /// The name of a record's parent after the batch; empty for none.
    func parent(of slot: Int32, in zone: ZoneState) -> String {
        parents[zone[slot].name] ?? zone.kinship(of: slot).parent
    }

    /// The number of the tree that covers a record after the batch, or would if there were such a record; 0 for none,
    /// ``newTree`` for one that begins with the batch.
    mutating func cover(of name: String, in zone: ZoneState) -> UInt32 {
        var path: [String] = []
        var current = name
        var found: UInt32 = 0
        var isFirst = true
        while stepsLeft >= 0 {
            // Its save fails, whatever it is. What is put below it fails as it would below a record that was not saved.
            let slot = zone.liveSlot(of: current).flatMap { zone.isVisible($0, to: member) ? $0 : nil }
            // A record without others below it may move, and takes nothing along: whatever becomes of its save, what
            // the batch puts below it counts as standing where it stood.
            let stands = slot != nil && !movesTrees
            if let number = stands ? nil : known[current] {
                found = number
                break
            }
            if newRoots.contains(current) {
                found = BatchTrees.newTree
                break
            }
            if let slot, let number = zone.trees.numberOfShare[zone.kinship(of: slot).share] {
                found = number
                break
            }
            if let slot, stands, !isFirst || parents[current] == nil {
                found = zone.trees.cover(of: slot)
                break
            }
            let parent = parents[current] ?? slot.map { zone.kinship(of: $0).parent }
            guard let parent, !parent.isEmpty else { break }
            stepsLeft -= 1
            if !stands {
                // Until it is known: a circle that comes here again ends.
                known[current] = 0
                path.append(current)
            }
            isFirst = false
            current = parent
        }
        for passed in path { known[passed] = found }
        return found
    }
}
