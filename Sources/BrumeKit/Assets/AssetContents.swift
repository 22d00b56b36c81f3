internal import BrumeModel
internal import Foundation

/// The files of a record's assets on this device, by the assets that the server keeps.
struct AssetContents: Sendable {
    /// A file, and what keeps it in the cache.
    struct File: Sendable {
        let url: URL
        /// Nil for a file of the app.
        let lease: AssetCacheLease?
    }

    private var files: [Asset: File] = [:]

    subscript(asset: Asset) -> File? {
        get { files[asset.withoutReceipt] }
        set { files[asset.withoutReceipt] = newValue }
    }

    /// Takes the files of assets that have them.
    mutating func add(_ assets: [CKAsset]) {
        for asset in assets {
            if let stored = asset.stored, let url = asset.fileURL { self[stored] = File(url: url, lease: asset.lease) }
        }
    }

    mutating func merge(_ other: AssetContents) { files.merge(other.files) { $1 } }

    /// Forgets the files of assets that none of the values names.
    mutating func keep(namedBy fields: [String: FieldValue]) {
        if files.isEmpty { return }
        let named = Set(fields.values.flatMap(\.assets))
        files = files.filter { named.contains($0.key) }
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
