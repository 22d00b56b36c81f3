internal import BrumeModel
internal import BrumeRecord

/// The records that a batch's deletions may take with them, and what refers to them after the batch, as numbers.
///
/// Everything is looked up once: later rounds of a settlement work with the numbers alone.
struct ReferenceGraph {
    typealias Node = Int32

    private struct Record {
        /// Nil for a record that the batch makes.
        let slot: Int32?
        /// The save that brings it, or -1.
        let save: Int32
        let name: String
        let mayFall: Bool
        /// The references of the version that the zone has; looked up when it is about to fall.
        var cascades: StoredRecord.Cascades?
        /// The caller's records that refer to it in the zone as it is; looked up when it falls.
        var referrers: [Node]?
        /// The records that it refers to among those that fall.
        var targets: [Node] = []
        /// The round that ``targets`` are of.
        var targetsRound: Int32 = 0
        /// The round in which it fell.
        var round: Int32 = 0
    }

    /// What falling has cost.
    struct Cost {
        /// Records that fell beside the requested deletions, in the round with the most of them.
        var cascades = 0
        /// The weight of what they refer to, in the round with the most of it.
        var references = 0
        /// See ``ReferenceBudget/steps``.
        var steps = 0
        /// See ``ReferenceBudget/visits``.
        var visits = 0
    }

    /// What may still fall.
    private struct Room {
        var cascades: Int
        var references: Int
        /// Bytes of others' records.
        var othersBytes = StoreLimits.othersCascadeBytes
    }

    private let zone: ZoneState
    private let saves: [ReferenceSettlement.Save]
    private var records: [Record] = []
    private var nodeOfSlot: [Int32: Node] = [:]
    private var nodeOfSave: [Node]
    private var saveOfSlot: [Int32: Int32] = [:]
    /// Saves that change their references or parents, by what they refer to afterwards.
    private var saveReferrers: [String: [Int32]] = [:]
    private var saveChildren: [String: [Int32]] = [:]
    /// Whether nothing in the zone or the batch refers to anything, and nothing is shared, so that deletions stand
    /// alone.
    private let isWithoutReferences: Bool
    /// The caller's part in a zone that another user owns; nil for the owner.
    private let member: ZoneMember?
    private var round: Int32 = 0
    /// What fell in this round, the requested deletions first.
    private(set) var fallen: [Node] = []
    /// How much may still be looked at again. Below 0 when it was too much.
    private(set) var visitsLeft: Int
    /// What is left of ``ReferenceBudget/steps`` in all rounds together: none are given back. Below 0 when it was too
    /// much.
    private var stepsLeft: Int
    private let budget: ReferenceBudget
    private var roundCost = Cost()

    init(zone: ZoneState, saves: [ReferenceSettlement.Save], budget: ReferenceBudget, member: ZoneMember?) {
        self.zone = zone
        self.saves = saves
        self.budget = budget
        self.member = member
        visitsLeft = budget.visits
        stepsLeft = budget.steps
        nodeOfSave = [Node](repeating: -1, count: saves.count)
        isWithoutReferences =
            zone.references.isEmpty && zone.sharing.isEmpty && saves.allSatisfy { $0.change == nil }
        if isWithoutReferences { return }
        for (index, save) in saves.enumerated() {
            if let slot = save.staged.existing { saveOfSlot[slot] = Int32(index) }
            guard let change = save.change else { continue }
            if save.staged.changesCascades {
                for target in change.to.targets { saveReferrers[target, default: []].append(Int32(index)) }
            }
            if !change.to.parent.isEmpty { saveChildren[change.to.parent, default: []].append(Int32(index)) }
        }
    }

    // MARK: What fell

    func slot(of node: Node) -> Int32? { records[Int(node)].slot }

    func name(of node: Node) -> String { records[Int(node)].name }

    /// The references of a record that fell, in the version that the zone has.
    func cascades(of node: Node) -> StoredRecord.Cascades { records[Int(node)].cascades ?? StoredRecord.Cascades() }

    func hasFallen(save: Int) -> Bool {
        if round == 0 { return false }
        if let slot = saves[save].staged.existing { return nodeOfSlot[slot].map(hasFallen) ?? false }
        return nodeOfSave[save] >= 0 && hasFallen(nodeOfSave[save])
    }

    private func hasFallen(_ node: Node) -> Bool { records[Int(node)].round == round }

