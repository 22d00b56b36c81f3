/// Where the chunks of an encrypted asset lie.
///
/// Chunks stand alone: each is opened with the key and its index, so that transfers go on in the middle.
package struct AssetLayout: Hashable, Sendable {
    package static let chunkBytes = 65_536
    /// What of the file is in a chunk.
    package static let pieceBytes = chunkBytes - Seal.overheadBytes
    /// No asset is larger: the nonces of its chunks have a length that 32 bits hold.
    static let maximumLength: UInt64 = 1 << 40

    package let length: UInt64
    package let paddedLength: UInt64

    /// - Returns: nil for a length that no file has.
    package init?(length: UInt64) {
        guard length <= Self.maximumLength else { return nil }
        self.length = length
        paddedLength = Padding.padded(length)
    }

    /// At least one: an empty file is told from one of which everything is missing.
    package var chunkCount: UInt64 { max(1, (paddedLength + UInt64(Self.pieceBytes) - 1) / UInt64(Self.pieceBytes)) }

    /// The bytes of the blob.
    package var blobByteCount: UInt64 { paddedLength + chunkCount * UInt64(Seal.overheadBytes) }

    /// The file's bytes in a chunk, padding included.
    package func pieceByteCount(_ index: UInt64) -> Int {
        precondition(index < chunkCount, "the chunk is one of the asset's")
        return Int(min(UInt64(Self.pieceBytes), paddedLength - index * UInt64(Self.pieceBytes)))
    }

    /// Those of them that are the file's.
    package func fileByteCount(_ index: UInt64) -> Int {
        let start = index * UInt64(Self.pieceBytes)
        return Int(min(UInt64(pieceByteCount(index)), length - min(length, start)))
    }
}
