internal import BrumeModel

/// A tree that is made ready before its share is: the commit that shares a record with a hundred thousand others below
/// it then costs what any commit does.
///
/// In steps, between which commits go on, the records below the root are walked through, and each is given the number
/// that the tree will have. No tree has it yet, so they are in none. Then the zone's feed is gone through, and what has
/// the number goes into the tree's feed, in the same order. What commits change meanwhile stands at the end of the
/// zone's feed, where the pass comes by; whom they move is followed (`ZoneState+TreePreparation.swift`).
struct TreePreparation: Sendable {
    let number: UInt32
    /// The root's name.
    let root: String
    /// The records that have the number.
    var count = 0
    var isBroken = false
    /// What the pass has found, oldest change first. As in any feed, records that changed since are in it twice.
    private(set) var feed = Feed()
    /// Up to where the zone's feed was gone through.
    private(set) var passed = ChangePosition.start
    /// Records whose children are yet to be looked at.
    private var pending: [Int32] = []
    /// The children that are being looked at.
    private var children: (parent: String, slots: Set<Int32>, next: Set<Int32>.Index)?
    /// Records of shares that ended, of which whoever took part there is to be told that they went. The commit can move
    /// some thousand of them, and tell so; where there are more it is forgotten.
    private(set) var endedMembers: Set<Int32> = []
    /// Whether that is so here.
    let forgetsEnded: Bool
    /// Whether records have been found that the pass had gone by.
    private var mustPassAgain = false

    init(number: UInt32, root: String, forgetsEnded: Bool) {
        self.number = number
        self.root = root
        self.forgetsEnded = forgetsEnded
    }

    /// About what it takes in memory.
    var approximateBytes: Int {
        512 + feed.count * MemoryLayout<Feed.Entry>.stride + (pending.count + 2 * endedMembers.count) * 4
    }

    /// Entries of its feed that are not where a record stands.
    var staleCount: Int { feed.count - count }

    /// Whether all that it holds has been found.
    var hasWalked: Bool { pending.isEmpty && children == nil && !mustPassAgain && endedMembers.isEmpty }

    /// A record that is looked at takes about as long as so many entries that are gone by.
    static let entriesPerUnit = 16
    /// How much is gone by between two looks at what is left.
    static let unitsOfPass = 8

    // MARK: The walk

    /// A record that has the number was found, with others below it that are to be looked for.
    mutating func add(_ slot: Int32, changed: ChangePosition, hasChildren: Bool) {
        count += 1
        if hasChildren { pending.append(slot) }
        if changed <= passed { mustPassAgain = true }
    }

    /// The same of one that is in a tree that ended.
    mutating func addEnded(_ slot: Int32, hasChildren: Bool) {
        endedMembers.insert(slot)
        if hasChildren { pending.append(slot) }
    }

    /// The next record whose children are to be looked at.
    mutating func nextParent() -> Int32? { children == nil ? pending.popLast() : nil }

    mutating func look(at slots: Set<Int32>, of parent: String) {
        if !slots.isEmpty { children = (parent, slots, slots.startIndex) }
    }

    /// The next record to be looked at, and the parent that it had when the walk came to that.
    mutating func nextChild() -> (slot: Int32, parent: String)? {
        guard var current = children else { return nil }
        // A copy while it stands in the property would be changed as one.
        children = nil
        let slot = current.slots[current.next]
        current.slots.formIndex(after: &current.next)
        let parent = current.parent
        if current.next != current.slots.endIndex { children = current }
        return (slot, parent)
    }

    // MARK: The pass

    mutating func pass(_ entry: Feed.Entry, isMember: Bool) {
        passed = entry.position
        if isMember { feed.append(entry.position, slot: entry.slot, replacesEntry: false) }
    }

    mutating func passAgain() {
        (feed, passed, mustPassAgain) = (Feed(), .start, false)
    }
}
