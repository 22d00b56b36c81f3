internal import BrumeModel
internal import BrumeRecord

/// One index of one type of a zone's records, in memory only.
///
/// Built record by record in the order of their numbers; commits update what is built so far, and leave the rest to the
/// building. Large records are taken in in steps, see ``IndexUpdate``.
///
/// An index by hashes (words, elements, whole values) is gathered in a ``TermTable`` first, from which no entry can be
/// removed: what commits change meanwhile is noted, and corrected in the tree before the index is ready.
final class FieldIndex {
    let id: IndexID
    /// Unchecked: the check takes longer than the access, and no code that holds the tree calls code that changes it.
    @exclusivity(unchecked) private(set) var tree = PostingTree()
    /// Records with smaller numbers are in it, or in `table`.
    private(set) var builtCount: UInt32 = 0
    private(set) var isReady = false
    /// The units of a query that went into what the index holds of the records that were there when it was begun. Not
    /// what is done again because of changes, nor what newer records add, so it has a limit that no change can move.
    private(set) var progress = 0
    /// The number of records when the index was begun.
    private var firstCount: Int?
    /// What of ``progress`` is in `making`, and is lost if that is.
    private var makingProgress = 0
    /// The number of the zone's next change (``IndexChanges``) that it takes over.
    private(set) var nextChange: Int
    private var table: TermTable?
    /// Whether a table is to be made, when the first record comes.
    private var needsTable: Bool
    /// Whether the table has all that it will have.
    private var isTableComplete = false
    /// Records that have more keys than the index takes in, rising, kept beside the table; and how many of them were
    /// moved to the tree.
    private var unindexed: [UInt32] = []
    private var movedUnindexedCount = 0
    /// Records that were changed since they were put into the table, with their keys there. Each record once, so it is
    /// smaller than the index.
    private var outdated: [UInt32: [PostingTree.Key]] = [:]
    /// The record with the number `builtCount`, if taking it in has begun.
    private var making: IndexUpdate?
    /// One of the outdated records, corrected in the tree in part.
    private var mending: IndexUpdate?
    /// The change `nextChange`, taken over in part.
    private var following: IndexUpdate?
    let lookup: FieldLookup?
    let breaker: WordBreaker
    let limits: IndexLimits
    private let scratch: IndexScratch
    /// Takes what is left of it, to free it in steps; when nil, it is freed at once.
    private let remains: IndexRemains?

    /// - Parameter nextChange: The first change that building the index will not see.
    init(
        _ id: IndexID, breaker: WordBreaker, scratch: IndexScratch, limits: IndexLimits, nextChange: Int,
        remains: IndexRemains?
    ) {
        self.id = id
        self.breaker = breaker
        self.scratch = scratch
        self.limits = limits
        self.nextChange = nextChange
        self.remains = remains
        switch id.kind {
        case .order(let key), .equality(let key), .members(let key), .places(let key): lookup = FieldLookup([key])
        case .all, .words: lookup = nil
        }
        switch id.kind {
        case .words, .members, .equality: needsTable = true
        case .all, .order, .places: needsTable = false
        }
    }

    deinit {
        if tree.count > PostingTree.leafCapacity { remains?.add(tree) }
        if let table { remains?.add(table) }
    }

    /// Whether there are records with more words or elements than the index takes in: it leads to them whatever is
    /// searched for.
    var hasUnindexed: Bool {
        switch id.kind {
        case .words, .members: tree.position(of: IndexKeys.unindexed) != nil
        case .all, .order, .equality, .places: false
        }
    }

    // MARK: Making

    /// The number of ``IndexUpdate``'s units that weigh as much as one unit of a query: a record of a few hundred
    /// bytes.
    static let updateUnits = 16
    /// The number of them that are done between two looks at what is left.
    private static let stepUnits = 256

    /// Takes the next records in, for about so many units. All changes must have been taken over before.
    ///
    /// - Parameter zoneBytes: The bytes of the zone's records.
    func build(_ ordinals: OrdinalTable, _ zone: RecordSlots, zoneBytes: Int, _ budget: Int) {
        if needsTable {
            needsTable = false
            table = TermTable(recordCount: ordinals.count, recordBytes: zoneBytes)
        }
        if firstCount == nil { firstCount = ordinals.count }
        var budget = budget
        while budget > 0, !isReady { budget -= buildNext(ordinals, zone) }
    }

