internal import BrumeModel

/// What the saves of one request may read and answer.
///
/// A small request can name many large records, but its answer has to fit into a frame: a client that can't read it
/// would not get it by asking again either. Each save of a stored record reads that record and usually writes it again,
/// and a request is decided in one piece, so this work is limited before it is done. An item that finds no room fails
/// by itself.
///
/// What a request sends is bounded by its own size and not counted here: its commit has no more bytes than it sends,
/// than the records that it reads, and than the server's system fields (``Limits/commitBytes``).
struct ByteBudget: Sendable {
    /// The rest of a frame is for what stands beside the records: errors, lengths and nesting.
    var answer = PageRoom.completedBytes
    /// Bytes of stored records that may still be read.
    private(set) var merged = Limits.mergedBytesPerRequest
    /// Fields of stored records that may still be read.
    private(set) var mergedFields = Limits.mergedFieldsPerRequest

    /// Takes room in the answer. Returns false, and takes nothing, when there is not enough.
    mutating func takeAnswer(_ count: Int) -> Bool {
        if count > answer { return false }
        answer -= count
        return true
    }

    /// Takes room for a stored record that is about to be read. Returns false, and takes nothing, when there is not
    /// enough; the first record always has room.
    ///
    /// - Parameter byteCount: The size of the record as it is stored.
    mutating func takeMerge(of byteCount: Int) -> Bool {
        if merged == Limits.mergedBytesPerRequest {
            merged = max(0, merged - byteCount)
            return true
        }
        guard byteCount <= merged, mergedFields > 0 else { return false }
        merged -= byteCount
        return true
    }

    /// Takes the fields of the record that was read. Their number is known only after reading, so the last record may
    /// have more than are left.
    mutating func takeMergedFields(_ count: Int) { mergedFields -= min(count, mergedFields) }
}
