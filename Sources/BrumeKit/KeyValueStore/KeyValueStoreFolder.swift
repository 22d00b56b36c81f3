internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// Where a container's key-value stores are kept on this device: below the state folder, one file for each account.
///
/// An account's file is named after its user record. Which user a token belongs to is the server's to say, so that it
/// is noted once known: the store is there at once from then on, without the server. Before that it is kept under the
/// token's hash.
struct KeyValueStoreFolder: Sendable {
    private let path: String

    /// Nil: the configuration names no folder that there can be.
    init?(_ configuration: BrumeConfiguration) {
        guard let container = configuration.container, let folder = try? configuration.resolvedStateFolder() else {
            return nil
        }
        path = folder + "/key-value-stores/" + Self.hash(container + "\n" + configuration.environment.rawValue)
    }

    /// The file for a token whose user is not known yet, and of no account.
    func file(token: String?) -> String {
        token.map { "\(path)/token-\(Self.hash($0))" } ?? "\(path)/no-account"
    }

    func file(user: String) -> String { "\(path)/user-\(Self.hash(user))" }

    /// The user that the token belongs to, if this device was told.
    func user(ofToken token: String) -> String? {
        guard let bytes = try? FileSystem.read(note(token), limit: 64),
            let user = String(validating: bytes, as: UTF8.self), Names.isUserRecordName(user)
        else { return nil }
        return user
    }

    /// Notes the user that the token belongs to. Without the note the next launch has to ask.
    func keep(user: String, ofToken token: String) {
        guard self.user(ofToken: token) != user else { return }
        try? makeFolder()
        try? FileSystem.atomicReplace(note(token), Array(user.utf8))
    }

    private func note(_ token: String) -> String { "\(path)/user-of-\(Self.hash(token))" }

    // MARK: Files

    /// What a file holds: nothing when there is none. A damaged one is put aside under `.damaged`, for whoever wants to
    /// look; what the server has is fetched anew.
    func load(_ file: String) -> KeyValueStoreContents {
        guard FileSystem.exists(file) else { return KeyValueStoreContents() }
        let bytes = try? FileSystem.read(file, limit: KeyValueStoreLimits.fileBytesMax)
        if let contents = bytes.flatMap(KeyValueStoreFile.decode) { return contents }
        try? FileSystem.rename(file, to: file + ".damaged")
        return KeyValueStoreContents()
    }

    /// Whether the contents are on the disk.
    func save(_ contents: KeyValueStoreContents, to file: String) -> Bool {
        do {
            try makeFolder()
            try FileSystem.atomicReplace(file, KeyValueStoreFile.encode(contents))
            return true
        } catch {
            return false
        }
    }

    func remove(_ file: String) {
        try? FileSystem.remove(file)
    }

    private func makeFolder() throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// 128 bits of it, which is enough to tell names apart, as a file's name.
    private static func hash(_ text: String) -> String {
        SHA256.digest(Array(text.utf8)).prefix(16).hexadecimal
    }
}