    /// Returns the work in units.
    private func buildNext(_ ordinals: OrdinalTable, _ zone: RecordSlots) -> Int {
        if let table, isTableComplete {
            let work = move(table)
            progress += work
            return work
        }
        if mending != nil { return mend() }
        if table == nil, let (ordinal, keys) = outdated.popFirst() {
            mending = IndexUpdate(ordinal, from: keys, to: bytes(of: ordinal, ordinals, zone))
            return mend()
        }
        guard Int(builtCount) < ordinals.count else {
            if table == nil { isReady = true }
            isTableComplete = true
            return 1
        }
        return insertNext(ordinals, zone)
    }

    private func move(_ table: TermTable) -> Int {
        if let work = table.movePart(to: &tree) { return work }
        guard movedUnindexedCount == unindexed.count else {
            let end = min(movedUnindexedCount + PostingTree.leafCapacity, unindexed.count)
            tree.append(IndexKeys.unindexed, Array(unindexed[movedUnindexedCount..<end]))
            movedUnindexedCount = end
            return 1
        }
        unindexed = []
        self.table = nil
        return 1
    }

    private func mend() -> Int {
        var units = FieldIndex.stepUnits
        if advance(&mending!, &units) { mending = nil }
        return 1 + (FieldIndex.stepUnits - units) / FieldIndex.updateUnits
    }

    /// The bytes of a record; nil when it is gone, or of a type that the index does not cover.
    private func bytes(of ordinal: UInt32, _ ordinals: OrdinalTable, _ zone: RecordSlots) -> SharedBytes? {
        guard let slot = ordinals.slot(of: ordinal), id.covers(zone[slot].type) else { return nil }
        return zone.bytes(of: slot)
    }

    /// Returns the work in units.
    private func insertNext(_ ordinals: OrdinalTable, _ zone: RecordSlots) -> Int {
        if making != nil { return make() }
        let isOfFirst = builtCount < firstCount ?? 0
        guard let slot = ordinals.slot(of: builtCount), id.covers(zone[slot].type) else {
            builtCount += 1
            if isOfFirst { progress += 1 }
            return 1
        }
        // So small that it can't have more keys than the index takes in.
        if zone.byteCount(of: slot) <= min(limits.promptBytes, limits.words, limits.elements) {
            builtCount += 1
            let work = zone.withBytes(of: slot) { insertSmall(builtCount - 1, $0) }
            if isOfFirst { progress += work }
            return work
        }
        making = IndexUpdate(builtCount, from: [], to: zone.bytes(of: slot))
        return make()
    }

    private func make() -> Int {
        var units = FieldIndex.stepUnits
        let isMade = table == nil ? advance(&making!, &units) : addToTable(&units)
        let work = 1 + (FieldIndex.stepUnits - units) / FieldIndex.updateUnits
        if builtCount < firstCount ?? 0 {
            progress += work
            makingProgress += work
        }
        if isMade {
            making = nil
            makingProgress = 0
            builtCount += 1
        }
        return work
    }

    /// Returns whether all of the record's keys are in the table.
    private func addToTable(_ units: inout Int) -> Bool {
        while making!.phase != .changing, units > 0 { making!.read(for: self, &units) }
        guard making!.phase == .changing else { return false }
        if making!.newKeys == [IndexKeys.unindexed] {
            unindexed.append(builtCount)
            return true
        }
        while units > 0, making!.right < making!.newKeys.count {
            let work = table!.add(UInt64(truncatingIfNeeded: making!.newKeys[making!.right]), builtCount)
            units -= 1 + work * FieldIndex.updateUnits
            making!.right += 1
        }
        return making!.right == making!.newKeys.count
    }

    /// Returns the work in units.
    private func insertSmall(_ ordinal: UInt32, _ record: UnsafeRawBufferPointer) -> Int {
        scratch.newKeys.removeAll(keepingCapacity: true)
        var rest = beginKeys(of: record, &scratch.newKeys)
        var units = Int.max
        while !readKeys(&rest, &scratch.newKeys, &units) {}
        if let table {
            var work = 1 + record.count / 256
            for key in scratch.newKeys { work += table.add(UInt64(truncatingIfNeeded: key), ordinal) }
            return work
        }
        for key in scratch.newKeys { tree.insert(key, ordinal) }
        return 1 + scratch.newKeys.count + record.count / 512
    }

