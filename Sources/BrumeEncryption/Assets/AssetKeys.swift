/// What an asset's key gives: the key of its chunks, and their nonces (Documentation/EncryptionFormats.md, section 6).
struct AssetKeys: Sendable {
    let chunkKey: SecretKey
    private let nonceKey: SecretKey

    init(_ key: SecretKey) {
        chunkKey = Digest.deriveKey(key, .assetChunkKey)
        nonceKey = Digest.deriveKey(key, .assetNonceKey)
    }

    /// A function of the content: the same piece gets the same nonce when it is sent again, and another piece another.
    func nonce(index: UInt64, piece: UnsafeRawBufferPointer) -> ArraySlice<UInt8> {
        var message = PartWriter(.assetNonce)
        message.write(u64: index)
        message.write(u32: UInt32(piece.count))
        var digest = DigestStream(message, key: nonceKey)
        digest.update(piece)
        return digest.finish().prefix(Seal.nonceBytes)
    }

    /// What a chunk is bound to.
    func data(index: UInt64) -> [UInt8] {
        var data = PartWriter(.assetChunk)
        data.write(u64: index)
        return data.bytes
    }
}
