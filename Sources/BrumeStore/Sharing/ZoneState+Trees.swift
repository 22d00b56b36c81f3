internal import BrumeModel
internal import BrumeRecord

/// How the trees of a zone follow its records: see ``TreeSettling``.
///
/// A record that is the root of a share is in that share's tree, whatever its own parent is; any other one is where its
/// parent is. Parents that lead in a circle lead nowhere.
extension ZoneState {
    /// What of a record says which tree it belongs to.
    struct Kinship: Equatable {
        var parent = ""
        /// The share that it is, or is the root of.
        var share = ""
    }

    /// - Parameter slot: Of a record that exists.
    func kinship(of slot: Int32) -> Kinship {
        let marks = slots.marks(of: slot)
        if marks.isEmpty { return Kinship() }
        if marks.contains(.sharing), slots.isOfType(Names.shareType, slot) { return Kinship(share: slots[slot].name) }
        return slots.withBytes(of: slot) { bytes in
            Kinship(
                parent: marks.contains(.refersToOthers)
                    ? String(decoding: StoredRecord.parent(of: bytes), as: UTF8.self) : "",
                share: marks.contains(.sharing) ? StoredRecord.rootedShare(of: bytes) : "")
        }
    }

    /// The name of a record's parent; nil where there is no such record, or where it has none.
    func parent(of name: String) -> String? {
        guard let slot = liveSlot(of: name) else { return nil }
        let parent = kinship(of: slot).parent
        return parent.isEmpty ? nil : parent
    }

    /// Notes that a record was put.
    ///
    /// - Parameter former: What it was before; nil for a new record.
    mutating func noteInTrees(_ slot: Int32, at position: ChangePosition, former: Kinship?) {
        if slots.marks(of: slot).contains(.sharing), let share = slots[slot].share {
            let name = slots[slot].name
            if name != Names.zoneShare { trees.note(share, named: name, in: slot, at: position) }
        }
        if trees.isIdle { return }
        trees.events.append(
            .put(
                slot: slot, position: position, isNew: former == nil,
                mayMove: former.map { $0 != kinship(of: slot) } ?? true))
    }

    /// Notes that a record is about to be deleted.
    mutating func noteDeletionInTrees(_ slot: Int32, at position: ChangePosition) {
        if trees.isIdle { return }
        noteDeletionInPreparations(slot)
        let number = trees.numbers[slot]
        if let tree = trees.trees[number] {
            let (name, type) = (slots[slot].name, slots[slot].type)
            let departure = SharedTree.Departure(
                position: position, entered: tree.entered(slot, created: slots.created(slot)), name: name, type: type)
            trees.events.append(.deletion(tree: number, departure))
            trees.update(number) { $0.leave(slot) }
            if type == Names.shareType { trees.end(share: name, at: position) }
        }
        trees.set(0, of: slot)
    }

    /// Brings the trees up to date with the commit's changes.
    ///
    /// - Returns: How many records it moved between trees that the commit does not name.
    mutating func settleTrees(history: HistoryLimits) -> Int {
        var settling = TreeSettling(sequence: lastChange.sequence)
        settleChanges(&settling)
        while let parent = settling.pending.popLast() { moveChildren(of: parent, &settling) }
        if settling.moving.count > StoreLimits.movedRecordsPerRequest { forgetEnded(of: settling) }
        let slots = slots
        for slot in settling.moving.keys.sorted(by: { slots.position(of: $0) < slots.position(of: $1) }) {
            place(slot, &settling)
        }
        let limit = max(history.tombstonesPerZone, liveCount)
        trees.forgetDepartures(downTo: limit)
        trees.forgetEnded(downTo: limit)
        return settling.moving.count + settling.adoptedCount
    }

    // MARK: What the commit changed

    private mutating func settleChanges(_ settling: inout TreeSettling) {
        let adopted = adoptPreparedTrees()
        settling.adoptedCount = adopted.reduce(0) { $0 + (trees.trees[$1]?.count ?? 0) }
        let events = trees.events
        let begun = trees.begun.filter { !adopted.contains($0) }
        (trees.events, trees.begun) = ([], [])
        var finder = TreeFinder()
        for event in events {
            guard case .put(let slot, _, _, let mayMove) = event, mayMove else { continue }
            settling.changed.insert(slot)
            // All that was made ready is below its root already.
            if adopted.contains(trees.numbers[slot]), isRoot(slot) { continue }
            if !references.children(of: slots[slot].name).isEmpty { finder.trustsNone = true }
        }
        if !begun.isEmpty { finder.trustsNone = true }
        let new = Set(begun)
        for number in begun {
            guard let share = trees.trees[number]?.share, let root = sharing.roots[share],
                settling.changed.insert(root).inserted
            else { continue }
            // What was put before its share was not noted, if it was the zone's first.
            move(root, to: number, at: slots.position(of: root), isNew: false, new, &settling)
            settling.pending.append(root)
        }
        finder.changed = settling.changed
        for event in events {
            switch event {
            case .deletion(let number, let departure):
                trees.update(number) { $0.append(departure) }
                trees.touch(number, departure.type)
            case .put(let slot, let position, let isNew, let mayMove):
                // One that was deleted by the same commit has told so.
                guard !slots.isDeleted(slot), slots.position(of: slot) == position else { continue }
                if !mayMove {
                    changeInTrees(slot, at: position)
                    continue
                }
                let former = trees.cover(of: slot)
                let number = finder.cover(of: slot, in: self)
                move(slot, to: number, at: position, isNew: isNew, new, &settling)
                if number != former || isNew { settling.pending.append(slot) }
            }
        }
        followInPreparations(events)
    }

