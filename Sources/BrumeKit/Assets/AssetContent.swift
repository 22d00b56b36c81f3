internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// What the server keeps of an asset, and how a file of this device comes of it.
enum AssetContent: Sendable {
    /// The file itself.
    case plain(Asset)
    /// The file as a device encrypted it, with what opens it. The sizes of both fit.
    case encrypted(Asset, AssetSecret)

    /// Nil where the secret is of a file of another size.
    init?(_ asset: Asset, secret: AssetSecret) {
        guard asset.byteCount == secret.layout.blobByteCount else { return nil }
        self = .encrypted(asset, secret)
    }

    /// What the server keeps.
    var asset: Asset {
        switch self {
        case .plain(let asset), .encrypted(let asset, _): asset
        }
    }

    /// Bytes of the file.
    var fileByteCount: UInt64 {
        switch self {
        case .plain(let asset): asset.byteCount
        case .encrypted(_, let secret): secret.layout.length
        }
    }

    /// What its file is called among those of a database: another name for all that differs in a byte. Nobody without
    /// the key can tell that of an encrypted one, and call a plain content so.
    var fileName: String {
        switch self {
        case .plain(let asset): return asset.checksum.description
        case .encrypted(_, let secret):
            var bytes = secret.copyBytes()
            defer { Sodium.wipe(&bytes) }
            return SHA256.digest(bytes).hexadecimal
        }
    }
}
