internal import BrumeModel
internal import CBrumeProto

/// The assets of a record to save, encrypted or not.
extension FieldChecker {
    /// Takes the receipts out of a value's assets, which are not stored with them, and adds them to a list. Those that
    /// are too long to be any stay, and make the value a wrong one. The memory is the arena's.
    package static func takeReceipts(of value: Value, into receipts: inout [[UInt8]]) {
        func take(_ asset: UnsafeMutablePointer<Brume__V1__Asset>) {
            guard (1...Limits.receiptBytes).contains(asset.pointee.receipt.len) else { return }
            receipts.append(asset.pointee.receipt.array)
            asset.pointee.receipt = ProtobufCBinaryData(len: 0, data: nil)
        }
        switch value.pointee.kind_case {
        case BRUME__V1__VALUE__KIND_ASSET_VALUE: take(value.pointee.asset_value)
        // It has not been checked yet, and may lack its asset.
        case BRUME__V1__VALUE__KIND_ENCRYPTED_ASSET:
            if let asset = value.pointee.encrypted_asset.pointee.asset { take(asset) }
        default: for asset in assets(inList: value) { take(asset!) }
        }
    }

    /// How many assets a value names, before it has been checked.
    package static func assetCount(of value: Value) -> Int {
        switch value.pointee.kind_case {
        case BRUME__V1__VALUE__KIND_ASSET_VALUE, BRUME__V1__VALUE__KIND_ENCRYPTED_ASSET: 1
        default: assets(inList: value).count
        }
    }

    private static func assets(inList value: Value) -> UnsafeBufferPointer<UnsafeMutablePointer<Brume__V1__Asset>?> {
        switch value.pointee.kind_case {
        case BRUME__V1__VALUE__KIND_ASSET_LIST:
            let list = value.pointee.asset_list.pointee
            return UnsafeBufferPointer(start: list.values, count: list.n_values)
        case BRUME__V1__VALUE__KIND_ENCRYPTED_ASSET_LIST:
            let list = value.pointee.encrypted_asset_list.pointee
            return UnsafeBufferPointer(start: list.assets, count: list.n_assets)
        default: return UnsafeBufferPointer(start: nil, count: 0)
        }
    }

    static func problem(_ asset: UnsafeMutablePointer<Brume__V1__Asset>) -> String? {
        forgetUnknown(&asset.pointee.base)
        let (checksum, receipt) = (asset.pointee.checksum.len, asset.pointee.receipt.len)
        if checksum != AssetChecksum.byteCount {
            return "holds an asset with a checksum of \(checksum) bytes; send the 32 bytes of SHA-256"
        }
        // Those that are right were taken out before.
        return receipt == 0 ? nil : "holds an asset with a receipt of \(receipt) bytes, which is none of this server's"
    }

    static func problem(_ encrypted: UnsafeMutablePointer<Brume__V1__EncryptedAsset>) -> String? {
        forgetUnknown(&encrypted.pointee.base)
        guard let asset = encrypted.pointee.asset else {
            return "holds an encrypted asset without its content; send the asset that its upload gave"
        }
        return problem(asset) ?? problem(secrets: encrypted.pointee.sealed.rawBuffer, count: 1, isList: false)
    }

    static func problem(_ encrypted: UnsafeMutablePointer<Brume__V1__EncryptedAssetList>) -> String? {
        forgetUnknown(&encrypted.pointee.base)
        let count = encrypted.pointee.n_assets
        if count == 0 { return "holds an encrypted list of assets without any; send an empty list" }
        for index in 0..<count {
            if let problem = problem(encrypted.pointee.assets[index]!) { return problem }
        }
        return problem(secrets: encrypted.pointee.sealed.rawBuffer, count: count, isList: true)
    }

    private static func problem(secrets bytes: UnsafeRawBufferPointer, count: Int, isList: Bool) -> String? {
        do throws(EncryptedHeader.Problem) {
            _ = try EncryptedHeader(ofAssetSecrets: bytes, count: count, isList: isList)
            return nil
        } catch {
            return "holds " + sentence(error, "what opens \(count) encrypted asset\(count == 1 ? "" : "s")", bytes)
        }
    }
}
