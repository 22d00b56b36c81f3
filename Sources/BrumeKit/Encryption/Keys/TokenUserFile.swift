internal import BrumeEncryption
internal import BrumeModel
internal import BrumeSystem

/// The file that says whose a token is, once keys are kept for its user: `STATE/keys/users/NAME`. A server that names
/// another user later would have this device look for that one's keys, find none, and save plain what it encrypts.
///
/// ```
/// 0   34  head, as KeyFile has it, of the kind 11
/// 34      the user's record name (counted)
/// ```
/// NAME and the checksum are of the server, the container and the environment (each counted), and of the token's
/// SHA-256.
struct TokenUserFile {
    static let kind: UInt8 = 11
    private static let bytesMax = 1024

    private let path: String
    private let place: [UInt8]
    private let disk: any KeyDisk

    init(stateFolder: String, place: KeyPlace, token: String, disk: any KeyDisk) {
        let scope = place.scope
        let digest = SHA256.digest(Array(token.utf8))
        self.place = KeyPlace.counted([place.server, scope.container, scope.environment]) + digest
        path = "\(stateFolder)/keys/users/\(SHA256.digest(self.place).prefix(16).hexadecimal)"
        self.disk = disk
    }

    /// The user's record name; nil where there is no file yet.
    func load() throws(KeyFolderProblem) -> String? {
        guard FileSystem.exists(path) else { return nil }
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try disk.read(path, bytesLimit: Self.bytesMax)
        } catch {
            throw KeyFolderProblem("\(path) can't be read (\(error)); make it readable")
        }
        guard let bytes else { return nil }
        do throws(KeyFile.Refusal) {
            var reader = try KeyFileReader(bytes, kind: Self.kind, place: place)
            let name = try reader.readCounted()
            try reader.end()
            guard let user = String(validating: name, as: UTF8.self), Names.isUserRecordName(user) else {
                throw KeyFile.Refusal.damaged
            }
            return user
        } catch {
            throw KeyFolderProblem(
                error == .newer
                    ? "\(path) was written by a newer version of Brume; update this app"
                    : "\(path) is damaged; remove it, where you trust the server's word for whose account this is")
        }
    }

    /// Keeps the user whose token it is, unless one is kept already: two processes may begin at the same time, and be
    /// told different users.
    ///
    /// - Returns: The user who is kept now.
    func keep(_ user: String) throws(KeyFolderProblem) -> KeyFolder.Attempt<String> {
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        if let kept = try load() { return .done(kept) }
        var writer = KeyFileWriter(kind: Self.kind, capacity: 128)
        writer.write(counted: Array(user.utf8))
        writer.finish(place: place)
        do throws(SystemError) {
            try disk.replace(path, writer.bytes)
        } catch {
            throw cannotWrite(error)
        }
        return .done(user)
    }

    /// - Returns: The lock of the folder; nil while another process has it.
    private func takeLock() throws(KeyFolderProblem) -> DirectoryLock? {
        let folder = FileSystem.directory(of: path)
        do throws(SystemError) {
            try disk.makeFolders([folder])
            return try DirectoryLock(directory: folder)
        } catch {
            if error.isExisting { return nil }
            throw cannotWrite(error)
        }
    }

    private func cannotWrite(_ error: SystemError) -> KeyFolderProblem {
        KeyFolderProblem("\(path) can't be written (\(error)); make room, or make it writable")
    }
}
