internal import BrumeEncryption
internal import BrumeModel
internal import Foundation

/// What this device has of a record's assets, by what the server keeps of them: their files, and the secrets of those
/// that are encrypted.
struct AssetContents: Sendable {
    /// A file, and what keeps it in the cache.
    struct File: Sendable {
        let url: URL
        /// Nil for a file of the app.
        let lease: AssetCacheLease?
    }

    private var files: [Asset: File] = [:]
    private(set) var secrets: [Asset: AssetSecret] = [:]

    subscript(asset: Asset) -> File? {
        get { files[asset.withoutReceipt] }
        set { files[asset.withoutReceipt] = newValue }
    }

    /// What opens an asset; nil for one that is not encrypted.
    func secret(of asset: Asset) -> AssetSecret? { secrets[asset.withoutReceipt] }

    /// A file that another secret made is none of the asset's.
    mutating func setSecret(_ secret: AssetSecret?, of asset: Asset) {
        if let before = self.secret(of: asset), secret.map({ !before.isSame(as: $0) }) ?? true { self[asset] = nil }
        secrets[asset.withoutReceipt] = secret
    }

    /// What the server keeps, with what makes a file of it.
    func content(of asset: Asset) -> AssetContent? {
        guard let secret = secret(of: asset) else { return .plain(asset) }
        return AssetContent(asset, secret: secret)
    }

    /// The secrets of all assets of a value, in their order; nil where one has none.
    func secrets(of value: FieldValue) -> [AssetSecret]? {
        let secrets = value.assets.compactMap { secret(of: $0) }
        return secrets.isEmpty || secrets.count < value.assets.count ? nil : secrets
    }

    /// The same without files.
    var secretsAlone: AssetContents {
        var contents = AssetContents()
        contents.secrets = secrets
        return contents
    }

    /// Takes what assets have.
    mutating func add(_ assets: [CKAsset]) {
        for asset in assets {
            guard let stored = asset.stored else { continue }
            if let url = asset.fileURL { self[stored] = File(url: url, lease: asset.lease) }
            if let secret = asset.secret { secrets[stored] = secret }
        }
    }

    mutating func merge(_ other: AssetContents) {
        // Where both have a secret of one asset, and not the same, the file of neither is shown.
        for (asset, secret) in other.secrets {
            if let before = secrets[asset], !before.isSame(as: secret) {
                files[asset] = nil
            } else {
                secrets[asset] = secret
            }
        }
        for (asset, file) in other.files where secrets[asset]?.isSame(orNeither: other.secrets[asset]) ?? true {
            files[asset] = file
        }
    }

    /// Forgets assets that none of the values names.
    mutating func keep(namedBy fields: [String: FieldValue], _ others: [String: FieldValue] = [:]) {
        if files.isEmpty, secrets.isEmpty { return }
        let named = Set(fields.values.flatMap(\.assets) + others.values.flatMap(\.assets))
        files = files.filter { named.contains($0.key) }
        secrets = secrets.filter { named.contains($0.key) }
    }
}

extension Asset {
    /// The asset as the server tells it.
    var withoutReceipt: Asset {
        var asset = self
        asset.receipt = []
        return asset
    }
}

extension AssetSecret {
    fileprivate func isSame(orNeither other: AssetSecret?) -> Bool { other.map { isSame(as: $0) } ?? false }
}

extension EncryptedValue {
    /// The value as the server tells it.
    var withoutReceipts: EncryptedValue {
        assets.isEmpty ? self : EncryptedValue(kind, bytes, assets: assets.map(\.withoutReceipt))
    }

    /// The assets as a field's value; nil where it has none.
    var assetsValue: FieldValue? {
        switch kind {
        case .asset: .asset(assets[0])
        case .assets: .assets(assets)
        default: nil
        }
    }
}