    /// The save that brings a record, or nil for a record that no save changes.
    func save(of node: Node) -> Int? {
        let save = records[Int(node)].save
        return save < 0 ? nil : Int(save)
    }

    /// The user who made the record, as the zone has it; nil for a record that the batch makes.
    func user(of node: Node) -> UserKey? { records[Int(node)].slot.map { zone.references.user(of: zone[$0]) } }

    /// What all rounds have cost so far.
    var cost: Cost {
        var cost = roundCost
        cost.steps = budget.steps - stepsLeft
        cost.visits = budget.visits - visitsLeft
        return cost
    }

    /// Counts other things that were looked at again.
    mutating func visit(_ count: Int) { visitsLeft -= count }

    // MARK: Falling

    /// Finds what falls with the deletions. Returns false when it is too much.
    ///
    /// - Parameters:
    ///   - caller: The user whose records have to find room, and are taken first. Others' records fall as far as there
    ///     is some.
    ///   - visitsAreFree: Whether visits cost nothing: what is looked at for the first time is charged as what it is.
    mutating func fall(
        with deletions: [ZoneBatch.StagedDeletion], by caller: UserKey, stands: [Bool], visitsAreFree: Bool
    ) -> Bool {
        round += 1
        fallen = []
        for deletion in deletions {
            let node = node(ofSlot: deletion.slot, name: deletion.name)
            records[Int(node)].cascades = StoredRecord.Cascades(of: deletion.references.targets)
            add(node)
        }
        if isWithoutReferences { return true }
        var left = Room(cascades: budget.cascades, references: budget.references)
        let visitsBefore = visitsLeft
        defer {
            if visitsAreFree { visitsLeft = visitsBefore }
            roundCost.cascades = max(roundCost.cascades, budget.cascades - left.cascades)
            roundCost.references = max(roundCost.references, budget.references - left.references)
        }
        var next = 0
        while next < fallen.count {
            let target = fallen[next]
            next += 1
            for referrer in referrers(of: target, by: caller, stands: stands) {
                visitsLeft -= 1
                note(referrer, refersTo: target)
                if hasFallen(referrer) || !records[Int(referrer)].mayFall { continue }
                guard take(referrer, of: &left) else { return false }
            }
            if visitsLeft < 0, !visitsAreFree { return false }
        }
        if caller != .all { takeOthers(in: &left, by: caller, stands: stands) }
        return true
    }

    /// Others' records fall in the order in which they are found, until there is no room.
    private mutating func takeOthers(in room: inout Room, by caller: UserKey, stands: [Bool]) {
        var next = 0
        // Some records never fall, whoever made them: they must not make this long.
        var looksLeft = 2 * Limits.cascadesPerRequest
        while next < fallen.count {
            let target = fallen[next]
            next += 1
            for referrer in referrers(of: target, by: caller, stands: stands) where !hasFallen(referrer) {
                looksLeft -= 1
                if looksLeft < 0 { return }
                if records[Int(referrer)].mayFall, !take(referrer, of: &room) { return }
            }
            for entry in zone.references.referrers(of: records[Int(target)].name).entries where entry.user != caller {
                looksLeft -= 1
                if looksLeft < 0 { return }
                if let save = saveOfSlot[entry.slot], stands[Int(save)], saves[Int(save)].staged.changesCascades {
                    continue
                }
                let referrer = node(ofSlot: entry.slot)
                if hasFallen(referrer) || !records[Int(referrer)].mayFall { continue }
                room.othersBytes -= zone.slots.byteCount(of: entry.slot)
                if room.othersBytes < 0 || !take(referrer, of: &room) { return }
            }
        }
    }

    /// Lets a record fall, if there is room.
    private mutating func take(_ node: Node, of room: inout Room) -> Bool {
        if room.cascades < 1 { return false }
        if let slot = records[Int(node)].slot {
            if records[Int(node)].cascades == nil {
                if stepsLeft < 0 { return false }
                let cascades = zone[slot].cascades(
                    within: StoredRecord.Cascades.Room(weight: .max, steps: stepsLeft))
                stepsLeft -= cascades.steps
                // What was read in part is of no use.
                if stepsLeft < 0 { return false }
                records[Int(node)].cascades = cascades
            }
            let cascades = cascades(of: node)
            guard cascades.weight <= room.references else { return false }
            room.references -= cascades.weight
        }
        room.cascades -= 1
        add(node)
        return true
    }

