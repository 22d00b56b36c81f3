internal import BrumeModel
internal import BrumeSystem

/// Turns what an upload gave into a receipt, opaque bytes by which a save may name the asset, and back.
///
/// ```
/// 0   1  version, 1
/// 1   16 code over all else (``DeterministicSeal``)
/// 17     encrypted from here on:
///     8  until when it is good: milliseconds since 1970 (numbers are big-endian)
///     8  digest of whom it is for: user, database, zone
///     32 the content's SHA-256
///     8  its bytes
///     8  which stored copy of it
/// ```
///
/// It is no promise that the asset is still there: that is looked at when a save names it.
struct ReceiptSealer {
    private static let version: UInt8 = 1
    private static let bindingByteCount = 8
    private static let byteCount = 17 + 8 + bindingByteCount + AssetChecksum.byteCount + 8 + 8
    private let authentication: MessageAuthentication
    private let receipts: DeterministicSeal

    init(key: [UInt8]) {
        authentication = MessageAuthentication(key: key)
        receipts = DeterministicSeal(secret: key, label: "asset receipts")
    }

    /// What a receipt is bound to.
    func binding(user: String, database: DatabaseID, zone: String) -> [UInt8] {
        var message = Array("asset receipt".utf8)
        for text in [user, database.container, database.owner, zone] {
            withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { message.append(contentsOf: $0) }
            message += text.utf8
        }
        message += [database.environment.rawValue, database.scope.rawValue]
        return Array(authentication.authenticate(message).prefix(Self.bindingByteCount))
    }

    func seal(_ asset: Asset, until milliseconds: Int64, binding: [UInt8]) -> [UInt8] {
        var text = withUnsafeBytes(of: milliseconds.bigEndian) { Array($0) }
        text += binding
        text += asset.checksum.bytes
        withUnsafeBytes(of: asset.byteCount.bigEndian) { text.append(contentsOf: $0) }
        withUnsafeBytes(of: asset.generation.bigEndian) { text.append(contentsOf: $0) }
        return receipts.seal(text, version: Self.version)
    }

    /// What a receipt says; nil for one that this server did not make, or that is good no more.
    func open(_ receipt: [UInt8], nowMilliseconds: Int64) -> (asset: Asset, binding: [UInt8])? {
        guard receipt.count == Self.byteCount, receipt[0] == Self.version, let text = receipts.open(receipt) else {
            return nil
        }
        func number(at offset: Int) -> UInt64 { text[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        guard Int64(bitPattern: number(at: 0)) > nowMilliseconds, let checksum = AssetChecksum(text[16..<48]) else {
            return nil
        }
        let asset = Asset(checksum: checksum, byteCount: number(at: 48), generation: number(at: 56))
        return (asset, Array(text[8..<16]))
    }
}
