/// What begins an upload.
package struct UploadRequest: Equatable, Sendable {
    package var database: DatabaseScope
    package var zone: ZoneID
    package var id: UploadID
    /// Bytes of the content.
    package var byteCount: UInt64

    package init(database: DatabaseScope, zone: ZoneID, id: UploadID, byteCount: UInt64) {
        self.database = database
        self.zone = zone
        self.id = id
        self.byteCount = byteCount
    }
}

/// A message of the client on an upload's stream.
package enum UploadMessage: Equatable, Sendable {
    case begin(UploadRequest)
    case content([UInt8])
    /// The content's SHA-256, as the client computed it.
    case end(AssetChecksum)
}

/// A message of the server on an upload's stream.
package enum UploadEvent: Equatable, Sendable {
    /// The content is to be sent from this byte on.
    case offset(UInt64)
    /// The upload is complete: the asset with its receipt.
    case asset(Asset)
}

/// A request for the content of an asset that a record names.
package struct DownloadRequest: Equatable, Sendable {
    package var database: DatabaseScope
    package var zone: ZoneID
    package var recordName: String
    package var field: String
    /// Which of a list's assets; 0 for a field that is no list.
    package var listIndex: Int
    package var checksum: AssetChecksum
    /// The first byte that is wanted.
    package var offset: UInt64
    /// How many are wanted; 0: all to the end.
    package var byteCount: UInt64

    package init(
        database: DatabaseScope, zone: ZoneID, recordName: String, field: String, listIndex: Int = 0,
        checksum: AssetChecksum, offset: UInt64 = 0, byteCount: UInt64 = 0
    ) {
        self.database = database
        self.zone = zone
        self.recordName = recordName
        self.field = field
        self.listIndex = listIndex
        self.checksum = checksum
        self.offset = offset
        self.byteCount = byteCount
    }
}

/// A message of the server on a download's stream.
package enum DownloadEvent: Equatable, Sendable {
    /// Bytes of the whole content.
    case byteCount(UInt64)
    case content(SharedBytes)
}
