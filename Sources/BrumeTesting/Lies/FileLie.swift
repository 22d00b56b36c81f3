internal import BrumeLock
internal import BrumeModel

/// What a server makes of a file's content.
enum FileLie: Sendable {
    case swapsChunks
    case repeatsChunk
    case flip(UInt64)
    /// Nothing comes from this byte on.
    case cut(UInt64)

    /// Bytes of a chunk of an encrypted file.
    static let chunkBytes = 65_536

    /// What comes in the place of the next bytes of a content; nil for the same.
    ///
    /// - Parameter start: The byte with which the whole answer begins.
    func told(_ bytes: [UInt8], from start: UInt64, _ content: inout SeenContent.State) -> [UInt8]? {
        let offset = start + content.seenByteCount
        content.seenByteCount += UInt64(bytes.count)
        switch self {
        case .flip(let index):
            guard index >= offset, index - offset < UInt64(bytes.count) else { return nil }
            var bytes = bytes
            bytes[Int(index - offset)] ^= 1
            return bytes
        case .cut(let end):
            guard offset + UInt64(bytes.count) > end else { return nil }
            return Array(bytes.prefix(Int(end - min(offset, end))))
        case .swapsChunks, .repeatsChunk:
            // What goes on in the midst of a content has its first chunks already.
            let whole = min(content.wholeByteCount, UInt64(2 * Self.chunkBytes))
            guard start == 0, offset < whole, whole > Self.chunkBytes else { return nil }
            content.held += bytes
            guard content.held.count >= whole else { return [] }
            let (first, second) = (
                content.held.prefix(Self.chunkBytes), content.held[Self.chunkBytes..<Int(whole)]
            )
            let rest = content.held.dropFirst(Int(whole))
            content.held = []
            if case .swapsChunks = self { return Array(second + first + rest) }
            return Array(first + first.prefix(second.count) + rest)
        }
    }
}

/// A content that comes in parts, as far as it was seen.
final class SeenContent: Sendable {
    struct State {
        /// As the server says before the first bytes.
        var wholeByteCount: UInt64 = 0
        var seenByteCount: UInt64 = 0
        /// What has come, and the device was not given yet.
        var held: [UInt8] = []
    }

    let state = Lock(State())
}
