internal import BrumeModel
internal import BrumeRecord

/// The content of a snapshot's block, checked as far as it can be by itself, and its records as the engine keeps them.
///
/// Making one is most of what loading takes, and any number of threads may do it at a time.
struct LoadedBlock: Sendable {
    /// What is not a record.
    let rest: SnapshotBlock
    /// Neighbouring records of one zone together, in their order.
    private(set) var records: [(zone: UInt64, records: LoadedRecords)] = []

    /// - Parameter sequence: The sequence number of the snapshot's last commit.
    init(
        _ content: UnsafeRawBufferPointer, upTo sequence: UInt64, with threads: LoadThreads = .one
    ) throws(DatabaseLoader.Problem) {
        let items: [StoreCoder.SnapshotItem]
        do throws(StoreCodingError) {
            (items, rest) = try StoreCoder.readSnapshotBlock(content)
        } catch {
            throw DatabaseLoader.Problem(text: error.message)
        }
        var start = 0
        while start < items.count {
            let zone = items[start].zone
            let end = items[start...].firstIndex { $0.zone != zone } ?? items.count
            var records = LoadedRecords(threads)
            try records.append(items[start..<end], of: content, upTo: sequence)
            self.records.append((zone, records))
            start = end
        }
        for tombstone in rest.tombstones {
            if records.last?.zone != tombstone.zone { records.append((tombstone.zone, LoadedRecords(threads))) }
            try records[records.count - 1].records.append(tombstone, upTo: sequence)
        }
    }
}

/// Records and tombstones of one zone, on their way into it.
struct LoadedRecords: Sendable {
    private(set) var slots: [RecordSlot] = []
    /// The hashes of the names, by slot.
    private(set) var hashes: [NameIndex.Hash] = []
    /// Which slots share an array, and its bytes.
    private(set) var packs: [(slots: Range<Int>, bytes: Int)] = []
    /// Slots of records with marks.
    private(set) var marked: [Int] = []
    /// Slots of records in shared trees.
    private(set) var covered: [(slot: Int, tree: UInt32, entered: ChangePosition)] = []
    private(set) var liveCount = 0
    private(set) var storedBytes = 0
    private(set) var approximateBytes = 0

    private let threads: LoadThreads

    init(_ threads: LoadThreads) { self.threads = threads }

    var tombstoneCount: Int { slots.count - liveCount }

    mutating func append(
        _ items: ArraySlice<StoreCoder.SnapshotItem>, of content: UnsafeRawBufferPointer, upTo sequence: UInt64
    ) throws(DatabaseLoader.Problem) {
        slots.reserveCapacity(items.count)
        hashes.reserveCapacity(items.count)
        var start = items.startIndex
        while start < items.endIndex {
            var end = start
            var bytes = 0
            repeat {
                bytes += items[end].record.count
                end += 1
            } while end < items.endIndex && items[end].record.count < RecordPacks.recordBytesMax
                && bytes < RecordPacks.targetBytes && items[end - 1].record.count < RecordPacks.recordBytesMax
            try appendPack(items[start..<end], bytes: bytes, of: content, upTo: sequence)
            start = end
        }
    }

    private mutating func appendPack(
        _ items: ArraySlice<StoreCoder.SnapshotItem>, bytes: Int, of content: UnsafeRawBufferPointer,
        upTo sequence: UInt64
    ) throws(DatabaseLoader.Problem) {
        let pack = [UInt8](unsafeUninitializedCapacity: bytes) { pack, count in
            threads.willFill(UnsafeMutableRawBufferPointer(pack))
            for item in items {
                UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(pack)[count..<count + item.record.count]
                )
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: content[item.record]))
                count += item.record.count
            }
        }
        if items.count > 1 { packs.append((slots.count..<slots.count + items.count, bytes)) }
        var start = 0
        for item in items {
            let end = start + item.record.count
            try append(
                item, UnsafeRawBufferPointer(rebasing: content[item.record]), in: pack, at: start..<end, sequence)
            start = end
        }
    }

    private mutating func append(
        _ item: StoreCoder.SnapshotItem, _ bytes: UnsafeRawBufferPointer, in pack: [UInt8], at range: Range<Int>,
        _ sequence: UInt64
    ) throws(DatabaseLoader.Problem) {
        try LoadedRecords.check(item.position, upTo: sequence)
        guard item.created <= item.position else {
            throw DatabaseLoader.Problem(text: "a record was changed before it was created")
        }
        let summary: StoredRecord.Summary
        do throws(ServiceError) {
            summary = try RecordSlot.check(bytes)
        } catch {
            throw DatabaseLoader.Problem(text: error.message)
        }
        if item.tree != 0 {
            try LoadedRecords.check(item.entered, upTo: sequence)
            covered.append((slots.count, item.tree, item.entered))
        }
        let marks = RecordMarks(summary)
        if !marks.isEmpty { marked.append(slots.count) }
        liveCount += 1
        storedBytes += bytes.count
        hashes.append(HashedSlots.hash(summary.name))
        let slot = RecordSlot(
            in: pack, at: range, marks: marks, position: item.position, created: item.created)
        approximateBytes += slot.approximateBytes
        slots.append(slot)
    }

    mutating func append(
        _ tombstone: SnapshotTombstone, upTo sequence: UInt64
    ) throws(DatabaseLoader.Problem) {
        if tombstone.name.isEmpty { throw DatabaseLoader.Problem(text: "a deleted record has no name") }
        try LoadedRecords.check(tombstone.position, upTo: sequence)
        let slot = RecordSlot.tombstone(name: tombstone.name, type: tombstone.type, position: tombstone.position)
        hashes.append(NameIndex.hash(tombstone.name))
        approximateBytes += slot.approximateBytes
        slots.append(slot)
    }

    private static func check(_ position: ChangePosition, upTo sequence: UInt64) throws(DatabaseLoader.Problem) {
        guard position.sequence <= sequence else {
            throw DatabaseLoader.Problem(text: "a change is behind the snapshot's last commit")
        }
    }
}
