internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Entries of rings, in journal entries and snapshots.
extension StoreCoder {
    static func ringEntry(
        _ message: UnsafeMutablePointer<Brume__Store__V1__RingEntry>
    ) throws(StoreCodingError) -> SnapshotRingEntry {
        SnapshotRingEntry(
            zone: message.pointee.zone, root: try root(message.pointee.root),
            entry: SharedBytes(message.pointee.entry.array))
    }

    private static func root(_ data: ProtobufCBinaryData) throws(StoreCodingError) -> String {
        if data.len == 0 { return "" }
        let root = try text(data, "a record name")
        if let problem = Names.problemWithRecordName(root) { throw StoreCodingError(problem) }
        return root
    }
}

extension MessageArena {
    func ringEntry(_ entry: SnapshotRingEntry, number: UInt32) -> Pointer<Brume__Store__V1__RingEntry> {
        let message = make(brume__store__v1__ring_entry__init)
        message.pointee.zone = entry.zone
        message.pointee.root = data(entry.root)
        message.pointee.number = number
        message.pointee.entry = data(entry.entry.array)
        return message
    }

    func ringEntry(_ entry: SnapshotRingEntry) -> Pointer<Brume__Store__V1__RingEntry> { ringEntry(entry, number: 0) }
}
