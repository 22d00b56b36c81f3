/// What the encrypted value of an asset holds: all that it takes to read the blob.
///
/// ```
/// 0   1  format
/// 1   1  suite
/// 2   32 key
/// 34  8  bytes of the file, little-endian
/// 42  32 commitment to the chunks
/// ```
package struct AssetSecret: Sendable {
    package static let byteCount = 74

    package let key: SecretKey
    package let layout: AssetLayout
    package let commitment: [UInt8]

    init(key: SecretKey, layout: AssetLayout, commitment: [UInt8]) {
        self.key = key
        self.layout = layout
        self.commitment = commitment
    }

    /// Reads what was in an encrypted value of the type `ASSET`.
    package init(_ bytes: [UInt8]) throws(EncryptionRefusal) {
        var reader = PartReader(unlabelled: bytes)
        try reader.readFormat()
        var key = try reader.readRaw(SecretKey.byteCount)
        defer { Sodium.wipe(&key) }
        let length = try reader.readU64()
        commitment = try reader.readRaw(Digest.byteCount)
        try reader.end()
        guard let layout = AssetLayout(length: length) else { throw .damaged }
        self.layout = layout
        self.key = SecretKey(copying: key, isLocked: false)
    }

    /// Whether both open the same.
    package func isSame(as other: AssetSecret) -> Bool {
        var (bytes, others) = (copyBytes(), other.copyBytes())
        defer {
            Sodium.wipe(&bytes)
            Sodium.wipe(&others)
        }
        return Sodium.isEqual(bytes, others)
    }

    /// The bytes for the encrypted value; the caller wipes them.
    package func copyBytes() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        bytes += [Suite.format, Suite.suite]
        key.withBytes { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: layout.length.littleEndian) { bytes.append(contentsOf: $0) }
        bytes += commitment
        return bytes
    }

    /// Reads what was in an encrypted value of the type `LIST<ASSET>`: in the order of the list's blobs, as many as
    /// there are of these.
    package static func list(_ bytes: [UInt8], blobCount: Int) throws(EncryptionRefusal) -> [AssetSecret] {
        var reader = PartReader(unlabelled: bytes)
        let count = try reader.readCount(blobCount...blobCount)
        var secrets: [AssetSecret] = []
        for _ in 0..<count {
            var secret = try reader.readRaw(byteCount)
            defer { Sodium.wipe(&secret) }
            secrets.append(try AssetSecret(secret))
        }
        try reader.end()
        return secrets
    }

    /// The bytes for an encrypted value of the type `LIST<ASSET>`; the caller wipes them.
    package static func copyBytes(of list: [AssetSecret]) -> [UInt8] {
        var writer = PartWriter(capacity: 4 + list.count * byteCount)
        writer.write(u32: UInt32(list.count))
        for secret in list {
            var bytes = secret.copyBytes()
            defer { Sodium.wipe(&bytes) }
            writer.write(raw: bytes)
        }
        return writer.bytes
    }
}
