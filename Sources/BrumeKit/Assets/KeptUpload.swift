internal import BrumeEncryption
internal import BrumeSystem

/// The key of an encrypted upload that is under way, and its id: with both it goes on after the app was ended.
///
/// A file of the key folder holds them until the server has all:
///
/// ```
/// STATE/keys/PLACE/uploads/NAME     16 id, 32 key, 16 of the SHA-256 of both
/// ```
///
/// The name is made of the file's content and of where it goes. A file that is damaged counts as none: the upload
/// begins anew.
struct KeptUpload: Sendable {
    let id: [UInt8]
    let key: SecretKey

    static let byteCount = 16 + SecretKey.byteCount + 16
    /// What is smaller begins anew sooner than its key is written.
    static let fileByteCountMin = 1 << 20
    /// Uploads that an app began and gave up. Those that began first go.
    static let countMax = 256

    /// One that nobody has begun.
    init() {
        id = ContainerCore.newOperationID()
        key = .random(isLocked: false)
    }

    /// Nil for what is damaged.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var content = Array(bytes.dropLast(16))
        defer { Sodium.wipe(&content) }
        guard SHA256.digest(content).prefix(16).elementsEqual(bytes.suffix(16)) else { return nil }
        id = Array(content.prefix(16))
        var secret = Array(content.dropFirst(16))
        defer { Sodium.wipe(&secret) }
        key = SecretKey(copying: secret, isLocked: false)
    }

    /// The bytes for the file; the caller wipes them.
    func copyBytes() -> [UInt8] {
        var bytes = id
        bytes.reserveCapacity(Self.byteCount)
        key.withBytes { bytes.append(contentsOf: $0) }
        bytes += SHA256.digest(bytes).prefix(16)
        return bytes
    }
}

extension KeyFolder {
    /// The upload that was kept under a name, or a new one.
    func keptUpload(_ name: String) throws(KeyFolderProblem) -> Attempt<KeptUpload> {
        do throws(SystemError) {
            try makeFolder()
            try disk.makeFolders([uploadsPath])
        } catch {
            throw cannotWrite(error)
        }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        do throws(SystemError) {
            if var bytes = try disk.read("\(uploadsPath)/\(name)", bytesLimit: KeptUpload.byteCount) {
                defer { Sodium.wipe(&bytes) }
                if let kept = KeptUpload(bytes) { return .done(kept) }
            }
            try makeRoomForUpload()
            let new = KeptUpload()
            var bytes = new.copyBytes()
            defer { Sodium.wipe(&bytes) }
            try disk.replace("\(uploadsPath)/\(name)", bytes)
            return .done(new)
        } catch {
            throw cannotWrite(error)
        }
    }

    /// Forgets an upload: the server has all of it.
    func forgetUpload(_ name: String) throws(KeyFolderProblem) -> Attempt<Bool> {
        guard FileSystem.exists("\(uploadsPath)/\(name)") else { return .done(false) }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        do throws(SystemError) { try disk.remove("\(uploadsPath)/\(name)") } catch { throw cannotWrite(error) }
        return .done(true)
    }

    private func makeRoomForUpload() throws(SystemError) {
        let names = try FileSystem.list(uploadsPath)
        guard names.count >= KeptUpload.countMax else { return }
        let byAge = names.map { name in
            let version = try? FileSystem.status("\(uploadsPath)/\(name)").version
            return (name: name, began: version?.modifiedNanoseconds ?? 0)
        }
        for upload in byAge.sorted(by: { $0.began < $1.began }).prefix(names.count - KeptUpload.countMax / 2) {
            try disk.remove("\(uploadsPath)/\(upload.name)")
        }
    }

    private var uploadsPath: String { "\(path)/uploads" }
}
