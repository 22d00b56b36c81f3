package import BrumeModel
package import BrumeRandom

/// Values in the form that devices give to what they encrypt. No key opens them: the server can't tell.
package enum EncryptedSamples {
    package static let tree = EncryptedHeader.TreeID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)

    /// The plain kinds that have an encrypted form, but assets.
    package static let kinds = FieldKind.allCases.filter(\.fitsEncryptedField)

    /// A value whose content has so many bytes, its length included.
    package static func value(
        _ kind: FieldKind = .string, header: EncryptedHeader = header(), contentBytes: Int = 12, filler: UInt8 = 0xE5
    ) -> FieldValue {
        let count = EncryptedHeader.valueByteCount(content: contentBytes) - EncryptedHeader.byteCount
        return .encrypted(EncryptedValue(kind, header.bytes + [UInt8](repeating: filler, count: count)))
    }

    /// An encrypted asset.
    package static func asset(_ asset: Asset, header: EncryptedHeader = header(), filler: UInt8 = 0xA5) -> FieldValue {
        let secrets = secrets(1, isList: false, header, filler)
        return .encrypted(EncryptedValue(.asset, secrets, assets: [asset]))
    }

    /// An encrypted list of assets; one at least.
    package static func assets(
        _ assets: [Asset], header: EncryptedHeader = header(), filler: UInt8 = 0xA5
    ) -> FieldValue {
        let secrets = secrets(assets.count, isList: true, header, filler)
        return .encrypted(EncryptedValue(.assets, secrets, assets: assets))
    }

    private static func secrets(_ count: Int, isList: Bool, _ header: EncryptedHeader, _ filler: UInt8) -> [UInt8] {
        let byteCount = EncryptedHeader.assetSecretsByteCount(count, isList: isList)
        return header.bytes + [UInt8](repeating: filler, count: byteCount - EncryptedHeader.byteCount)
    }

    package static func stamp(_ header: EncryptedHeader = header(), filler: UInt8 = 0x5E) -> [UInt8] {
        header.bytes + [UInt8](repeating: filler, count: EncryptedHeader.stampByteCount - EncryptedHeader.byteCount)
    }

    package static func header(
        tree: EncryptedHeader.TreeID = tree, isShared: Bool = false, keyNumber: UInt32 = 1
    ) -> EncryptedHeader {
        EncryptedHeader(treeID: tree, isShared: isShared, keyNumber: keyNumber)
    }

    /// A value of one of the kinds, with a header, any by default, and up to `contentBytesMax` random bytes inside.
    package static func random(
        _ kinds: [FieldKind] = kinds, header: EncryptedHeader? = nil, contentBytesMax: Int,
        using generator: inout SeededGenerator
    ) -> FieldValue {
        let header =
            header
            ?? EncryptedHeader(
                treeID: .init(high: generator.next(), low: generator.next()), isShared: generator.oneIn(2),
                keyNumber: UInt32.random(in: 1...Limits.keysPerRing, using: &generator))
        let count = EncryptedHeader.valueByteCount(
            content: Int.random(in: 5...max(5, contentBytesMax), using: &generator))
        let sealed = (EncryptedHeader.byteCount..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return .encrypted(EncryptedValue(generator.pick(kinds), header.bytes + sealed))
    }
}
