/// Decrypts a blob, chunk for chunk. What it gives is not to be handed out before ``finish()`` said that it is the
/// file.
///
/// The commitment is to the file and no less to the blob. So a download goes on behind what was decrypted before
/// (``skip(_:)``), and a file that is here is compared with the asset without the blob.
package struct AssetDecryptor: ~Copyable, Sendable {
    private let secret: AssetSecret
    private let keys: AssetKeys
    private var commitment: AssetCommitment
    private var index: UInt64 = 0

    package init(_ secret: AssetSecret) {
        self.secret = secret
        keys = AssetKeys(secret.key)
        commitment = AssetCommitment(secret.layout)
    }

    /// The bytes of the next chunk; nil behind the last.
    package var nextChunkByteCount: Int? {
        index < secret.layout.chunkCount ? secret.layout.pieceByteCount(index) + Seal.overheadBytes : nil
    }

    /// The bytes of the file that the next chunk holds: none where it is all padding; nil behind the last.
    package var nextFileByteCount: Int? {
        index < secret.layout.chunkCount ? secret.layout.fileByteCount(index) : nil
    }

    /// Takes what a chunk was decrypted to before, ``nextFileByteCount`` bytes, in the chunk's place. Whether it was
    /// this, ``finish()`` says.
    package mutating func skip(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count == nextFileByteCount, "a chunk is skipped with all of the file that it holds")
        var piece = [UInt8](bytes)
        piece.append(contentsOf: repeatElement(0, count: secret.layout.pieceByteCount(index) - piece.count))
        piece.withUnsafeBytes { commitment.update(nonce: keys.nonce(index: index, piece: $0)) }
        index += 1
    }

    /// Decrypts the next chunk, and appends what of the file is in it.
    ///
    /// - Throws: `damaged` for one that is not this chunk of this asset.
    package mutating func decrypt(
        _ chunk: UnsafeRawBufferPointer, appendingTo file: inout [UInt8]
    ) throws(EncryptionRefusal) {
        guard chunk.count == nextChunkByteCount else { throw .damaged }
        let start = file.count
        let end = start + secret.layout.fileByteCount(index)
        file.append(contentsOf: repeatElement(0, count: chunk.count - Seal.overheadBytes))
        let isGenuine = file.withUnsafeMutableBytes { file in
            let piece = UnsafeMutableRawBufferPointer(rebasing: file[start...])
            return Seal.decrypt(chunk, data: keys.data(index: index), key: keys.chunkKey, into: piece)
                // Whoever had the key once could else put other chunks under the nonces that are committed to.
                && chunk.prefix(Seal.nonceBytes).elementsEqual(
                    keys.nonce(index: index, piece: UnsafeRawBufferPointer(piece)))
                && file[end...].allSatisfy { $0 == 0 }
        }
        file.removeSubrange((isGenuine ? end : start)...)
        guard isGenuine else { throw .damaged }
        commitment.update(chunk: chunk)
        index += 1
    }

    /// Whether all of it came, and is what was encrypted.
    ///
    /// - Throws: `damaged` for chunks of two files that were sent under one key, each of which opens.
    package consuming func finish() throws(EncryptionRefusal) {
        guard index == secret.layout.chunkCount else { throw .damaged }
        let expected = secret.commitment
        guard Sodium.isEqual(commitment.finish(), expected) else { throw .damaged }
    }
}
