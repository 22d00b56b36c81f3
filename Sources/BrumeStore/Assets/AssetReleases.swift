internal import BrumeModel

/// The records that commits replaced or removed, as far as they name assets, in the order of the commits.
///
/// Their assets are released once the commit is durable: until then a crash may bring the record back. The records wait
/// as they are, and a zone as a whole, so that a commit that removes many costs no more than others.
struct AssetReleases {
    private enum Item {
        case record(SharedBytes)
        /// A deleted zone's records, from a slot on.
        case zone(RecordSlots, from: Int32)
    }

    private var items: [(sequence: UInt64, item: Item)] = []
    /// How many of ``items`` are done with.
    private var doneCount = 0
    /// Zones of which all is released. To free a large one takes long.
    private var doneZones: [RecordSlots] = []
    /// About what waits takes in memory, zones left out.
    private(set) var approximateBytes = 0

    var isEmpty: Bool { doneCount == items.count }

    /// - Parameter sequence: Of the commit; no smaller than any before.
    mutating func append(_ record: SharedBytes, at sequence: UInt64) {
        items.append((sequence, .record(record)))
        approximateBytes += record.count
    }

    mutating func append(_ zone: RecordSlots, at sequence: UInt64) { items.append((sequence, .zone(zone, from: 0))) }

    /// Takes the next record of a commit up to a sequence; nil when there is none.
    ///
    /// - Parameter looks: How many slots of zones may be looked at. When none is left, the result is nil.
    mutating func next(upTo sequence: UInt64, looks: inout Int) -> SharedBytes? {
        while doneCount < items.count, items[doneCount].sequence <= sequence {
            switch items[doneCount].item {
            case .record(let record):
                endFirst()
                approximateBytes -= record.count
                return record
            case .zone(let slots, let start):
                let end = Int32(slots.count)
                var slot = start
                while slot < end, looks > 0, !slots.marks(of: slot).contains(.assets) {
                    slot += 1
                    looks -= 1
                }
                if slot == end {
                    doneZones.append(slots)
                    endFirst()
                    continue
                }
                guard looks > 0 else {
                    items[doneCount].item = .zone(slots, from: slot)
                    return nil
                }
                looks -= 1
                items[doneCount].item = .zone(slots, from: slot + 1)
                return slots.bytes(of: slot)
            }
        }
        return nil
    }

    /// Takes the zones of which all is released.
    mutating func takeDoneZones() -> [RecordSlots] { exchange(&doneZones, with: []) }

    private mutating func endFirst() {
        items[doneCount].item = .record(SharedBytes())
        doneCount += 1
        // Each item is moved once at most for each that ends.
        if doneCount * 2 >= items.count {
            items.removeFirst(doneCount)
            doneCount = 0
        }
    }

    /// Visits all records that wait.
    func forEach(_ visit: (SharedBytes) -> Void) {
        var releases = self
        var looks = Int.max
        while let record = releases.next(upTo: .max, looks: &looks) { visit(record) }
    }
}
