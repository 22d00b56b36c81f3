internal import BrumeModel

/// Numbers the records of a zone in the order of their creation: indexes name records by these numbers.
///
/// It is built in steps while commits go on, then kept up to date by them. A record has its number as long as it lives;
/// a new one gets the next.
struct OrdinalTable {
    private struct Entry {
        let created: ChangePosition
        let slot: Int32
    }

    private enum Phase {
        case collecting(next: Int32)
        case sorting
        case filling(next: Int)
        case ready
    }

    private var phase = Phase.collecting(next: 0)
    private var sort = SlicedSort<Entry>(by: { $0.created < $1.created })
    private var sorted: [Entry] = []
    /// Records that were created since the table was begun, in whatever slot: numbers rise with creation, so all of
    /// these come after what is collected.
    private var late: [Entry] = []

    /// By ordinal.
    private var creations = PagedArray<ChangePosition>()
    /// By ordinal; -1 for a record that is gone.
    private var slots = PagedArray<Int32>()
    /// By slot; `max` for none.
    private var ordinals = PagedArray<UInt32>()
    private(set) var liveCount = 0

    var count: Int { slots.count }

    var isReady: Bool {
        if case .ready = phase { return true }
        return false
    }

    var approximateBytes: Int { creations.count * 12 + ordinals.count * 4 + (sorted.count + late.count) * 16 }

    /// Whether most ordinals belong to deleted records, so that the zone's indexes should be rebuilt.
    var needsRebuild: Bool { isReady && count > 2 * liveCount + 65_536 }

    /// The slot of a record, or nil when it is gone.
    func slot(of ordinal: UInt32) -> Int32? {
        let slot = slots[Int(ordinal)]
        return slot < 0 ? nil : slot
    }

    func created(of ordinal: UInt32) -> ChangePosition { creations[Int(ordinal)] }

    func ordinal(ofSlot slot: Int32) -> UInt32? {
        guard Int(slot) < ordinals.count, ordinals[Int(slot)] != .max else { return nil }
        return ordinals[Int(slot)]
    }

    /// The first ordinal of a record that was created after `position`.
    func firstOrdinal(createdAfter position: ChangePosition) -> UInt32 {
        var low = 0
        var high = creations.count
        while low < high {
            let middle = (low + high) / 2
            if creations[middle] <= position { low = middle + 1 } else { high = middle }
        }
        return UInt32(low)
    }

    /// Continues to build the table, for about so many records.
    mutating func step(_ zone: RecordSlots, _ budget: Int) {
        var budget = budget
        while budget > 0 {
            switch phase {
            case .collecting(let next):
                if Int(next) == zone.count {
                    phase = .sorting
                    continue
                }
                let record = zone[next]
                if !record.isDeleted, late.isEmpty || record.created < late[0].created {
                    sort.add(Entry(created: record.created, slot: next))
                }
                phase = .collecting(next: next + 1)
                budget -= 1
            case .sorting:
                guard let sorted = sort.step(budget * 8) else { return }
                self.sorted = sorted
                phase = .filling(next: 0)
                budget -= 1
            case .filling(let next):
                if next == sorted.count + late.count {
                    sorted = []
                    late = []
                    sort = SlicedSort(by: { $0.created < $1.created })
                    phase = .ready
                    return
                }
                let entry = next < sorted.count ? sorted[next] : late[next - sorted.count]
                let record = zone[entry.slot]
                if !record.isDeleted, record.created == entry.created { number(entry) }
                phase = .filling(next: next + 1)
                budget -= 1
            case .ready: return
            }
        }
    }

    /// Notes that a record was created. Returns its number if the table is ready.
    mutating func noteCreation(slot: Int32, created: ChangePosition) -> UInt32? {
        if isReady { return number(Entry(created: created, slot: slot)) }
        late.append(Entry(created: created, slot: slot))
        return nil
    }

    mutating func noteDeletion(slot: Int32) {
        guard let ordinal = ordinal(ofSlot: slot) else { return }
        slots[Int(ordinal)] = -1
        ordinals[Int(slot)] = .max
        liveCount -= 1
    }

    @discardableResult
    private mutating func number(_ entry: Entry) -> UInt32 {
        let ordinal = UInt32(slots.count)
        slots.append(entry.slot)
        creations.append(entry.created)
        while ordinals.count <= Int(entry.slot) { ordinals.append(.max) }
        ordinals[Int(entry.slot)] = ordinal
        liveCount += 1
        return ordinal
    }
}
