package import BrumeModel
package import CBrumeProto

/// ``Asset`` and `brume.v1.Asset`, alone and with what opens it.
extension MessageArena {
    package func asset(_ asset: Asset) -> Pointer<Brume__V1__Asset> {
        let message = make(brume__v1__asset__init)
        message.pointee.checksum = data(asset.checksum.bytes)
        message.pointee.byte_count = asset.byteCount
        message.pointee.generation = asset.generation
        message.pointee.receipt = data(asset.receipt)
        return message
    }

    func encryptedAsset(_ value: EncryptedValue) -> Pointer<Brume__V1__EncryptedAsset> {
        let message = make(brume__v1__encrypted_asset__init)
        message.pointee.asset = asset(value.assets[0])
        message.pointee.sealed = data(value.bytes)
        return message
    }

    func encryptedAssetList(_ value: EncryptedValue) -> Pointer<Brume__V1__EncryptedAssetList> {
        let message = make(brume__v1__encrypted_asset_list__init)
        message.pointee.assets = messages(value.assets) { asset($0) }
        message.pointee.n_assets = value.assets.count
        message.pointee.sealed = data(value.bytes)
        return message
    }
}

extension EncryptedValue {
    /// Nil without an asset, or with one that is none.
    init?(_ message: UnsafeMutablePointer<Brume__V1__EncryptedAsset>) {
        guard let asset = message.pointee.asset.flatMap({ Asset($0) }) else { return nil }
        self.init(.asset, message.pointee.sealed.array, assets: [asset])
    }

    /// Nil without any asset, or with one that is none.
    init?(_ list: UnsafeMutablePointer<Brume__V1__EncryptedAssetList>) {
        var assets: [Asset] = []
        assets.reserveCapacity(list.pointee.n_assets)
        for message in UnsafeBufferPointer(start: list.pointee.assets, count: list.pointee.n_assets) {
            guard let asset = Asset(message!) else { return nil }
            assets.append(asset)
        }
        if assets.isEmpty { return nil }
        self.init(.assets, list.pointee.sealed.array, assets: assets)
    }
}

extension Asset {
    /// Nil when the checksum is none.
    package init?(_ asset: UnsafeMutablePointer<Brume__V1__Asset>) {
        guard let checksum = AssetChecksum(asset.pointee.checksum.rawBuffer) else { return nil }
        self.init(
            checksum: checksum, byteCount: asset.pointee.byte_count, generation: asset.pointee.generation,
            receipt: asset.pointee.receipt.array)
    }

    /// Reads an encoded `brume.v1.Asset` in place; nil when it is none, or says something else than which asset it is.
    package init?(encoded message: UnsafeRawBufferPointer) {
        var checksum: AssetChecksum?
        var (byteCount, generation): (UInt64, UInt64) = (0, 0)
        var reader = WireReader(message)
        var last: UInt64 = 0
        do throws(WireReader.Damage) {
            while let element = try reader.next() {
                guard element.number > last else { return nil }
                last = element.number
                switch (element.number, element.wireType) {
                case (1, 2): checksum = AssetChecksum(element.content)
                case (2, 0): byteCount = element.scalar
                case (3, 1): generation = element.scalar
                default: return nil
                }
            }
        } catch {
            return nil
        }
        guard let checksum else { return nil }
        self.init(checksum: checksum, byteCount: byteCount, generation: generation)
    }
}
