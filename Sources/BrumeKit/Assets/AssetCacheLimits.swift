/// The limits of assets on this device, each with its reason.
enum AssetCacheLimits {
    /// Bytes of contents and parts in a state folder: about a thousand photos.
    static let byteCountMax = 1 << 30

    /// When the limit is passed, files are removed until this much is left, so that the folder of a full cache is not
    /// read again for every download.
    static func byteCountKept(of byteCountMax: Int) -> Int { byteCountMax - byteCountMax / 8 }

    /// Bytes that are read at a time to compute a checksum. A cancelled caller waits for one such piece at most.
    static let pieceByteCount = 1 << 20

    /// A part goes on at a multiple of this. What is after it is loaded again: a process that ended while it wrote may
    /// have left anything there.
    static let partStepByteCount = 1 << 20

    /// How often a part is opened anew because another process finished or removed it just then. After that the content
    /// counts as being written.
    static let partAttemptsMax = 8
}
