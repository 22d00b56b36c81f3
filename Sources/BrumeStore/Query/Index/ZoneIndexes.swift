internal import BrumeModel

/// All indexes of one zone, from the first query that is worth one until the zone is deleted. Commits keep them up to
/// date.
final class ZoneIndexes {
    /// The most indexes of a zone: when it has so many, the least recently used one makes room for another.
    static let limit = 64

    /// Unchecked: the check takes longer than the access, and nothing that has the table calls what changes it.
    @exclusivity(unchecked) private(set) var ordinals = OrdinalTable()
    /// What the making of `ordinals` took, in units of a query.
    private var numberingUnits = 0
    /// The most recently used last.
    private var indexes: [FieldIndex] = []
    private let breaker: WordBreaker
    private let scratch: IndexScratch
    private let limits: IndexLimits
    private let remains: IndexRemains
    /// The changes that not all indexes have taken over.
    private var changes = IndexChanges()

    init(breaker: WordBreaker, scratch: IndexScratch, limits: IndexLimits, remains: IndexRemains) {
        self.remains = remains
        self.breaker = breaker
        self.scratch = scratch
        self.limits = limits
    }

    var approximateBytes: Int {
        indexes.reduce(ordinals.approximateBytes + changes.bytes + 1024) { $0 + $1.tree.approximateBytes + 256 }
    }

    var needsRebuild: Bool { ordinals.needsRebuild }

    /// The index if it is ready, or nil.
    func index(_ id: IndexID) -> FieldIndex? {
        guard let position = indexes.lastIndex(where: { $0.id == id && $0.isReady }) else { return nil }
        indexes.append(indexes.remove(at: position))
        return indexes.last
    }

    /// How far the making of an index has come, in units of a query, with the numbers that it needs; 0 when it has not
    /// begun.
    func progress(of id: IndexID) -> Int {
        numberingUnits + (indexes.first { $0.id == id }?.progress ?? 0)
    }

    /// Continues to build the numbers and then the index, for about so many units of a query.
    ///
    /// - Parameter zoneBytes: The bytes of the zone's records.
    func build(_ id: IndexID, _ zone: RecordSlots, zoneBytes: Int, _ budget: Int) {
        if !ordinals.isReady {
            ordinals.step(zone, budget)
            numberingUnits += budget
            return
        }
        let index: FieldIndex
        if let known = indexes.first(where: { $0.id == id }) {
            index = known
        } else {
            if indexes.count == ZoneIndexes.limit { indexes.removeFirst() }
            index = FieldIndex(
                id, breaker: breaker, scratch: scratch, limits: limits, nextChange: changes.endNumber,
                remains: remains)
            indexes.append(index)
        }
        // Building reads the zone as it is now, so all earlier changes have to be taken over first.
        var left = budget * FieldIndex.updateUnits
        while index.nextChange < changes.endNumber {
            if left <= 0 { return }
            left -= index.follow(changes[index.nextChange], left)
        }
        index.build(ordinals, zone, zoneBytes: zoneBytes, max(1, left / FieldIndex.updateUnits))
    }

    /// Notes that a record was put, where `old` is nil or its older version, or deleted, where `new` is nil.
    ///
    /// The indexes take over small changes at once, as long as the commit has not done much; all others become
    /// ``hasPending``.
    ///
    /// - Parameter units: What the commit may still do at once.
    func noteChange(_ slot: Int32, from old: RecordSlot?, to new: RecordSlot?, _ units: inout Int) {
        let ordinal: UInt32?
        if let new, old == nil {
            ordinal = ordinals.noteCreation(slot: slot, created: new.created)
        } else {
            ordinal = ordinals.ordinal(ofSlot: slot)
        }
        if let ordinal, !indexes.isEmpty, let type = (new ?? old)?.type {
            let (oldBytes, newBytes) = (old?.bytes, new?.bytes)
            let byteCount = (oldBytes?.count ?? 0) + (newBytes?.count ?? 0)
            let isPrompt = units > 0 && byteCount <= limits.promptBytes
            if isPrompt, changes.isEmpty {
                for index in indexes where index.id.covers(type) {
                    units -= index.noteChange(ordinal, from: oldBytes, to: newBytes)
                }
            } else {
                changes.append(IndexChange(slot: slot, ordinal: ordinal, type: type, old: oldBytes, new: newBytes))
                // A small change after a large one does as much work as it leaves, so that only large ones add to it.
                if isPrompt { units -= applyPending(min(units, 16 + byteCount / 2)) }
            }
        }
        if new == nil { ordinals.noteDeletion(slot: slot) }
    }

    // MARK: What is pending

    var hasPending: Bool { !changes.isEmpty }
    var pendingCount: Int { changes.count }
    var pendingBytes: Int { changes.bytes }
    /// The slots of records that the indexes do not have as they are: a query looks at each of them.
    var pendingSlots: Set<Int32> { changes.slots }

    /// Takes over what is pending, oldest first, for about so many units. Returns the work.
    func applyPending(_ units: Int) -> Int {
        var left = units
        while left > 0, !changes.isEmpty {
            let number = changes.firstNumber
            var isDone = true
            for index in indexes where index.nextChange == number {
                left -= index.follow(changes[number], left)
                if index.nextChange == number { isDone = false }
                if left <= 0 { break }
            }
            if left <= 0 { isDone = indexes.allSatisfy { $0.nextChange > number } }
            if isDone {
                changes.removeFirst()
                left -= 1
            }
        }
        return units - left
    }

    /// The names of indexes that differ from newly built ones. Call it when nothing is pending.
    func testOnly_differences(_ zone: RecordSlots) -> [String] {
        precondition(!hasPending, "indexes are compared before they have all changes")
        return indexes.filter { index in
            guard index.isReady else { return false }
            let other = FieldIndex(
                index.id, breaker: breaker, scratch: scratch, limits: limits, nextChange: 0, remains: nil)
            other.build(ordinals, zone, zoneBytes: 0, .max)
            return other.tree.testOnly_entries.map { "\($0)" } != index.tree.testOnly_entries.map { "\($0)" }
        }.map(\.id.name)
    }
}
