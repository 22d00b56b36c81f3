/// The commitment to all chunks of an asset, by their nonces, which are functions of what is in them.
struct AssetCommitment: ~Copyable {
    private let digest: DigestStream

    init(_ layout: AssetLayout) {
        var message = PartWriter(.asset)
        message.write(u64: layout.length)
        message.write(u32: UInt32(layout.chunkCount * UInt64(Seal.nonceBytes)))
        digest = DigestStream(message)
    }

    /// Takes in the next chunk.
    func update(chunk: UnsafeRawBufferPointer) {
        digest.update(UnsafeRawBufferPointer(rebasing: chunk[..<Seal.nonceBytes]))
    }

    consuming func finish() -> [UInt8] { digest.finish() }
}