    // MARK: Commits

    /// Takes over the change of a small record of the type. No earlier change may be pending.
    ///
    /// - Returns: The work, in ``IndexUpdate``'s units.
    func noteChange(_ ordinal: UInt32, from old: SharedBytes?, to new: SharedBytes?) -> Int {
        guard concerns(ordinal) else { return 1 }
        readAllKeys(of: old, &scratch.oldKeys)
        if table != nil {
            outdated[ordinal] = scratch.oldKeys
            return 1 + scratch.oldKeys.count / FieldIndex.sortedKeysPerUnit
        }
        readAllKeys(of: new, &scratch.newKeys)
        var work = 1 + FieldIndex.walkUnits((old?.count ?? 0) + (new?.count ?? 0))
        if scratch.oldKeys == scratch.newKeys { return work }
        var (left, right) = (0, 0)
        work += change(ordinal, scratch.oldKeys, scratch.newKeys, &left, &right, .max)
        return work
    }

    /// Continues to take over the zone's change ``nextChange``, for about so many of ``IndexUpdate``'s units.
    ///
    /// - Returns: The work in units.
    func follow(_ change: IndexChange, _ units: Int) -> Int {
        if following == nil {
            guard id.covers(change.type), concerns(change.ordinal) else {
                nextChange += 1
                return 1
            }
            following = IndexUpdate(change.ordinal, from: change.old, to: change.new)
        }
        var left = units
        let isDone: Bool
        if table != nil {
            while following!.phase == .readingOld, left > 0 { following!.read(for: self, &left) }
            isDone = following!.phase != .readingOld
            if isDone { outdated[change.ordinal] = following!.oldKeys }
        } else {
            isDone = advance(&following!, &left)
        }
        if isDone {
            following = nil
            nextChange += 1
        }
        return max(1, units - left)
    }

    /// Whether a change of a record has to be taken over: not when the record itself is still to be taken in.
    private func concerns(_ ordinal: UInt32) -> Bool {
        if isReady { return true }
        if let known = making, known.ordinal == ordinal {
            if known.right == 0 {
                // It is read anew, from the beginning.
                progress -= makingProgress
            } else {
                outdated[ordinal] = known.keysInIndex
                builtCount += 1
            }
            making = nil
            makingProgress = 0
            return false
        }
        if ordinal >= builtCount { return false }
        if let known = mending, known.ordinal == ordinal {
            outdated[ordinal] = known.keysInIndex
            mending = nil
        }
        return outdated[ordinal] == nil
    }

    // MARK: Steps

    /// Advances an update. Returns whether the tree then has the record's new keys alone.
    private func advance(_ update: inout IndexUpdate, _ units: inout Int) -> Bool {
        while update.phase != .changing {
            if units <= 0 { return false }
            update.read(for: self, &units)
        }
        units -= change(update.ordinal, update.oldKeys, update.newKeys, &update.left, &update.right, units)
        return update.left == update.oldKeys.count && update.right == update.newKeys.count
    }

    /// Removes the entries that are not among the new keys, and adds those that are not among the old ones: about
    /// `limit` of them.
    private func change(
        _ ordinal: UInt32, _ oldKeys: [PostingTree.Key], _ newKeys: [PostingTree.Key], _ left: inout Int,
        _ right: inout Int, _ limit: Int
    ) -> Int {
        var work = 0
        while work < limit, left < oldKeys.count || right < newKeys.count {
            work += 1
            if right == newKeys.count || left < oldKeys.count && oldKeys[left] < newKeys[right] {
                tree.remove(oldKeys[left], ordinal)
                left += 1
            } else if left == oldKeys.count || newKeys[right] < oldKeys[left] {
                tree.insert(newKeys[right], ordinal)
                right += 1
            } else {
                left += 1
                right += 1
            }
        }
        return work
    }
}

/// Room for the keys of a small record's two versions, for all indexes of a database.
final class IndexScratch {
    @exclusivity(unchecked) var oldKeys: [PostingTree.Key] = []
    @exclusivity(unchecked) var newKeys: [PostingTree.Key] = []
}
