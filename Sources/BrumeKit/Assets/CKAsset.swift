internal import BrumeEncryption
internal import BrumeModel
public import Foundation

/// A file as the value of a record's field, or a list of such.
///
/// A save uploads the file first, and then the record that names it. A file that is edited meanwhile fails the save
/// with `assetFileModified`, one that can't be read with `assetFileNotFound`; what did not change since the record was
/// fetched or saved is not uploaded again. Only the bytes are kept, not the file's name. A `CKSyncEngine` saves and
/// fetches other records while it uploads.
///
/// A fetch downloads the assets of the fields that it asks for, and hands the record out when they are complete and
/// checked. ``fileURL`` is then a file in the SDK's cache: read-only, there as long as this instance or its record
/// lives; copy what the app is to keep. It is nil where nothing was downloaded: in the server's record of a conflict,
/// in a record from an archive, and for fields that a fetch did not ask for. And where a `CKSyncEngine` hands out a
/// record of which the server can't give an asset, since it is damaged or gone: other fetches fail for that record with
/// `assetNotAvailable`, while an engine has no place for that, and goes on.
///
/// In zones whose files are encrypted (``BrumeConfiguration/encryptsAssets``) this device encrypts what it uploads, and
/// decrypts what it downloads. One that it has no key for is in the record's ``CKRecord/unreadableFields``.
///
/// Differs from CloudKit: files are encrypted where an app says so, and not in all private zones. A server may keep no
/// assets; saving a record with one fails there with
/// `serverRejectedRequest`. A list or a record has 1,000 assets at most.
///
/// Immutable, so it may be passed between threads. Equal when both are of one file, or of one asset of the server.
public class CKAsset: NSObject, NSSecureCoding, @unchecked Sendable {
    // Sendable: all is immutable.

    /// Where the file is; nil for an asset of a record that the server gave without it.
    public let fileURL: URL?
    /// What the server keeps; nil for a file of this device.
    let stored: Asset?
    /// What opens it; nil where the server keeps the file itself, or nobody opened it here.
    let secret: AssetSecret?
    /// The record that names it on the server.
    let origin: CKRecord.ID?
    /// Keeps the file in the cache.
    let lease: AssetCacheLease?

    /// An asset of a file. Another kind of URL traps.
    public init(fileURL: URL) {
        precondition(
            fileURL.isFileURL, "CKAsset: \(fileURL.scheme ?? "this") is no file URL; use URL(fileURLWithPath:)")
        self.fileURL = fileURL
        (stored, secret, origin, lease) = (nil, nil, nil, nil)
    }

    /// An asset that the server keeps.
    init(_ stored: Asset, of origin: CKRecord.ID? = nil, from contents: AssetContents = AssetContents()) {
        let file = contents[stored]
        fileURL = file?.url
        (self.stored, self.origin, lease) = (stored.withoutReceipt, origin, file?.lease)
        secret = contents.secret(of: stored)
    }

    /// An asset that the server keeps, and its file.
    init(_ stored: Asset, file: AssetContents.File) {
        (self.stored, fileURL, lease) = (stored.withoutReceipt, file.url, file.lease)
        (secret, origin) = (nil, nil)
    }

    /// The SHA-256 of what the server keeps, in hexadecimal digits; nil for a file of this device.
    package var storedChecksum: String? { stored?.checksum.description }
    /// Bytes of the file that the server keeps, as it is or encrypted; nil for a file of this device.
    package var storedByteCount: Int? { stored.map { Int(clamping: secret?.layout.length ?? $0.byteCount) } }

    /// What opens what the server keeps; nil where that is not known to be encrypted.
    var content: AssetContent? { stored.flatMap { stored in secret.flatMap { AssetContent(stored, secret: $0) } } }

    /// What a record may name of it without its content, because the server's version names it; nil for what has to be
    /// uploaded.
    ///
    /// A record of the same id may be another one's: in another database, or made again. So its version has to say so,
    /// unless there is no file to upload: then the server decides.
    ///
    /// - Parameter base: The version that the record's edits started from.
    func kept(by record: CKRecord.ID, _ base: CKRecordState.Base?) -> Asset? {
        guard let stored, origin == record else { return nil }
        if fileURL == nil { return stored }
        return base?.fields.values.contains { $0.assets.contains(stored) } == true ? stored : nil
    }

    // MARK: Archiving

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the file's path into a keyed archive. The cache's files, and what the server keeps, are not archived: an
    /// asset of a fetched record comes back with its record, from an archive of that.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKAsset.self)
        coder.encodeIfPresent(fileURL?.path, forKey: "FilePath")
    }

    /// Reads an archived asset; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKAsset.self)
        guard let path = coder.stringIfPresent(forKey: "FilePath") else { return nil }
        fileURL = URL(fileURLWithPath: path)
        (stored, secret, origin, lease) = (nil, nil, nil, nil)
    }

    /// Whether both are of one file, or of one asset of the server.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKAsset else { return false }
        if self === other { return true }
        if let stored, let others = other.stored { return stored == others }
        return stored == nil && other.stored == nil && fileURL == other.fileURL
    }

    /// Equal for equal assets.
    public override var hash: Int { stored?.hashValue ?? fileURL?.hashValue ?? 0 }

    /// The file's path.
    public override var description: String { "<CKAsset: \(fileURL?.path ?? "no file")>" }
}

extension CKAsset: __CKRecordObjCValue {}
