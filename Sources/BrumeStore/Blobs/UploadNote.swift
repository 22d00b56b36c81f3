internal import BrumeModel

/// What is durable of an upload: the file `NAME.note` beside its content, `NAME.part`. It is replaced whole.
///
/// NAME is the first 16 bytes of the SHA-256 of the upload's id and its user's name, in hexadecimal digits.
///
/// ```
///  0  8  "BRUMEUPL"
///  8  4  format version, 1
/// 12  4  CRC-32C of bytes 0 to 11 and of all from 16 on
/// 16  8  bytes that the content will have
/// 24  8  bytes of it that are durable: whole MiBs
/// 32  4  CRC-32C of the checksums of their blocks, 4 bytes each: see ``BlobFormat/blockBytes``
/// 36 40  the blob that it becomes, or has become: SHA-256 and generation; zeros before the end
/// 76 16  the upload's id
/// 92  2  bytes of the user record name; the name
///     2  bytes of the zone's name; the name
/// ```
///
/// An upload has no note until a MiB is durable: a smaller one begins anew after a crash. A content without a note is
/// removed then. After the durable bytes of a content there may be anything.
///
/// An upload whose note names a blob is complete if that blob is there. If it is not, the upload goes on from its
/// durable bytes.
struct UploadNote: Equatable, Sendable {
    let upload: BlobUpload.Identity
    /// Whole MiBs, one at least.
    let durableByteCount: UInt64
    /// The CRC-32C of the checksums of the durable MiBs.
    let checksum: UInt32
    /// The blob that it becomes, or has become.
    var blob: BlobName?

    private static let magic = Array("BRUMEUPL".utf8)
    private static let version: UInt32 = 1
    private static let headerBytes = 92
    private static let blobBytes = 36..<76
    /// More than two names of 255 bytes take.
    static let byteLimit = 1024

    init(_ upload: BlobUpload.Identity, durableByteCount: UInt64, checksum: UInt32, blob: BlobName? = nil) {
        self.upload = upload
        self.durableByteCount = durableByteCount
        self.checksum = checksum
        self.blob = blob
    }

    var encoded: [UInt8] {
        var bytes = UploadNote.magic
        bytes.appendInteger(UploadNote.version)
        bytes.appendInteger(UInt32(0))
        bytes.appendInteger(upload.byteCount)
        bytes.appendInteger(durableByteCount)
        bytes.appendInteger(checksum)
        bytes += blob?.bytes ?? [UInt8](repeating: 0, count: UploadNote.blobBytes.count)
        bytes += upload.id.bytes
        for text in [upload.user, upload.zone] {
            bytes.appendInteger(UInt16(text.utf8.count))
            bytes += text.utf8
        }
        bytes.setInteger(UploadNote.checksum(of: bytes), at: 12)
        return bytes
    }

    /// Nil for bytes that no server wrote, or that are damaged.
    init?(decoding bytes: [UInt8]) {
        guard bytes.count >= UploadNote.headerBytes, bytes.starts(with: UploadNote.magic),
            bytes.integer(at: 12, as: UInt32.self) == UploadNote.checksum(of: bytes),
            bytes.integer(at: 8, as: UInt32.self) == UploadNote.version, let id = UploadID(Array(bytes[76..<92]))
        else { return nil }
        var offset = UploadNote.headerBytes
        guard let user = UploadNote.text(in: bytes, at: &offset), let zone = UploadNote.text(in: bytes, at: &offset),
            offset == bytes.count
        else { return nil }
        let byteCount: UInt64 = bytes.integer(at: 16)
        durableByteCount = bytes.integer(at: 24)
        checksum = bytes.integer(at: 32)
        guard (1...StoreLimits.assetBytes).contains(byteCount), (1...byteCount).contains(durableByteCount),
            durableByteCount % UInt64(BlobUpload.pieceBytes) == 0
        else { return nil }
        upload = BlobUpload.Identity(id: id, user: user, zone: zone, byteCount: byteCount)
        let name = bytes[UploadNote.blobBytes]
        blob = name.allSatisfy { $0 == 0 } ? nil : BlobName(name)
    }

    private static func checksum(of bytes: [UInt8]) -> UInt32 {
        var crc = CRC32C()
        crc.update(Array(bytes[..<12]))
        crc.update(Array(bytes[16...]))
        return crc.value
    }

    private static func text(in bytes: [UInt8], at offset: inout Int) -> String? {
        guard offset + 2 <= bytes.count else { return nil }
        let start = offset + 2
        let end = start + Int(bytes.integer(at: offset, as: UInt16.self))
        guard end <= bytes.count else { return nil }
        offset = end
        return String(validating: bytes[start..<end], as: UTF8.self)
    }
}
