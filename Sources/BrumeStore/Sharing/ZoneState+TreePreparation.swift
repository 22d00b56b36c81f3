internal import BrumeModel
internal import BrumeRecord

/// How trees are made ready before their shares: see ``TreePreparation``.
extension ZoneState {
    /// Begins to make a tree ready. Returns false where there can't be one: the record is in one already, or in another
    /// that is being made ready.
    ///
    /// - Parameter root: The slot of the record that is to be its root.
    mutating func prepareTree(below root: Int32) -> Bool {
        let former = trees.numbers[root]
        if !trees.hasNumbersToSpare || trees.preparations.values.contains(where: { $0.number == former }) {
            return false
        }
        var tree = TreePreparation(number: trees.takeNumber(), root: slots[root].name, forgetsEnded: false)
        take(root, into: &tree)
        trees.preparations[tree.root] = tree
        return true
    }

    /// Goes on with a tree.
    ///
    /// - Parameter units: How much: a record that is looked at is one, and so are some entries that are gone by.
    mutating func continueTree(below root: String, units: Int) -> Database.TreeProgress {
        // One that is gone, with its root or its zone, is nothing to wait for.
        guard var tree = trees.preparations.removeValue(forKey: root) else { return .ready }
        var isDropped = false
        defer {
            if isDropped { trees.dropPreparation(below: root) } else { trees.preparations[root] = tree }
        }
        var left = units
        while left > 0, !tree.isBroken {
            if let child = tree.nextChild() {
                visit(child.slot, below: child.parent, &tree)
                left -= 1
            } else if let parent = tree.nextParent() {
                // One that is out of the tree meanwhile was without children, or has broken it.
                if isMember(parent, of: tree) {
                    let name = slots[parent].name
                    tree.look(at: references.children(of: name), of: name)
                }
                left -= 1
            } else if !tree.endedMembers.isEmpty {
                // The commit takes them one by one, so that whoever lost them is told.
                isDropped = true
                return .ready
            } else if !tree.hasWalked {
                tree.passAgain()
            } else if !pass(&tree, &left) {
                return .ready
            }
        }
        return tree.isBroken ? .broken : .underWay
    }

    private mutating func visit(_ slot: Int32, below parent: String, _ tree: inout TreePreparation) {
        // Its slot may be another record's by now, and the parent elsewhere.
        guard let above = liveSlot(of: parent), isMember(above, of: tree), trees.numbers[slot] != tree.number,
            !tree.endedMembers.contains(slot), !slots.isDeleted(slot),
            kinship(of: slot).parent == parent, !isRoot(slot)
        else { return }
        take(slot, into: &tree)
    }

    private func isMember(_ slot: Int32, of tree: TreePreparation) -> Bool {
        trees.numbers[slot] == tree.number || tree.endedMembers.contains(slot) && trees.isInEnded(slot)
    }

    /// Gives a record the tree's number, if it is in no other one.
    private mutating func take(_ slot: Int32, into tree: inout TreePreparation) {
        let former = trees.numbers[slot]
        let hasChildren = !references.children(of: slots[slot].name).isEmpty
        if trees.isInEnded(slot) {
            if !tree.forgetsEnded {
                tree.addEnded(slot, hasChildren: hasChildren)
                if tree.count + tree.endedMembers.count > StoreLimits.movedRecordsPerRequest { beginAgain(&tree) }
                return
            }
            // Those who are to be told that its records went can't be any more, and start over.
            trees.forgetEnded(former)
        } else if trees.facts.holds(former) || trees.preparations.values.contains(where: { $0.number == former }) {
            tree.isBroken = true
            return
        }
        trees.set(tree.number, of: slot)
        tree.add(slot, changed: slots.position(of: slot), hasChildren: hasChildren)
    }

    /// Begins again with a tree that has more records of shares that ended than a commit may move.
    private mutating func beginAgain(_ tree: inout TreePreparation) {
        tree = TreePreparation(number: trees.takeNumber(), root: tree.root, forgetsEnded: true)
        if let root = liveSlot(of: tree.root) { take(root, into: &tree) } else { tree.isBroken = true }
    }

    /// Goes through a part of the zone's feed. Returns false at its end.
    private func pass(_ tree: inout TreePreparation, _ left: inout Int) -> Bool {
        var entries = feed.entries(after: tree.passed)
        for _ in 0..<min(left, TreePreparation.unitsOfPass) * TreePreparation.entriesPerUnit {
            guard let entry = entries.next() else { return false }
            tree.pass(
                entry,
                isMember: trees.numbers[entry.slot] == tree.number && slots.position(of: entry.slot) == entry.position)
        }
        left -= TreePreparation.unitsOfPass
        return true
    }

