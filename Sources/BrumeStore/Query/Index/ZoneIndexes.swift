internal import BrumeModel

/// All indexes of one zone, from the first query that is worth one until the zone goes. Commits keep them in step.
final class ZoneIndexes {
    /// The most of one zone; at it, the one that was used least recently goes.
    static let limit = 64

    private struct WeakRun {
        weak var run: QueryRun?
    }

    /// Unchecked: the check takes longer than the access, and nothing that has the table calls what changes it.
    @exclusivity(unchecked) private(set) var ordinals = OrdinalTable()
    /// The most recently used last.
    private var indexes: [FieldIndex] = []
    private let breaker: WordBreaker
    /// Queries that read the zone as it was when they began.
    private var runs: [WeakRun] = []

    init(breaker: WordBreaker) {
        self.breaker = breaker
    }

    var approximateBytes: Int {
        indexes.reduce(ordinals.approximateBytes + 1024) { $0 + $1.tree.approximateBytes + 256 }
    }

    var isWorn: Bool { ordinals.isWorn }

    /// One that is ready, or nil.
    func index(_ id: IndexID) -> FieldIndex? {
        guard let position = indexes.lastIndex(where: { $0.id == id && $0.isReady }) else { return nil }
        indexes.append(indexes.remove(at: position))
        return indexes.last
    }

    /// Goes on with making the numbers and then the index, for about so many units. Returns whether it is ready.
    func build(_ id: IndexID, _ zone: RecordSlots, _ budget: Int) -> Bool {
        if !ordinals.isReady {
            ordinals.step(zone, budget)
            return false
        }
        let index: FieldIndex
        if let known = indexes.first(where: { $0.id == id }) {
            index = known
        } else {
            if indexes.count == ZoneIndexes.limit { indexes.removeFirst() }
            index = FieldIndex(id, breaker: breaker)
            indexes.append(index)
        }
        index.build(ordinals, zone, budget)
        return index.isReady
    }

    func add(_ run: QueryRun) {
        runs.removeAll { $0.run == nil || $0.run === run }
        runs.append(WeakRun(run: run))
    }

    func remove(_ run: QueryRun) {
        runs.removeAll { $0.run == nil || $0.run === run }
    }

    /// A record was put, where nil or another version was; or deleted, where `new` is nil.
    func noteChange(_ slot: Int32, from old: RecordSlot?, to new: RecordSlot?) {
        for weak in runs { weak.run?.noteChange(slot, in: self) }
        let ordinal: UInt32?
        if let new, old == nil {
            ordinal = ordinals.noteCreation(slot: slot, created: new.created)
        } else {
            ordinal = ordinals.ordinal(ofSlot: slot)
        }
        if let ordinal, !indexes.isEmpty, let type = (new ?? old)?.type {
            let (oldBytes, newBytes) = (old?.bytes, new?.bytes)
            for index in indexes where index.id.covers(type) {
                index.noteChange(ordinal, from: oldBytes, to: newBytes)
            }
        }
        if new == nil { ordinals.noteDeletion(slot: slot) }
    }

    /// Names of indexes that differ from one that is made anew.
    func testOnly_differences(_ zone: RecordSlots) -> [String] {
        indexes.filter { index in
            guard index.isReady else { return false }
            let other = FieldIndex(index.id, breaker: breaker)
            other.build(ordinals, zone, .max)
            return other.tree.testOnly_entries.map { "\($0)" } != index.tree.testOnly_entries.map { "\($0)" }
        }.map(\.id.name)
    }
}
