public import Foundation

/// A file as the value of a record's field, or a list of such.
///
/// Immutable, so it may be passed between threads. Equal when the file is.
///
/// Differs from CloudKit: the server keeps no assets. A record can hold them, on this device and in archives; saving it fails with
/// `serverRejectedRequest`.
public class CKAsset: NSObject, @unchecked Sendable {
    // Sendable: all is immutable.

    /// Where the file is.
    public let fileURL: URL?

    /// An asset of a file. Another kind of URL traps.
    public init(fileURL: URL) {
        precondition(
            fileURL.isFileURL, "CKAsset: \(fileURL.scheme ?? "this") is no file URL; use URL(fileURLWithPath:)")
        self.fileURL = fileURL
    }

    /// Whether both are of one file.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKAsset else { return false }
        return self === other || fileURL == other.fileURL
    }

    /// Equal for equal assets.
    public override var hash: Int { fileURL?.hashValue ?? 0 }

    /// The file's path.
    public override var description: String { "<CKAsset: \(fileURL?.path ?? "no file")>" }
}

extension CKAsset: CKRecordValueProtocol {}
