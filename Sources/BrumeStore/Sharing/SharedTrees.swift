internal import BrumeModel

/// The trees of records that a zone's shares cover, and who takes part in them.
///
/// The share records say what there is; this is kept in step with them: see `ZoneState+Trees.swift`. It is worked out
/// anew from the journal, and snapshots keep it, because it also holds what was: when records came into trees, what
/// left them, and whose part ended.
struct SharedTrees: Sendable {
    /// By number; those that ended and are of interest among them. A number is not used again.
    private(set) var trees: [UInt32: SharedTree] = [:]
    private(set) var facts = TreeFacts()
    private(set) var numberOfShare: [String: UInt32] = [:]
    /// A record whose number no tree has is in none.
    private(set) var numbers = TreeNumbers()
    /// Users who do not own the zone, by record name.
    private(set) var members: [String: TreeMember] = [:]
    private(set) var lastNumber: UInt32 = 0
    private(set) var departureCount = 0
    /// The numbers of the trees that ended, the one that ended first in front.
    private var endedNumbers: [UInt32] = []
    private var treeBytes = 0

    /// What the commit in hand has changed, in the order of its positions, until it is settled.
    var events: [TreeEvent] = []
    /// For whom the commit in hand changes something.
    private var touches = TreeTouches()
    /// Shares that the commit in hand began, by number.
    var begun: [UInt32] = []
    /// Trees that are made ready for shares to come, by the names of their roots.
    var preparations: [String: TreePreparation] = [:]
    /// What the commit in hand deleted of them although others stand below it.
    var deletedParents: [(root: String, name: String)] = []
    /// Records that were loaded, while loading.
    private var loaded: [(slot: Int32, tree: UInt32, entered: ChangePosition)] = []

    var isEmpty: Bool { trees.isEmpty }

    /// Whether there is nothing that has to be kept in step with records.
    var isIdle: Bool { trees.isEmpty && preparations.isEmpty }

    /// Whether a commit's changes are not settled yet.
    var isUnsettled: Bool { !events.isEmpty || !begun.isEmpty || !deletedParents.isEmpty }

    /// About what it takes in memory.
    var approximateBytes: Int {
        if isIdle { return 0 }
        return treeBytes + numbers.approximateBytes + members.count * SharedTrees.memberBytes
            + preparations.values.reduce(0) { $0 + $1.approximateBytes }
    }

    /// The same, counted anew.
    var recountedBytes: Int {
        var counted = self
        counted.treeBytes = trees.values.reduce(0) { $0 + $1.recountedBytes }
        return counted.approximateBytes
    }

    private static let memberBytes = 256

    /// The tree that a slot is in; nil for none. Trees that ended are among them.
    func tree(of slot: Int32) -> SharedTree? { isEmpty ? nil : trees[numbers[slot]] }

    /// The number of the tree that covers a slot; 0 for none.
    func cover(of slot: Int32) -> UInt32 {
        let number = numbers[slot]
        return facts.isLive(number) ? number : 0
    }

    /// Whether a slot is in a tree that ended.
    func isInEnded(_ slot: Int32) -> Bool { facts.hasEnded(numbers[slot]) }

    mutating func load(_ slot: Int32, tree: UInt32, entered: ChangePosition) {
        numbers[slot] = tree
        loaded.append((slot, tree, entered))
    }

    mutating func takeLoaded() -> [(slot: Int32, tree: UInt32, entered: ChangePosition)] {
        exchange(&loaded, with: [])
    }

    /// Changes a tree that there is; nil where there is none.
    @discardableResult
    mutating func update<Value>(_ number: UInt32, _ change: (inout SharedTree) -> Value) -> Value? {
        // One look-up for all of it.
        guard let index = trees.index(forKey: number) else { return nil }
        let (value, bytes, departures) = SharedTrees.change(&trees.values[index], change)
        treeBytes += bytes
        departureCount += departures
        return value
    }

