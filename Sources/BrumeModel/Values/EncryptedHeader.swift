/// What stands readable in front of an encrypted value and of a stamp: which key opens it
/// (Documentation/EncryptionFormats.md, sections 4 and 5).
///
/// ```
/// 0   1  format: 1
/// 1   1  suite: 1
/// 2   16 the tree's id
/// 18  1  0 a private tree's, 1 a shared tree's
/// 19  4  number of the key in its ring, from 1, little-endian
/// ```
///
/// The header is all that the server reads of what devices encrypt. Reading it allocates nothing.
package struct EncryptedHeader: Hashable, Sendable {
    /// The 16 bytes that name a tree, as two numbers in the order of the bytes.
    package struct TreeID: Hashable, Sendable {
        package static let byteCount = 16

        package let high: UInt64
        package let low: UInt64

        package init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }

        /// - Parameter bytes: ``byteCount`` of them.
        package init(_ bytes: [UInt8]) {
            precondition(bytes.count == Self.byteCount, "a tree's id has another length")
            func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
            self.init(high: number(bytes[..<8]), low: number(bytes[8...]))
        }

        /// The id's bytes.
        package var bytes: [UInt8] {
            [high, low].flatMap { number in withUnsafeBytes(of: number.bigEndian) { [UInt8]($0) } }
        }
    }

    /// Why bytes are no encrypted value, or no stamp.
    package enum Problem: Error, Equatable, Sendable {
        /// Another format or suite than this version knows.
        case newer
        /// No device writes such bytes.
        case malformed
    }

    package static let byteCount = 23
    package static let stampByteCount = byteCount + sealByteCount
    /// The smallest encrypted value: the least padding fills 32 bytes.
    package static let valueByteCountMin = byteCount + sealByteCount + 32

    /// What opens one asset (Documentation/EncryptionFormats.md, section 6).
    package static let assetSecretByteCount = 74

    private static let format: UInt8 = 1
    private static let suite: UInt8 = 1
    /// The nonce and the authenticator that encryption adds.
    private static let sealByteCount = 24 + 16

    package let treeID: TreeID
    /// Whether the key is of the ring of a shared tree, not of the zone's.
    package let isShared: Bool
    /// 1 to ``Limits/keysPerRing``.
    package let keyNumber: UInt32

    package init(treeID: TreeID, isShared: Bool, keyNumber: UInt32) {
        precondition((1...Limits.keysPerRing).contains(keyNumber), "a key has a number that no ring has")
        self.treeID = treeID
        self.isShared = isShared
        self.keyNumber = keyNumber
    }

    /// Reads the header of an encrypted value, and checks the value's length.
    package init(ofValue bytes: UnsafeRawBufferPointer) throws(Problem) {
        try self.init(bytes)
        guard bytes.count >= Self.valueByteCountMin, Self.isPadded(bytes.count - Self.byteCount - Self.sealByteCount)
        else { throw .malformed }
    }

    /// Reads the header of what opens assets, and checks its length: that of so many secrets.
    package init(ofAssetSecrets bytes: UnsafeRawBufferPointer, count: Int, isList: Bool) throws(Problem) {
        try self.init(bytes)
        guard bytes.count == Self.assetSecretsByteCount(count, isList: isList) else { throw .malformed }
    }

    /// Reads the header of a stamp, and checks the stamp's length.
    package init(ofStamp bytes: UnsafeRawBufferPointer) throws(Problem) {
        try self.init(bytes)
        guard bytes.count == Self.stampByteCount else { throw .malformed }
    }

    /// Format and suite come first: what another version's bytes mean, and how long they are, is not known.
    private init(_ bytes: UnsafeRawBufferPointer) throws(Problem) {
        guard bytes.count >= 2 else { throw .malformed }
        guard bytes[0] == Self.format, bytes[1] == Self.suite else { throw .newer }
        guard bytes.count >= Self.byteCount, bytes[18] <= 1 else { throw .malformed }
        let number = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 19, as: UInt32.self))
        guard (1...Limits.keysPerRing).contains(number) else { throw .malformed }
        treeID = TreeID(
            high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 10, as: UInt64.self)))
        isShared = bytes[18] == 1
        keyNumber = number
    }

    /// The header's bytes.
    package var bytes: [UInt8] {
        func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { [UInt8]($0) } }
        return [Self.format, Self.suite] + treeID.bytes + [isShared ? 1 : 0] + bytes(keyNumber.littleEndian)
    }

    /// The length of an encrypted value whose content takes so many bytes, its own length included.
    package static func valueByteCount(content count: Int) -> Int {
        byteCount + sealByteCount + padded(max(count, 1))
    }

    /// The length of an encrypted value that holds the secret of an asset, or those of a list of assets.
    package static func assetSecretsByteCount(_ count: Int, isList: Bool) -> Int {
        // Both stand behind four bytes of their length, and a list behind the number of its elements.
        valueByteCount(content: 4 + (isList ? 4 : 0) + count * assetSecretByteCount)
    }

    /// Whether a text was filled up to this length. A length that padding gives is its own padding.
    private static func isPadded(_ count: Int) -> Bool { count > 0 && padded(count) == count }

    /// The function `pad` of Documentation/EncryptionFormats.md, section 2.
    private static func padded(_ count: Int) -> Int {
        var unit = 32
        if count > 1024 {
            let exponent = Int.bitWidth - 1 - count.leadingZeroBitCount
            unit = 1 << (exponent - (Int.bitWidth - exponent.leadingZeroBitCount))
        }
        return (count + unit - 1) & ~(unit - 1)
    }
}
