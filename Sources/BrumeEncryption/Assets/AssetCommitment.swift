/// The commitment to all chunks of an asset, by their nonces, which are functions of what is in them.
struct AssetCommitment: ~Copyable, Sendable {
    private var digest: DigestStream

    init(_ layout: AssetLayout) {
        var message = PartWriter(.asset)
        message.write(u64: layout.length)
        message.write(u32: UInt32(layout.chunkCount * UInt64(Seal.nonceBytes)))
        digest = DigestStream(message)
    }

    /// Takes in the next chunk.
    mutating func update(chunk: UnsafeRawBufferPointer) {
        digest.update(UnsafeRawBufferPointer(rebasing: chunk[..<Seal.nonceBytes]))
    }

    /// Takes in the next chunk, of which only the nonce is there.
    mutating func update(nonce: ArraySlice<UInt8>) { nonce.withUnsafeBytes { digest.update($0) } }

    consuming func finish() -> [UInt8] { digest.finish() }
}
