package import BrumeModel
internal import BrumeService
package import BrumeStore

/// The account file: `accounts` in the data folder.
///
/// ```
/// 0   8  "BRUMEACC"
/// 8   4  format version, 1 (little-endian, like all numbers here)
/// 12  4  length of the body
/// 16  4  CRC32C of bytes 0 to 15 and the body
/// 20     body: an encoded brume.store.v1.AccountFile
/// ```
package enum AccountFile {
    package static let path = "accounts"
    private static let magic: [UInt8] = Array("BRUMEACC".utf8)
    private static let headerByteCount = 20

    package static func encode(_ accounts: [StoredAccount]) -> [UInt8] {
        var body: [UInt8] = []
        StoreCoder.encodeAccounts(accounts, into: &body)
        var file = magic
        append(1, to: &file)
        append(UInt32(body.count), to: &file)
        append(CRC32C.checksum(file + body), to: &file)
        return file + body
    }

    /// - Parameter path: What an error calls the file.
    package static func decode(_ bytes: [UInt8], path: String) throws(StoreError) -> [StoredAccount] {
        func damaged(at offset: UInt64, _ problem: String) -> StoreError {
            .damaged(Damage(file: path, offset: offset, problem: problem))
        }
        guard bytes.count >= headerByteCount, bytes.starts(with: magic) else {
            throw damaged(at: 0, "this is no account file")
        }
        let version = number(at: 8, in: bytes)
        guard version == 1 else { throw .unknownVersion(file: path, version: version) }
        let body = Array(bytes[headerByteCount...])
        guard Int(number(at: 12, in: bytes)) == body.count else { throw damaged(at: 12, "the length is wrong") }
        guard number(at: 16, in: bytes) == CRC32C.checksum(Array(bytes[..<16]) + body) else {
            throw damaged(at: 16, "the checksum is wrong")
        }
        do {
            return try body.withUnsafeBytes { try StoreCoder.decodeAccounts($0) }
        } catch {
            throw damaged(at: UInt64(headerByteCount), "the body can't be decoded")
        }
    }

    private static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private static func number(at offset: Int, in bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }
}
