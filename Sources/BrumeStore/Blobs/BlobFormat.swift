internal import BrumeModel

/// The file of a stored asset, format version 1.
///
/// ```
/// content
/// table    the CRC-32C of each whole 128 KiB of the content and of the rest after it, 4 bytes each
/// footer, 24 bytes
///  0  8  "BRUMEAST"
///  8  4  format version, 1
/// 12  4  CRC-32C of the table, of bytes 0 to 11 and 16 to 23 of the footer, and of the blob's name: 32 bytes of
///        SHA-256 and 8 of the generation, as they stand in the file's name
/// 16  8  bytes of the content
/// ```
///
/// The checksums follow the content so that it is written once, as it comes. They make it possible to check a range
/// without reading the rest; whether all of it is the content of its name is what the SHA-256 tells. The name is part
/// of the footer's checksum so that a file in another one's place is damage.
///
/// A file has its name only after all of it is durable, and never changes under it.
enum BlobFormat {
    /// As much as a download has in memory at a time, so that what is checked is what was read. With twice as much a
    /// hundred downloads took 87 MiB in place of some 55.
    static let blockBytes = 128 * 1024
    static let footerBytes = 24
    private static let magic = Array("BRUMEAST".utf8)
    private static let version: UInt32 = 1

    static func blockCount(of byteCount: UInt64) -> Int {
        Int(byteCount / UInt64(blockBytes)) + (byteCount % UInt64(blockBytes) == 0 ? 0 : 1)
    }

    /// Table and footer.
    static func trailer(of name: BlobName, byteCount: UInt64, checksums: [UInt32]) -> [UInt8] {
        precondition(checksums.count == blockCount(of: byteCount), "an asset has a checksum too many or too few")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(checksums.count * 4 + footerBytes)
        for checksum in checksums { bytes.appendInteger(checksum) }
        bytes += magic
        bytes.appendInteger(version)
        bytes.appendInteger(UInt32(0))
        bytes.appendInteger(byteCount)
        bytes.setInteger(checksum(ofTrailer: bytes, name), at: bytes.count - 12)
        return bytes
    }

    /// Bytes of the largest file: more than the checksums of so many blocks take.
    static let fileBytesMax = StoreLimits.assetBytes + StoreLimits.assetBytes / 1024

    /// How many bytes of content a file has that is so large; nil when no blob's file is.
    static func contentBytes(ofFile byteCount: UInt64) -> UInt64? {
        guard (UInt64(footerBytes)...fileBytesMax).contains(byteCount) else { return nil }
        let rest = byteCount - UInt64(footerBytes)
        let blocks = (rest + UInt64(blockBytes) + 3) / UInt64(blockBytes + 4)
        guard rest >= blocks * 4, blockCount(of: rest - blocks * 4) == Int(blocks) else { return nil }
        return rest - blocks * 4
    }

    /// Whether bytes look like the footer of a file with so much content, before anything is read for it.
    static func isFooter(_ bytes: ArraySlice<UInt8>, byteCount: UInt64) -> Bool {
        let bytes = Array(bytes)
        return bytes.count == footerBytes && bytes.starts(with: magic)
            && bytes.integer(at: 16, as: UInt64.self) == byteCount
    }

    /// The checksums in a trailer.
    static func checksums(
        inTrailer bytes: [UInt8], of name: BlobName, byteCount: UInt64, path: String
    ) throws(StoreError) -> [UInt32] {
        let footer = bytes.count - footerBytes
        func damage(_ problem: String, at offset: Int) -> StoreError {
            .damaged(Damage(file: path, offset: byteCount + UInt64(offset), problem: problem))
        }
        guard footer >= 0, isFooter(bytes[footer...], byteCount: byteCount) else {
            throw damage("this is not an asset's file", at: max(footer, 0))
        }
        guard bytes.integer(at: footer + 12, as: UInt32.self) == checksum(ofTrailer: bytes, name) else {
            throw damage("the checksum of the table is wrong, or the file belongs to another blob", at: footer + 12)
        }
        let version: UInt32 = bytes.integer(at: footer + 8)
        guard version == self.version else { throw .unknownVersion(file: path, version: version) }
        guard footer == blockCount(of: byteCount) * 4 else {
            throw damage("the table is not as long as it should be", at: 0)
        }
        return (0..<footer / 4).map { bytes.integer(at: $0 * 4) }
    }

    private static func checksum(ofTrailer bytes: [UInt8], _ name: BlobName) -> UInt32 {
        var crc = CRC32C()
        crc.update(Array(bytes[..<(bytes.count - 12)]))
        crc.update(Array(bytes[(bytes.count - 8)...]))
        crc.update(name.bytes)
        return crc.value
    }
}
