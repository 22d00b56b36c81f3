internal import CZstd

/// Makes zstd frames, each of one array. Keeps its working memory from one to the next; one thread at a time.
final class ZstandardCompressor {
    /// The fastest of zstd's ordinary levels: snapshots are written beside the loops, on the same cores.
    private static let level: Int32 = 1

    private let context: OpaquePointer

    init() {
        guard let context = ZSTD_createCCtx() else { preconditionFailure("there is no memory for zstd") }
        self.context = context
    }

    deinit { ZSTD_freeCCtx(context) }

    /// The frame; it may be longer than the bytes.
    func compress(_ bytes: [UInt8]) -> [UInt8] {
        let bound = ZSTD_compressBound(bytes.count)
        return [UInt8](unsafeUninitializedCapacity: bound) { frame, count in
            count = bytes.withUnsafeBytes { bytes in
                ZSTD_compressCCtx(context, frame.baseAddress, bound, bytes.baseAddress, bytes.count, Self.level)
            }
            precondition(ZSTD_isError(count) == 0, "zstd refuses to compress into the room that it asked for")
        }
    }
}

/// Reads zstd frames. Never takes more memory than it is told to; one thread at a time.
final class ZstandardDecompressor {
    private let context: OpaquePointer

    init() {
        guard let context = ZSTD_createDCtx() else { preconditionFailure("there is no memory for zstd") }
        self.context = context
    }

    deinit { ZSTD_freeDCtx(context) }

    /// Puts the content of a frame into `content`. Returns false when it is not exactly as long, or `bytes` are no
    /// frame.
    func decompress(_ bytes: UnsafeRawBufferPointer, into content: UnsafeMutableRawBufferPointer) -> Bool {
        let written = ZSTD_decompressDCtx(context, content.baseAddress, content.count, bytes.baseAddress, bytes.count)
        return ZSTD_isError(written) == 0 && written == content.count
    }

    /// The content of a frame; nil when it is not exactly `contentBytes` long, or `bytes` are no frame.
    func decompress(_ bytes: [UInt8], contentBytes: Int) -> [UInt8]? {
        var isWhole = false
        let content = [UInt8](unsafeUninitializedCapacity: contentBytes) { content, count in
            isWhole = bytes.withUnsafeBytes { decompress($0, into: UnsafeMutableRawBufferPointer(content)) }
            count = isWhole ? contentBytes : 0
        }
        return isWhole ? content : nil
    }
}
