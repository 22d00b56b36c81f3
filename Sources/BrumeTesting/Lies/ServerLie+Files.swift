public import BrumeKit

/// Contents of files, as the server keeps them. Of encrypted ones these are chunks of 65,536 bytes each, which are a
/// little longer than what they hold; a small file has one chunk. A device downloads nothing that it has in its cache:
/// lie to one that has not fetched the file.
extension ServerLie {
    /// The first two chunks of a file's content come in the wrong order. A content of one chunk is as it is.
    ///
    /// The record fails with `assetNotAvailable`, as where a disk damaged the file: nothing of it is handed out.
    public static func swapsChunks(ofFileInField key: CKRecord.FieldKey, of recordID: CKRecord.ID) -> ServerLie {
        ServerLie(
            "two chunks of the file in \(key) of \(recordID.recordName) are swapped",
            .file(.swapsChunks, field: key, of: recordID))
    }

    /// The first chunk of a file's content comes once more in the place of the second one. A content of one chunk is as
    /// it is. The record fails as with ``swapsChunks(ofFileInField:of:)``.
    public static func repeatsChunk(ofFileInField key: CKRecord.FieldKey, of recordID: CKRecord.ID) -> ServerLie {
        ServerLie(
            "a chunk of the file in \(key) of \(recordID.recordName) comes twice",
            .file(.repeatsChunk, field: key, of: recordID))
    }

    /// A byte of a file's content is another one. The record fails as with ``swapsChunks(ofFileInField:of:)``.
    ///
    /// - Parameter index: Which byte; one that the content does not have leaves it as it is.
    public static func flipsByte(
        _ index: Int, ofFileInField key: CKRecord.FieldKey, of recordID: CKRecord.ID
    ) -> ServerLie {
        precondition(index >= 0, "a file has no byte \(index)")
        return ServerLie(
            "byte \(index) of the file in \(key) of \(recordID.recordName) is flipped",
            .file(.flip(UInt64(index)), field: key, of: recordID))
    }

    /// A file's content ends after so many bytes. The fetch fails with `networkFailure`, as where the connection broke;
    /// what has come is kept, and the next fetch goes on from there.
    public static func cutsFile(
        inField key: CKRecord.FieldKey, of recordID: CKRecord.ID, toByteCount count: Int
    ) -> ServerLie {
        precondition(count >= 0, "no file has \(count) bytes")
        return ServerLie(
            "the file in \(key) of \(recordID.recordName) has \(count) bytes",
            .file(.cut(UInt64(count)), field: key, of: recordID))
    }

    /// The server says of each upload to a zone that it has so many bytes of it, and that the device is to go on from
    /// there.
    ///
    /// The device sends what comes after these. The server takes no more and no less than it needs, so where it has
    /// another number the save fails with `invalidArguments`; where the file does not have as many bytes it fails with
    /// `internalError`. What the device sends once more is the same as before, and an upload of a file that changed
    /// meanwhile fails with `assetFileModified`. Where the server has kept bytes in wrong places, the next save of that
    /// file fails so once.
    public static func saysUploadsHave(byteCount: Int, in zoneID: CKRecordZone.ID) -> ServerLie {
        precondition(byteCount >= 0, "no upload has \(byteCount) bytes")
        return ServerLie(
            "uploads to \(zoneID.zoneName) have \(byteCount) bytes",
            .uploads(byteCount: UInt64(byteCount), zone: zoneID))
    }
}
