/// The CRC-32C of each block of content that comes in pieces of any size: see ``BlobFormat/blockBytes``.
struct BlockChecksums: Equatable, Sendable {
    private(set) var byteCount: UInt64 = 0
    private var whole: [UInt32] = []
    private var last = CRC32C()

    /// The checksum of each whole block, and of the rest after it.
    var values: [UInt32] { byteCount % UInt64(BlobFormat.blockBytes) == 0 ? whole : whole + [last.value] }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let room = BlobFormat.blockBytes - Int(byteCount % UInt64(BlobFormat.blockBytes))
            let piece = rest.prefix(room)
            last.update(UnsafeRawBufferPointer(rebasing: piece))
            byteCount += UInt64(piece.count)
            rest = rest.dropFirst(piece.count)
            if piece.count == room {
                whole.append(last.value)
                last = CRC32C()
            }
        }
    }

    mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// One checksum of some of them.
    static func combined(_ values: some Sequence<UInt32>) -> UInt32 {
        var bytes: [UInt8] = []
        for value in values { bytes.appendInteger(value) }
        return bytes.checksum(0..<bytes.count)
    }
}