    private static func change<Value>(
        _ tree: inout SharedTree, _ change: (inout SharedTree) -> Value
    ) -> (value: Value, grownBytes: Int, grownDepartures: Int) {
        let (bytes, departures) = (tree.approximateBytes, tree.departures.count)
        let value = change(&tree)
        return (value, tree.approximateBytes - bytes, tree.departures.count - departures)
    }

    mutating func set(_ number: UInt32, of slot: Int32) {
        if !preparations.isEmpty, number != 0 { breakPreparation(numbers[slot], unless: number) }
        numbers[slot] = number
    }

    /// A record goes from a tree that is made ready into another one.
    private mutating func breakPreparation(_ former: UInt32, unless number: UInt32) {
        guard former != number, let root = preparations.first(where: { $0.value.number == former })?.key else { return }
        preparations[root]!.isBroken = true
    }

    /// Forgets the older half of the departures of the largest trees, until there are fewer than a limit says by an
    /// eighth: what happens in others expires no token of a small one.
    mutating func forgetDepartures(downTo limit: Int) {
        if departureCount <= limit { return }
        let goal = limit - limit / 8
        while departureCount > goal {
            let most = trees.values.reduce(0) { max($0, $1.departures.count) }
            for number in trees.keys.sorted() where departureCount > goal {
                let count = trees[number]!.departures.count
                if count > most / 2 { update(number) { $0.forgetDepartures((count + 1) / 2) } }
            }
        }
    }

    /// Notes that a tree changed by a record of a type.
    mutating func touch(_ number: UInt32, _ type: String) {
        if facts.isLive(number) { touches.note(number, type) }
    }

    /// Notes that a tree's share changed for those alone who manage it.
    mutating func touchQuietly(_ number: UInt32) { touches.noteQuietly(number) }

    /// For whom the commit in hand changed something.
    mutating func takeTouched() -> [TouchedTree] {
        touches.take(trees) { members[$0]?.parts[$1]?.isManager == true }
    }

    // MARK: Shares

    /// Notes what a share's record says.
    mutating func note(_ share: Share, named name: String, in slot: Int32, at position: ChangePosition) {
        let number = numberOfShare[name] ?? begin(name, at: position)
        var present = Set<String>()
        for participant in share.participants {
            guard let acceptance = participant.acceptance else { continue }
            present.insert(participant.user)
            if !trees[number]!.users.contains(participant.user) { touches.note(participant.user) }
            let part = TreeMember.Part(participant, acceptance: acceptance)
            members[participant.user, default: TreeMember(start: acceptance)].parts[number] = part
        }
        for user in trees[number]!.users where !present.contains(user) { end(user, inTree: number, at: position) }
        update(number) { tree in
            tree.users = present
            tree.quietShare = QuietShare(share, at: slot, changed: position)
        }
    }

    /// Ends a share.
    mutating func end(share name: String, at position: ChangePosition) {
        guard let number = numberOfShare.removeValue(forKey: name) else { return }
        for user in trees[number]!.users { end(user, inTree: number, at: position) }
        update(number) { tree in
            tree.users = []
            tree.end()
        }
        facts.end(number)
        endedNumbers.append(number)
        dropIfUnneeded(number)
    }

    private mutating func begin(_ share: String, at position: ChangePosition) -> UInt32 {
        let number = takeNumber()
        let tree = SharedTree(share: share, since: position)
        treeBytes += tree.approximateBytes
        trees[number] = tree
        facts.note(tree, number: number)
        numberOfShare[share] = number
        begun.append(number)
        return number
    }

    /// Whether there are numbers enough for trees that may never come.
    var hasNumbersToSpare: Bool { lastNumber < UInt32.max / 4 }

    /// A number for a tree to come.
    mutating func takeNumber() -> UInt32 {
        lastNumber += 1
        return lastNumber
    }

    /// Drops a tree that is made ready.
    mutating func dropPreparation(below root: String) {
        preparations[root] = nil
        if isIdle { numbers = TreeNumbers() }
    }