    private mutating func add(_ node: Node) {
        records[Int(node)].round = round
        fallen.append(node)
    }

    /// The user's records that refer to one that falls, after the batch, and its share if it is the root of one.
    private mutating func referrers(of target: Node, by user: UserKey, stands: [Bool]) -> [Node] {
        let name = records[Int(target)].name
        if records[Int(target)].referrers == nil {
            var slots: [Int32] = []
            zone.references.referrers(of: name).forEach(by: user) { slots.append($0) }
            records[Int(target)].referrers = slots.map { node(ofSlot: $0) }
        }
        var nodes = records[Int(target)].referrers!.filter { node in
            guard let save = save(of: node) else { return true }
            return !(stands[save] && saves[save].staged.changesCascades)
        }
        for save in saveReferrers[name] ?? [] where stands[Int(save)] { nodes.append(node(ofSave: Int(save))) }
        if let share = shareSlot(ofRoot: target) { nodes.append(node(ofSlot: share)) }
        return nodes
    }

    private func shareSlot(ofRoot node: Node) -> Int32? {
        guard let slot = records[Int(node)].slot, zone.slots.marks(of: slot).contains(.sharing),
            zone.sharing.shares[records[Int(node)].name] != slot
        else { return nil }
        let share = zone[slot].withBytes { StoredRecord.rootedShare(of: $0) }
        return share.isEmpty ? nil : zone.sharing.shares[share]
    }

    // MARK: Parents

    /// Slots of what fell and can't be deleted: the parents of records that stay, and everything whose deletion would
    /// take such a parent with it.
    mutating func blocked(stands: [Bool]) -> Set<Int32> {
        if isWithoutReferences { return [] }
        var blocked = Set<Node>()
        for node in fallen where hasChildThatStays(node, stands: stands) { blocked.insert(node) }
        var pending = Array(blocked)
        while let node = pending.popLast() {
            visitsLeft -= 1
            if records[Int(node)].targetsRound != round { continue }
            for target in records[Int(node)].targets where blocked.insert(target).inserted { pending.append(target) }
        }
        return Set(blocked.compactMap { records[Int($0)].slot })
    }

    /// Whether a record has a child that stays. If all its children fall, it is noted that they refer to it: should one
    /// of them have to stay, so must the record.
    private mutating func hasChildThatStays(_ node: Node, stands: [Bool]) -> Bool {
        let name = records[Int(node)].name
        for slot in zone.references.children(of: name) {
            if let save = saveOfSlot[slot], stands[Int(save)], saves[Int(save)].change != nil { continue }
            visitsLeft -= 1
            if let member, !member.isBlocked(byChild: slot, in: zone) { continue }
            guard let child = nodeOfSlot[slot], hasFallen(child) else { return true }
            note(child, refersTo: node)
        }
        for save in saveChildren[name] ?? [] where stands[Int(save)] {
            visitsLeft -= 1
            guard hasFallen(save: Int(save)) else { return true }
            let child = saves[Int(save)].staged.existing.flatMap { nodeOfSlot[$0] } ?? nodeOfSave[Int(save)]
            note(child, refersTo: node)
        }
        return false
    }

    private mutating func note(_ node: Node, refersTo target: Node) {
        if records[Int(node)].targetsRound != round {
            records[Int(node)].targetsRound = round
            records[Int(node)].targets = []
        }
        records[Int(node)].targets.append(target)
    }

    // MARK: Nodes

    private mutating func node(ofSlot slot: Int32, name: String? = nil) -> Node {
        if let known = nodeOfSlot[slot] { return known }
        let node = Node(records.count)
        let record = zone[slot]
        let save = saveOfSlot[slot] ?? -1
        let stays = record.isOfType(Names.userRecordType) || member.map { !$0.mayDelete(slot, in: zone) } ?? false
        records.append(Record(slot: slot, save: save, name: name ?? record.name, mayFall: !stays))
        nodeOfSlot[slot] = node
        return node
    }

    private mutating func node(ofSave save: Int) -> Node {
        if let slot = saves[save].staged.existing { return node(ofSlot: slot, name: saves[save].name) }
        if nodeOfSave[save] >= 0 { return nodeOfSave[save] }
        let node = Node(records.count)
        records.append(Record(slot: nil, save: Int32(save), name: saves[save].name, mayFall: true))
        nodeOfSave[save] = node
        return node
    }
}