    // MARK: Commits meanwhile

    /// Notes in trees that are being made ready that a record is about to be deleted.
    mutating func noteDeletionInPreparations(_ slot: Int32) {
        let number = trees.numbers[slot]
        guard let root = trees.preparations.first(where: { $0.value.number == number })?.key else { return }
        let name = slots[slot].name
        trees.preparations[root]!.count -= 1
        if name == root { trees.preparations[root]!.isBroken = true }
        if !references.children(of: name).isEmpty { trees.deletedParents.append((root, name)) }
    }

    /// Has trees that are being made ready follow what a commit moved.
    mutating func followInPreparations(_ events: [TreeEvent]) {
        let deletedParents = trees.deletedParents
        trees.deletedParents = []
        let roots = trees.preparations.keys.sorted()
        if roots.isEmpty { return }
        let moved = events.compactMap { event -> Int32? in
            guard case .put(let slot, let position, _, mayMove: true) = event, !slots.isDeleted(slot),
                slots.position(of: slot) == position
            else { return nil }
            return slot
        }
        // What goes from one into another has gone when it comes.
        for goes in [true, false] {
            for root in roots {
                var tree = trees.preparations.removeValue(forKey: root)!
                if goes, leavesOrphans(deletedParents, in: tree) { tree.isBroken = true }
                for slot in moved where !tree.isBroken && slots[slot].name != root {
                    if goes { release(slot, from: &tree) } else { follow(slot, into: &tree) }
                }
                trees.preparations[root] = tree
            }
        }
    }

    private mutating func release(_ slot: Int32, from tree: inout TreePreparation) {
        if trees.numbers[slot] != tree.number { return }
        if !references.children(of: slots[slot].name).isEmpty {
            // It might also have been put below one of those that stand below it.
            tree.isBroken = true
        } else if !isBelowMember(slot, of: tree) {
            trees.set(0, of: slot)
            tree.count -= 1
        }
    }

    private mutating func follow(_ slot: Int32, into tree: inout TreePreparation) {
        if trees.numbers[slot] != tree.number, isBelowMember(slot, of: tree) { take(slot, into: &tree) }
    }

    private func isBelowMember(_ slot: Int32, of tree: TreePreparation) -> Bool {
        if isRoot(slot) { return false }
        return liveSlot(of: kinship(of: slot).parent).map { trees.numbers[$0] == tree.number } ?? false
    }

    /// Whether something stands below what was deleted of a tree: it is in the tree no more.
    private func leavesOrphans(_ deleted: [(root: String, name: String)], in tree: TreePreparation) -> Bool {
        deleted.contains { $0.root == tree.root && !references.children(of: $0.name).isEmpty }
    }

    // MARK: The share

    /// Whether a tree has been made ready for a commit that shares the record: nothing but the commit's own changes may
    /// be missing from it.
    func isReady(treeBelow root: String, before sequence: UInt64) -> Bool {
        trees.preparations[root].map { isReady($0, before: sequence) } ?? false
    }

    private func isReady(_ tree: TreePreparation, before sequence: UInt64) -> Bool {
        if tree.isBroken || !tree.hasWalked { return false }
        var entries = feed.entries(after: tree.passed)
        return entries.next().map { $0.position.sequence >= sequence } ?? true
    }

    /// Gives the shares that a commit begins the trees that were made ready for them.
    ///
    /// - Returns: The numbers of these trees.
    mutating func adoptPreparedTrees() -> Set<UInt32> {
        if trees.preparations.isEmpty || trees.begun.isEmpty { return [] }
        var adopted = Set<UInt32>()
        for (index, number) in trees.begun.enumerated() {
            guard let tree = trees.trees[number], let root = sharing.roots[tree.share],
                let prepared = trees.preparations[slots[root].name], tree.users.isEmpty,
                isReady(prepared, before: lastChange.sequence), !movesOthersThanRoots(),
                !leavesOrphans(trees.deletedParents, in: prepared)
            else { continue }
            trees.begun[index] = prepared.number
            trees.adopt(prepared, inPlaceOf: number)
            adopted.insert(prepared.number)
        }
        return adopted
    }

    /// Whether the commit in hand moves records with others below them, except for roots of shares, below which all
    /// stays. What it moves below them itself is looked at by itself, what it only changes there goes with them: see
    /// ``BatchTrees/movesOthersThanRoots``.
    private func movesOthersThanRoots() -> Bool {
        let moved = trees.events.compactMap { event -> Int32? in
            if case .put(let slot, _, _, mayMove: true) = event { slot } else { nil }
        }
        let moving = Set(moved)
        return moved.contains { slot in
            !isRoot(slot) && references.children(of: slots[slot].name).contains { !moving.contains($0) }
        }
    }
}