    /// Puts a record that the commit changed into the tree that covers it now.
    private mutating func move(
        _ slot: Int32, to number: UInt32, at position: ChangePosition, isNew: Bool, _ new: Set<UInt32>,
        _ settling: inout TreeSettling
    ) {
        let former = trees.numbers[slot]
        if trees.cover(of: slot) == number { return changeInTrees(slot, at: position) }
        depart(slot, from: former, at: position)
        trees.set(number, of: slot)
        if number == 0 { return }
        if new.contains(number) {
            // With all that comes with the share, in order.
            settling.moving[slot] = 0
        } else {
            let comesWithShare = trees.facts.begins(number, withCommit: settling.sequence)
            enterTrees(slot, number, at: position, entered: isNew || comesWithShare ? nil : position)
        }
    }

    // MARK: What goes with it

    private mutating func moveChildren(of parent: Int32, _ settling: inout TreeSettling) {
        let number = trees.cover(of: parent)
        for child in references.children(of: slots[parent].name) where !settling.changed.contains(child) {
            let former = trees.numbers[child]
            if trees.cover(of: child) == number || settling.moving[child] != nil || isRoot(child) { continue }
            settling.moving[child] = former
            trees.set(number, of: child)
            settling.pending.append(child)
        }
    }

    /// Forgets the trees that ended of which a share that begins takes records: that was so when the commit was made,
    /// with a tree that was made ready, and there are no positions for so many.
    private mutating func forgetEnded(of settling: TreeSettling) {
        let formers = settling.moving.filter { slot, _ in
            trees.facts.begins(trees.numbers[slot], withCommit: settling.sequence)
        }.values
        for number in Set(formers).sorted() where trees.facts.hasEnded(number) { trees.forgetEnded(number) }
    }

    /// Whether there are at most so many records below one in its tree, itself included: a walk that ends when there
    /// are more.
    func holdsTree(of slot: Int32, within limit: Int) -> Int? {
        if limit < 1 { return nil }
        let number = trees.cover(of: slot)
        var (pending, seen) = ([slot], Set([slot]))
        while let parent = pending.popLast() {
            for child in references.children(of: slots[parent].name) {
                if trees.cover(of: child) != number || isRoot(child) || !seen.insert(child).inserted { continue }
                if seen.count > limit { return nil }
                pending.append(child)
            }
        }
        return seen.count
    }

    func isRoot(_ slot: Int32) -> Bool {
        guard slots.marks(of: slot).contains(.sharing) else { return false }
        return !slots.withBytes(of: slot) { StoredRecord.rootedShare(of: $0) }.isEmpty
    }

    /// Gives a record that moved its place in its new tree.
    private mutating func place(_ slot: Int32, _ settling: inout TreeSettling) {
        let (former, number) = (settling.moving[slot]!, trees.numbers[slot])
        // What was covered when its share was made stands where it stood in the zone.
        let comesWithShare = trees.facts.begins(number, withCommit: settling.sequence)
        if comesWithShare, !trees.facts.holds(former) {
            return enterTrees(slot, number, at: slots.position(of: slot), entered: nil)
        }
        let position = settling.nextPosition()
        depart(slot, from: former, at: position)
        if !trees.facts.holds(number) { return }
        if comesWithShare {
            enterTrees(slot, number, at: slots.position(of: slot), entered: nil)
        } else {
            enterTrees(slot, number, at: position, entered: position)
        }
    }

    // MARK: One record

    private mutating func changeInTrees(_ slot: Int32, at position: ChangePosition) {
        let number = trees.numbers[slot]
        // It stays where it is for those who are not shown the change.
        if trees.trees[number]?.quietShare?.slot == slot { return trees.touchQuietly(number) }
        let isDue = trees.update(number) { tree in
            tree.change(slot, at: position)
            return tree.feed.needsCompaction
        }
        guard let isDue else { return }
        trees.touch(number, slots[slot].type)
        if isDue { compact(number) }
    }

    private mutating func enterTrees(
        _ slot: Int32, _ number: UInt32, at place: ChangePosition, entered: ChangePosition? = nil
    ) {
        trees.set(number, of: slot)
        let isDue = trees.update(number) { tree in
            tree.enter(slot, at: place, entered: entered)
            return tree.feed.needsCompaction
        }
        trees.touch(number, slots[slot].type)
        if isDue == true { compact(number) }
    }

    private mutating func depart(_ slot: Int32, from number: UInt32, at position: ChangePosition) {
        if !trees.facts.holds(number) { return }
        let (created, record) = (slots.created(slot), slots[slot])
        let (name, type) = (record.name, record.type)
        trees.update(number) { tree in
            let departure = SharedTree.Departure(
                position: position, entered: tree.entered(slot, created: created), name: name, type: type)
            tree.leave(slot)
            // Out of a tree that begins with this very commit nobody saw it go.
            if tree.since.sequence < position.sequence { tree.append(departure) }
        }
        trees.touch(number, type)
    }

    private mutating func compact(_ number: UInt32) {
        let (slots, numbers) = (slots, trees.numbers)
        trees.update(number) { tree in
            tree.compact(isMember: { numbers[$0] == number }, position: { slots.position(of: $0) })
        }
    }
}