    /// Makes a tree that was made ready that of a share, in which nobody takes part yet.
    mutating func adopt(_ prepared: TreePreparation, inPlaceOf number: UInt32) {
        guard var tree = trees.removeValue(forKey: number) else { return }
        treeBytes -= tree.approximateBytes
        tree.take(prepared)
        treeBytes += tree.approximateBytes
        trees[prepared.number] = tree
        facts.drop(number)
        facts.note(tree, number: prepared.number)
        numberOfShare[tree.share] = prepared.number
        preparations[prepared.root] = nil
    }

    /// Takes a tree, and returns whether its share has no other.
    mutating func add(_ tree: SharedTree, number: UInt32) -> Bool {
        if !tree.isEnded {
            guard numberOfShare[tree.share] == nil else { return false }
            numberOfShare[tree.share] = number
        }
        trees[number] = tree
        facts.note(tree, number: number)
        treeBytes += tree.approximateBytes
        lastNumber = max(lastNumber, number)
        if tree.isEnded { endedNumbers.append(number) }
        return true
    }

    mutating func add(_ member: TreeMember, user: String) { members[user] = member }

    /// Notes who is to be told of trees. Returns false if somebody is to be told of one that is not there.
    mutating func loadEndedParts() -> Bool {
        for (user, member) in members {
            for part in member.ended {
                guard trees[part.tree] != nil else { return false }
                update(part.tree) { $0.told.insert(user) }
            }
        }
        return endedNumbers.allSatisfy { !trees[$0]!.told.isEmpty }
    }

    /// Takes who takes part in a share, and returns whether they are all known to take part in its zone.
    mutating func load(_ share: Share, quiet: QuietShare?, tree number: UInt32) -> Bool {
        var users = Set<String>()
        for participant in share.participants {
            guard let acceptance = participant.acceptance else { continue }
            guard let start = members[participant.user]?.start, start <= acceptance else { return false }
            users.insert(participant.user)
            members[participant.user]!.parts[number] = TreeMember.Part(participant, acceptance: acceptance)
        }
        update(number) { tree in
            tree.users = users
            tree.quietShare = quiet
        }
        return true
    }

    private mutating func end(_ user: String, inTree number: UInt32, at position: ChangePosition) {
        touches.note(user)
        // In place: a user may take part in a thousand trees.
        let forgotten = members[user]!.end(number, at: position)
        update(number) { $0.told.insert(user) }
        if let forgotten, !members[user]!.ended.contains(where: { $0.tree == forgotten }) {
            untell(user, of: forgotten)
        }
        guard members[user]!.parts.isEmpty, let member = members.removeValue(forKey: user) else { return }
        for part in member.ended { untell(user, of: part.tree) }
    }

    private mutating func untell(_ user: String, of number: UInt32) {
        update(number) { $0.told.remove(user) }
        dropIfUnneeded(number)
    }

    /// Drops a tree that ended and of which nobody is to be told any more.
    private mutating func dropIfUnneeded(_ number: UInt32) {
        if let tree = trees[number], tree.isEnded, tree.told.isEmpty { drop(number) }
    }

    private mutating func drop(_ number: UInt32) {
        departureCount -= trees[number]!.departures.count
        treeBytes -= trees[number]!.approximateBytes
        trees[number] = nil
        facts.drop(number)
        endedNumbers.removeAll { $0 == number }
        if isIdle { numbers = TreeNumbers() }
    }

    /// Drops the oldest trees that ended while they hold more records than a limit says, but for the newest one.
    /// Whoever was to be told of them starts over.
    mutating func forgetEnded(downTo limit: Int) {
        if endedNumbers.count < 2 { return }
        var count = endedNumbers.reduce(0) { $0 + trees[$1]!.count }
        while count > limit || endedNumbers.count > StoreLimits.endedTreesPerZone, endedNumbers.count > 1 {
            let oldest = endedNumbers[0]
            count -= trees[oldest]!.count
            forgetEnded(oldest)
        }
    }

    /// Drops a tree that ended. Whoever was to be told of it starts over.
    mutating func forgetEnded(_ number: UInt32) {
        for user in trees[number]!.told { members[user]!.forgetEnds(of: number) }
        drop(number)
    }
}
