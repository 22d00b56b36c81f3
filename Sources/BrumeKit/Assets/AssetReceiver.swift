internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// Makes an asset's file of what the server sends, and says at the end whether it is the asset's.
///
/// A plain one is what comes. Of an encrypted one each chunk is decrypted once all of it is there.
struct AssetReceiver: ~Copyable, Sendable {
    let content: AssetContent
    /// Bytes of the file that were taken.
    private(set) var fileByteCount = 0

    /// For a plain one.
    private let hash = AssetHash()
    /// For an encrypted one.
    private var decryptor: AssetDecryptor?
    private let isEncrypted: Bool
    /// What has come of a chunk.
    private var chunk: [UInt8] = []
    /// What was decrypted and is not in the file yet.
    private var decrypted: [UInt8] = []
    /// Chunks that were taken whole.
    private var chunkCount = 0

    init(_ content: AssetContent) {
        self.content = content
        if case .encrypted(_, let secret) = content {
            decryptor = AssetDecryptor(secret)
            isEncrypted = true
        } else {
            decryptor = nil
            isEncrypted = false
        }
    }

    /// How many bytes have come from the server; what is kept of them when a stream breaks is
    /// ``resumableByteCount``.
    var receivedByteCount: Int { resumableByteCount + chunk.count }

    /// Where another stream has to go on.
    var resumableByteCount: Int {
        isEncrypted
            ? min(chunkCount * AssetLayout.chunkBytes, Int(clamping: content.asset.byteCount))
            : fileByteCount
    }

    /// A part of the file goes on at a multiple of this: in an encrypted one of what is in a chunk.
    static func stepByteCount(_ content: AssetContent) -> Int {
        switch content {
        case .plain: AssetCacheLimits.partStepByteCount
        case .encrypted: AssetCacheLimits.partStepByteCount / AssetLayout.chunkBytes * AssetLayout.pieceBytes
        }
    }

    /// Bytes of the file in the next chunk; nil of a plain content, and behind the last chunk.
    private var nextFileByteCount: Int? {
        switch decryptor {
        case .some(let decryptor): decryptor.nextFileByteCount
        case nil: nil
        }
    }

    /// Bytes of the next chunk; nil as above.
    private var nextChunkByteCount: Int? {
        switch decryptor {
        case .some(let decryptor): decryptor.nextChunkByteCount
        case nil: nil
        }
    }

    // MARK: What is here

    /// Takes the first bytes of a file, as what has come before.
    ///
    /// - Parameters:
    ///   - byteCount: All of the file, or a multiple of ``stepByteCount(_:)``.
    ///   - isCancelled: Asked before each piece.
    /// - Returns: How many bytes were taken: fewer where the file ends earlier.
    mutating func restore(
        first byteCount: Int, of file: File, isCancelled: () -> Bool
    ) throws(AssetError) -> Int {
        guard isEncrypted else {
            fileByteCount = try hash.update(first: byteCount, of: file, isCancelled: isCancelled)
            return fileByteCount
        }
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: AssetLayout.pieceBytes, alignment: 16)
        defer { piece.deallocate() }
        while fileByteCount < byteCount, let wanted = nextFileByteCount {
            if isCancelled() { throw .cancelled }
            let buffer = UnsafeMutableRawBufferPointer(rebasing: piece[..<wanted])
            let count: Int
            do throws(SystemError) { count = try file.read(into: buffer, at: fileByteCount) } catch {
                throw AssetError(error)
            }
            guard count == wanted else { break }
            decryptor!.skip(UnsafeRawBufferPointer(buffer))
            chunkCount += 1
            fileByteCount += count
        }
        return fileByteCount
    }

    /// All of the file is here: what the server would send behind it is padding.
    private mutating func skipPadding() {
        while nextFileByteCount == 0 {
            decryptor!.skip(UnsafeRawBufferPointer(start: nil, count: 0))
            chunkCount += 1
        }
    }

    /// Whether a file is the asset's.
    ///
    /// - Throws: `cancelled`; what the file can't be read for.
    static func isContent(
        _ content: AssetContent, _ file: File, byteCount: Int, isCancelled: () -> Bool
    ) throws(AssetError) -> Bool {
        if content.fileByteCount != byteCount { return false }
        var receiver = AssetReceiver(content)
        guard try receiver.restore(first: byteCount, of: file, isCancelled: isCancelled) == byteCount else {
            return false
        }
        receiver.skipPadding()
        return receiver.isWhole()
    }

    // MARK: What comes

    /// A stream begins at ``resumableByteCount``: what an earlier one had sent of a chunk comes again.
    mutating func streamBegins() { chunk = [] }

    /// Takes what comes next, and writes what it makes of it.
    ///
    /// - Parameter write: Writes bytes of the file at an offset. After it threw, bytes of a plain content may be given
    ///   again.
    /// - Throws: `damaged` where it is not the asset's; what `write` throws.
    mutating func take(
        _ bytes: UnsafeRawBufferPointer,
        write: (UnsafeRawBufferPointer, _ offset: Int) throws(AssetError) -> Void
    ) throws(AssetError) {
        guard UInt64(bytes.count) <= content.asset.byteCount - min(UInt64(receivedByteCount), content.asset.byteCount)
        else { throw .damaged }
        guard isEncrypted else {
            try write(bytes, fileByteCount)
            hash.update(bytes)
            fileByteCount += bytes.count
            return
        }
        var rest = bytes
        while let wanted = nextChunkByteCount, !rest.isEmpty {
            let part = rest.prefix(wanted - chunk.count)
            chunk.append(contentsOf: part)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
            if chunk.count == wanted { try openChunk() }
        }
        if decrypted.isEmpty { return }
        let failure = decrypted.withUnsafeBytes { bytes -> AssetError? in
            do throws(AssetError) {
                try write(bytes, fileByteCount)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        fileByteCount += decrypted.count
        decrypted.removeAll(keepingCapacity: true)
    }

    private mutating func openChunk() throws(AssetError) {
        var file = decrypted
        decrypted = []
        var isGenuine = true
        chunk.withUnsafeBytes { bytes in
            do throws(EncryptionRefusal) { try decryptor!.decrypt(bytes, appendingTo: &file) } catch {
                isGenuine = false
            }
        }
        decrypted = file
        guard isGenuine else { throw .damaged }
        chunk.removeAll(keepingCapacity: true)
        chunkCount += 1
    }

    // MARK: The end

    /// Whether all of it came, and is the asset's. Nothing is asked of it afterwards.
    mutating func isWhole() -> Bool {
        guard let decryptor = decryptor.take() else { return hash.finish() == content.asset.checksum }
        do throws(EncryptionRefusal) {
            try decryptor.finish()
            return true
        } catch {
            return false
        }
    }
}
