internal import BrumeModel
public import Foundation

/// A file as the value of a record's field, or a list of such.
///
/// Immutable, so it may be passed between threads. Equal when the file is.
///
/// Differs from CloudKit: the server keeps no assets. A record can hold them, on this device and in archives; saving it
/// fails with `serverRejectedRequest`.
public class CKAsset: NSObject, NSSecureCoding, @unchecked Sendable {
    // Sendable: all is immutable.

    /// Where the file is; nil for an asset of a record that the server gave without it.
    public let fileURL: URL?
    /// What the server keeps; nil for a file of this device.
    let stored: Asset?

    /// An asset of a file. Another kind of URL traps.
    public init(fileURL: URL) {
        precondition(
            fileURL.isFileURL, "CKAsset: \(fileURL.scheme ?? "this") is no file URL; use URL(fileURLWithPath:)")
        self.fileURL = fileURL
        stored = nil
    }

    /// An asset that the server keeps, without its file.
    init(_ stored: Asset) {
        fileURL = nil
        self.stored = stored
    }

    // MARK: Archiving

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the file's path into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKAsset.self)
        coder.encodeIfPresent(fileURL?.path, forKey: "FilePath")
    }

    /// Reads an archived asset; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKAsset.self)
        guard let path = coder.stringIfPresent(forKey: "FilePath") else { return nil }
        fileURL = URL(fileURLWithPath: path)
        stored = nil
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

extension CKAsset: __CKRecordObjCValue {}
