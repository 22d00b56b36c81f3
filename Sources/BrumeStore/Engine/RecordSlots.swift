internal import BrumeModel

/// The records of a zone by slot, in chunks of a fixed size.
///
/// A copy shares the chunks. A later change copies the chunk that it touches and the array of chunks, whatever the
/// zone's size: so a snapshot can be written from a copy while commits go on, and none of them waits for it.
struct RecordSlots: Sendable {
    /// A commit may touch as many chunks as it has records: a small chunk is copied in a microsecond or two.
    static let chunkSlots = 64

    /// All are full but the last.
    private(set) var chunks: [[RecordSlot]] = []

    var count: Int {
        guard let last = chunks.last else { return 0 }
        return (chunks.count - 1) * RecordSlots.chunkSlots + last.count
    }

    subscript(slot: Int32) -> RecordSlot {
        get { chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots] }
        set { chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots] = newValue }
    }

    /// The position of the slot's latest change, without a copy of the slot.
    func position(of slot: Int32) -> ChangePosition {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].position
    }

    /// The change that created the slot's record, without a copy of the slot.
    func created(_ slot: Int32) -> ChangePosition {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].created
    }

    /// Whether the slot's record is of a type, without a copy of the slot.
    func isOfType(_ type: String, _ slot: Int32) -> Bool {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].isOfType(type)
    }

    /// The encoded record.
    func bytes(of slot: Int32) -> SharedBytes {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].bytes
    }

    /// The encoded record, without a copy.
    func withBytes<Value>(of slot: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].withBytes(body)
    }

    /// Reads a little of the encoded record, so that it is in the processor's caches when it is copied. The value means
    /// nothing.
    func touch(_ slot: Int32) -> UInt8 {
        withBytes(of: slot) { $0.isEmpty ? 0 : $0[$0.count / 2] &+ $0[$0.count - 1] }
    }

    func isDeleted(_ slot: Int32) -> Bool {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].isDeleted
    }

    func marks(of slot: Int32) -> RecordMarks {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].marks
    }

    /// About what the slot's record takes in memory.
    func approximateBytes(of slot: Int32) -> Int {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].approximateBytes
    }

    func isPacked(_ slot: Int32) -> Bool {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].isPacked
    }

    /// The bytes of a record that shares an array with others; nil for one that doesn't.
    func packedBytes(of slot: Int32) -> Int? { isPacked(slot) ? byteCount(of: slot) : nil }

    func byteCount(of slot: Int32) -> Int {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].byteCount
    }

    /// Whether the slot's record has a name, which is given in UTF-8.
    func isNamed(_ name: UnsafeRawBufferPointer, _ slot: Int32) -> Bool {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots].isNamed(name)
    }

    /// Moves the packed records of some slots to a new pack of their own.
    mutating func repack(_ range: Range<Int32>) {
        let packed = range.filter { isPacked($0) }
        var pack: [UInt8] = []
        pack.reserveCapacity(packed.reduce(0) { $0 + byteCount(of: $1) })
        for slot in packed { withBytes(of: slot) { pack.append(contentsOf: $0) } }
        var start = 0
        for slot in packed {
            let end = start + byteCount(of: slot)
            self[slot] = RecordSlot(in: pack, at: start..<end, as: self[slot])
            start = end
        }
    }

    /// Puts a newer version in the place of a record, which keeps the change that created it.
    mutating func replace(_ slot: Int32, with record: SharedBytes, marks: RecordMarks, position: ChangePosition) {
        chunks[Int(slot) / RecordSlots.chunkSlots][Int(slot) % RecordSlots.chunkSlots]
            .replace(with: record, marks: marks, position: position)
    }

    /// Returns the record's slot.
    mutating func append(_ record: RecordSlot) -> Int32 {
        let slot = Int32(count)
        if Int(slot) % RecordSlots.chunkSlots == 0 {
            var chunk: [RecordSlot] = []
            // A zone of one record should not take the room of many.
            if !chunks.isEmpty { chunk.reserveCapacity(RecordSlots.chunkSlots) }
            chunk.append(record)
            chunks.append(chunk)
        } else {
            chunks[chunks.count - 1].append(record)
        }
        return slot
    }

    mutating func append(contentsOf records: [RecordSlot]) {
        for record in records { _ = append(record) }
    }
}
