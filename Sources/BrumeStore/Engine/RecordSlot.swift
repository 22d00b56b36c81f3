internal import BrumeModel
internal import BrumeRecord

/// A record as the engine keeps it: its encoded bytes, and where it stands among the changes. 32 bytes beside its own.
///
/// What else decisions need is read from the bytes, which begin with name, type and change tag. Records that come from
/// a snapshot share one array with their neighbours, so that a million of them are not a million allocations; see
/// ``RecordPacks``.
///
/// In a custom zone a deleted record keeps its slot as a tombstone: name, type and position, nothing else.
struct RecordSlot: Sendable {
    /// The encoded `brume.v1.Record`; in a tombstone one with name and type alone, or nothing. A newer version
    /// overwrites it if nobody else holds it; see ``replace(with:marks:position:)``.
    private var storage: [UInt8]
    /// Where the record begins in ``storage``.
    private var start: UInt32
    /// The number of bytes, and the marks in the bits above it.
    private var countAndMarks: UInt32
    /// The position of the latest change.
    var position: ChangePosition
    /// The position of the change that created the record: unique in the database, and the same as long as the record
    /// lives. It is the last sort key of all queries. A newer version keeps it.
    var created: ChangePosition

    private static let deletedMark: UInt32 = 1 << 31

    /// A new record, created by the change at its position, in an array of its own.
    init(new record: SharedBytes, marks: RecordMarks, position: ChangePosition) {
        self.init(
            storage: record.array, range: 0..<record.count, marks: marks.rawValue, position: position,
            created: position)
    }

    /// The record of another slot, moved into a shared array.
    init(in pack: [UInt8], at range: Range<Int>, as other: RecordSlot) {
        precondition(range.count == other.byteCount && range.upperBound <= pack.count, "a record is moved in part")
        self.init(
            storage: pack, range: range, marks: other.countAndMarks & ~RecordSlot.countMask, position: other.position,
            created: other.created)
    }

    /// A record that shares an array with others.
    init(
        in pack: [UInt8], at range: Range<Int>, marks: RecordMarks, position: ChangePosition, created: ChangePosition
    ) {
        self.init(storage: pack, range: range, marks: marks.rawValue, position: position, created: created)
    }

    /// What is left of a deleted record. Without a name nothing is left, and the slot is free for another record.
    static func tombstone(name: String, type: String, position: ChangePosition) -> RecordSlot {
        let bytes = name.isEmpty ? [] : StoredRecord.encode(SystemFields(name: name, type: type), fields: [])
        return RecordSlot(
            storage: bytes, range: 0..<bytes.count, marks: deletedMark, position: position, created: .start)
    }

    private init(
        storage: [UInt8], range: Range<Int>, marks: UInt32, position: ChangePosition, created: ChangePosition
    ) {
        precondition(range.count <= RecordSlot.countMask, "a record is larger than a slot can say")
        self.storage = storage
        start = UInt32(range.lowerBound)
        countAndMarks = UInt32(range.count) | marks
        self.position = position
        self.created = created
    }

    private static let countMask: UInt32 = (1 << 28) - 1

    /// Takes a newer version of the record.
    ///
    /// It overwrites the older one where that has an array of its own, of about the same size, that nobody else holds:
    /// a snapshot that is being written, or an index that compares the two, keeps the older version by holding it. So
    /// most saves allocate nothing that stays, and a record that is saved again and again stays where it is.
    mutating func replace(with record: SharedBytes, marks: RecordMarks, position: ChangePosition) {
        let newer = record.count
        if isPacked || newer > storage.capacity || !SharedBytes.isSnug(newer, in: storage.capacity) {
            storage = record.array
        } else {
            storage.removeAll(keepingCapacity: true)
            record.withUnsafeBytes { storage.append(contentsOf: $0) }
        }
        start = 0
        precondition(newer <= RecordSlot.countMask, "a record is larger than a slot can say")
        countAndMarks = UInt32(newer) | marks.rawValue
        self.position = position
    }

    var isDeleted: Bool { countAndMarks & RecordSlot.deletedMark != 0 }

    /// Whether the slot holds nothing, and waits for another record.
    var isFree: Bool { isDeleted && byteCount == 0 }

    /// Whether the bytes stand in one array with those of other records.
    var isPacked: Bool { byteCount != storage.count }

