/// The shared tree that each slot of a zone belongs to, by number; 0 for none.
///
/// In chunks, as ``RecordSlots`` are: a copy shares them, and a later change copies the one that it touches.
struct TreeNumbers: Sendable {
    private static let chunkSlots = 256

    /// An empty chunk stands for one of zeros.
    private var chunks: [[UInt32]] = []

    subscript(slot: Int32) -> UInt32 {
        get {
            let chunk = Int(slot) / TreeNumbers.chunkSlots
            guard chunk < chunks.count, !chunks[chunk].isEmpty else { return 0 }
            return chunks[chunk][Int(slot) % TreeNumbers.chunkSlots]
        }
        set {
            let chunk = Int(slot) / TreeNumbers.chunkSlots
            if newValue == 0, chunk >= chunks.count || chunks[chunk].isEmpty { return }
            while chunk >= chunks.count { chunks.append([]) }
            if chunks[chunk].isEmpty { chunks[chunk] = [UInt32](repeating: 0, count: TreeNumbers.chunkSlots) }
            chunks[chunk][Int(slot) % TreeNumbers.chunkSlots] = newValue
        }
    }

    /// About what it takes in memory.
    var approximateBytes: Int { chunks.count * TreeNumbers.chunkSlots * MemoryLayout<UInt32>.size }
}
