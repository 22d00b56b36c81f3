internal import BrumeSystem
internal import Foundation

/// The folder in which a device keeps the keys of one place: `STATE/keys/PLACE`, which only the user who runs the app
/// can enter.
///
/// Each file holds one thing (``KeyFile``), and is replaced as a whole. A file that is damaged, or that must be there
/// and is not, is an error that says what to do: nothing is taken for "no keys" but a folder that never had any.
///
/// Processes may share a folder. A lock keeps them apart while they read or write, which takes no longer than a few
/// writes; what was read counts only as long as nobody else wrote.
struct KeyFolder: Sendable {
    let path: String
    let place: KeyPlace
    private let stateFolder: String
    let disk: any KeyDisk

    init(stateFolder: String, place: KeyPlace, disk: any KeyDisk = RealKeyDisk()) {
        (self.stateFolder, self.place, self.disk) = (stateFolder, place, disk)
        path = "\(stateFolder)/keys/\(place.folderName)"
    }

    /// The heads of the files that there were, which have the checksums of what is in them.
    typealias Version = [KeyFile: [UInt8]]

    /// What came of an attempt to work on the folder.
    enum Attempt<Value: Sendable>: Sendable {
        case done(Value)
        /// Another process has the lock.
        case locked
    }

    /// Whether the device has ever kept anything there.
    var isMade: Bool { FileSystem.exists(path) }

    func file(_ file: KeyFile) -> String { "\(path)/\(file.rawValue)" }

    // MARK: Reading

    /// What was read.
    struct Loaded: Sendable {
        var kept = KeptKeys()
        var version: Version = [:]
    }

    /// Reads all files. Makes nothing where there is no folder.
    func load() throws(KeyFolderProblem) -> Attempt<Loaded> {
        guard FileSystem.exists(path) else { return .done(Loaded()) }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        var loaded = Loaded()
        for file in KeyFile.allCases {
            guard var bytes = try read(file) else { continue }
            loaded.version[file] = Array(bytes.prefix(KeyFile.headBytes))
            do throws(KeyFile.Refusal) {
                try loaded.kept.decode(Self.take(&bytes), file, place: place)
            } catch {
                throw problem(with: file, error)
            }
        }
        if let missing = loaded.kept.missingFile { throw isMissing(missing) }
        return .done(loaded)
    }

    /// Hands bytes on without keeping a copy, so that they can be wiped.
    private static func take(_ bytes: inout [UInt8]) -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    private func read(_ file: KeyFile) throws(KeyFolderProblem) -> [UInt8]? {
        do throws(SystemError) {
            return try disk.read(self.file(file), bytesLimit: KeyLimits.fileBytesMax)
        } catch {
            throw KeyFolderProblem("the keys of this device can't be read (\(error)); make \(path) readable")
        }
    }

    /// The head of a file as it is now; nil where there is none.
    func head(of file: KeyFile) throws(KeyFolderProblem) -> [UInt8]? { try head(ofFile: self.file(file)) }

    /// The head of the file with a path as it is now; nil where there is none.
    func head(ofFile path: String) throws(KeyFolderProblem) -> [UInt8]? {
        do throws(SystemError) {
            return try disk.readHead(path, byteCount: KeyFile.headBytes)
        } catch {
            throw KeyFolderProblem("\(path) can't be read (\(error)); make it readable")
        }
    }

    // MARK: Writing

    /// Writes changes, one after the other.
    ///
    /// - Returns: What is there now; nil where another process has written since `version` was read, and nothing was
    ///   changed.
    func write(
        _ changes: [KeptKeys.Change], over version: Version
    ) throws(KeyFolderProblem) -> Attempt<Version?> {
        do throws(SystemError) {
            try makeFolder()
        } catch {
            throw cannotWrite(error)
        }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        do throws(SystemError) {
            guard try readVersion() == version else { return .done(nil) }
            for change in changes {
                guard var writer = KeptKeys.encode(change, place: place) else {
                    try disk.remove(file(change.file))
                    continue
                }
                defer { writer.wipe() }
                try disk.replace(file(change.file), writer.bytes)
            }
            return .done(try readVersion())
        } catch {
            throw cannotWrite(error)
        }
    }

    private func readVersion() throws(SystemError) -> Version {
        var version: Version = [:]
        for file in KeyFile.allCases {
            version[file] = try disk.readHead(self.file(file), byteCount: KeyFile.headBytes)
        }
        return version
    }

    func makeFolder() throws(SystemError) {
        try FileSystem.makeDirectoryTree(stateFolder, permissions: 0o700)
        try disk.makeFolders([FileSystem.directory(of: path), path])
    }

    /// Nil: another process has it.
    func takeLock() throws(KeyFolderProblem) -> DirectoryLock? {
        do throws(SystemError) {
            return try DirectoryLock(directory: path)
        } catch {
            if error.isExisting { return nil }
            throw KeyFolderProblem("the keys of this device can't be locked (\(error)); make \(path) writable")
        }
    }

    // MARK: Problems

    func cannotWrite(_ error: SystemError) -> KeyFolderProblem {
        KeyFolderProblem(
            "the keys of this device can't be kept (\(error)); make room, make \(path) writable, or set BRUME_STATE to "
                + "another folder before there are keys")
    }

    private func problem(with file: KeyFile, _ refusal: KeyFile.Refusal) -> KeyFolderProblem {
        switch refusal {
        case .newer:
            KeyFolderProblem("\(self.file(file)) was written by a newer version of Brume; update this app")
        case .damaged: KeyFolderProblem("\(self.file(file)) is damaged; \(Self.remedy)")
        }
    }

    private func isMissing(_ file: KeyFile) -> KeyFolderProblem {
        KeyFolderProblem("\(self.file(file)) is missing, and the other files of its folder need it; \(Self.remedy)")
    }

    private static let remedy =
        "put the whole folder back from a backup; if there is none, move it away, and let this device in anew on "
        + "another device, or with the account's recovery code"
}

/// Why a key folder can't be used: a sentence that says what to do.
struct KeyFolderProblem: Error, Equatable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