    var byteCount: Int { Int(countAndMarks & RecordSlot.countMask) }

    /// The encoded record. If it is packed, its neighbours stay in memory with it.
    var bytes: SharedBytes { SharedBytes(of: storage, at: Int(start)..<Int(start) + byteCount) }

    func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let range = Int(start)..<Int(start) + byteCount
        let result: Result<Value, Failure> = storage.withUnsafeBytes { storage in
            do throws(Failure) {
                return .success(try body(UnsafeRawBufferPointer(rebasing: storage[range])))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    // MARK: Read from the bytes

    /// The array that holds the record.
    var testOnly_storage: [UInt8] { storage }

    var name: String { withBytes { String(decoding: StoredRecord.head(of: $0).name, as: UTF8.self) } }

    var type: String { withBytes { String(decoding: StoredRecord.head(of: $0).type, as: UTF8.self) } }

    func isNamed(_ name: UnsafeRawBufferPointer) -> Bool {
        withBytes { ByteOrder.isEqual(StoredRecord.head(of: $0).name, name) }
    }

    func isOfType(_ type: String) -> Bool {
        withBytes { ByteOrder.compare(type, StoredRecord.head(of: $0).type) == 0 }
    }

    /// Whether it is the version of a change tag. A tombstone is of none.
    func hasTag(_ tag: String) -> Bool {
        withBytes { ByteOrder.compare(tag, StoredRecord.head(of: $0).changeTag) == 0 } && !tag.isEmpty
    }

    /// The name of the parent record, or empty.
    var parent: String {
        refersToOthers ? withBytes { String(decoding: StoredRecord.parent(of: $0), as: UTF8.self) } : ""
    }

    /// What it says of sharing; nil for nothing.
    var sharing: SharingPart? {
        marks.contains(.sharing) ? withBytes { StoredRecord.sharing(of: $0) } : nil
    }

    /// Its `deleteSelf` references.
    ///
    /// - Complexity: O(fields and references).
    var cascades: StoredRecord.Cascades { cascades(within: .unlimited) }

    /// The same, read only as far as there is room; when they don't fit, the result is incomplete.
    func cascades(within room: StoredRecord.Cascades.Room) -> StoredRecord.Cascades {
        if !refersToOthers { return StoredRecord.Cascades() }
        return withBytes { bytes in
            guard let cascades = try? StoredRecord.cascades(of: bytes, within: room) else {
                preconditionFailure("a stored record can't be read, though it was checked")
            }
            return cascades
        }
    }

    /// Its parent, and the targets of its `deleteSelf` references.
    var references: RecordReferences { RecordReferences(parent: parent, targets: cascades.targets) }

    /// Whether it has a parent or references that delete it with their targets.
    var refersToOthers: Bool { marks.contains(.refersToOthers) }

    var marks: RecordMarks { RecordMarks(rawValue: countAndMarks & RecordMarks.all.rawValue) }

    /// What a record takes beside its bytes: its slot, the places of its name in the look-ups and of its changes in the
    /// feed, and what an allocation adds.
    private static let overheadBytes = 128

    /// About what the record takes in memory. An eighth of it may be empty, which is not counted.
    var approximateBytes: Int { RecordSlot.overheadBytes + byteCount }
}

extension RecordSlot {
    /// Checks stored bytes. Throws when they are no record of the server's making.
    static func check(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> StoredRecord.Summary {
        let summary = try StoredRecord.summary(of: bytes)
        guard !summary.changeTag.isEmpty else { throw ServiceError(.internalError, "a record has no change tag") }
        guard !summary.name.isEmpty else { throw ServiceError(.internalError, "a record has no name") }
        let isShare =
            summary.type.count == Names.shareType.utf8.count && ByteOrder.compare(Names.shareType, summary.type) == 0
        guard isShare != summary.storedShare.isEmpty, !isShare || summary.share.isEmpty && summary.shareSecret.isEmpty
        else { throw StoredRecord.damaged("it is a share without participants, or it is none and has some") }
        if isShare { _ = try ShareCoder.decode(summary.storedShare) }
        guard summary.isHeadFirst else {
            throw ServiceError(.internalError, "a record does not begin with its name, type and change tag")
        }
        return summary
    }
}
