/// Encrypts a file, piece for piece, for one upload.
///
/// An upload that goes on makes the chunks again that the server lacks: they come out as the same bytes, unless the
/// file changed, which then shows in the whole's checksum.
package struct AssetEncryptor: ~Copyable {
    package let layout: AssetLayout
    private let key: SecretKey
    private let keys: AssetKeys
    private var commitment: AssetCommitment?
    private var piece: [UInt8]
    private var index: UInt64 = 0

    /// - Parameter key: New for each upload, and kept with its id until the receipt is there.
    package init(key: SecretKey, layout: AssetLayout) {
        self.key = key
        self.layout = layout
        keys = AssetKeys(key)
        commitment = AssetCommitment(layout)
        piece = [UInt8](repeating: 0, count: layout.pieceByteCount(0))
    }

    /// The bytes of the file that the next chunk takes; nil behind the last.
    package var nextFileByteCount: Int? {
        index < layout.chunkCount ? layout.fileByteCount(index) : nil
    }

    /// How many chunks were made; those can be made again.
    package var chunkCount: UInt64 { index }

    /// Encrypts the next bytes of the file, ``nextFileByteCount`` of them, and appends the chunk.
    package mutating func encrypt(_ bytes: UnsafeRawBufferPointer, appendingTo blob: inout [UInt8]) {
        encrypt(bytes, chunk: index, appendingTo: &blob)
    }

    /// The same for any chunk up to the next one: one that was made before comes out as it was.
    package mutating func encrypt(
        _ bytes: UnsafeRawBufferPointer, chunk index: UInt64, appendingTo blob: inout [UInt8]
    ) {
        precondition(index <= self.index && index < layout.chunkCount, "chunks are made one after the other")
        precondition(bytes.count == layout.fileByteCount(index), "a chunk takes as many bytes of the file as fit")
        let pieceByteCount = layout.pieceByteCount(index)
        let start = blob.count
        blob.append(contentsOf: repeatElement(0, count: pieceByteCount + Seal.overheadBytes))
        piece.withUnsafeMutableBytes { piece in
            let piece = UnsafeMutableRawBufferPointer(rebasing: piece[..<pieceByteCount])
            piece.copyMemory(from: bytes)
            UnsafeMutableRawBufferPointer(rebasing: piece[bytes.count...]).initializeMemory(
                as: UInt8.self, repeating: 0)
            let nonce = keys.nonce(index: index, piece: UnsafeRawBufferPointer(piece))
            blob.withUnsafeMutableBytes { blob in
                let chunk = UnsafeMutableRawBufferPointer(rebasing: blob[start...])
                chunk.copyBytes(from: nonce)
                Seal.encrypt(
                    UnsafeRawBufferPointer(piece), data: keys.data(index: index), key: keys.chunkKey,
                    behindNonceIn: chunk)
                if index == self.index { commitment?.update(chunk: UnsafeRawBufferPointer(chunk)) }
            }
        }
        if index == self.index { self.index += 1 }
    }

    /// What goes into the encrypted value, once all chunks were made; asked for once.
    package mutating func secret() -> AssetSecret {
        precondition(index == layout.chunkCount, "all of the file was encrypted")
        guard let commitment = commitment.take() else { preconditionFailure("an asset has one secret") }
        return AssetSecret(key: key, layout: layout, commitment: commitment.finish())
    }

    /// The same of one that makes no chunk again.
    package consuming func finish() -> AssetSecret { secret() }
}
