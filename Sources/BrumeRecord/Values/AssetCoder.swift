package import BrumeModel
package import CBrumeProto

/// ``Asset`` and `brume.v1.Asset`.
extension MessageArena {
    package func asset(_ asset: Asset) -> Pointer<Brume__V1__Asset> {
        let message = make(brume__v1__asset__init)
        message.pointee.checksum = data(asset.checksum.bytes)
        message.pointee.byte_count = asset.byteCount
        message.pointee.generation = asset.generation
        message.pointee.receipt = data(asset.receipt)
        return message
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
        case BRUME__V1__VALUE__KIND_ASSET_LIST:
            let list = value.pointee.asset_list.pointee
            for index in 0..<list.n_values { take(list.values[index]!) }
        default: break
        }
    }
}
