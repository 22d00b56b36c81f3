internal import BrumeSystem

/// Files of which a key folder has many, each in a folder of its kind.
extension KeyFolder {
    /// What was read of a file, and its head, which has the checksum of what is in it.
    struct LoadedFile<Value: Sendable>: Sendable {
        let value: Value
        let head: [UInt8]
    }

    /// Reads a file; nil where there is none. Makes nothing where there is no folder.
    ///
    /// - Parameters:
    ///   - path: The whole path.
    ///   - remedy: What to do about a damaged file, as the second half of a sentence.
    func load<Value>(
        _ path: String, bytesLimit: Int, remedy: String,
        _ decode: (consuming [UInt8]) throws(KeyFile.Refusal) -> Value
    ) throws(KeyFolderProblem) -> Attempt<LoadedFile<Value>?> {
        guard FileSystem.exists(path) else { return .done(nil) }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try disk.read(path, bytesLimit: bytesLimit)
        } catch {
            throw KeyFolderProblem("\(path) can't be read (\(error)); make it readable")
        }
        guard let bytes else { return .done(nil) }
        do throws(KeyFile.Refusal) {
            let head = Array(bytes.prefix(KeyFile.headBytes))
            return .done(LoadedFile(value: try decode(bytes), head: head))
        } catch {
            switch error {
            case .newer:
                throw KeyFolderProblem("\(path) was written by a newer version of Brume; update this app")
            case .damaged: throw KeyFolderProblem("\(path) is damaged; \(remedy)")
            }
        }
    }

    /// Puts a file in the place of the one that was read.
    ///
    /// - Parameters:
    ///   - path: The whole path.
    ///   - head: The head of what was read; nil where there was no file.
    /// - Returns: The new head; nil where another process has written meanwhile, and nothing was changed.
    func replace(
        _ path: String, over head: [UInt8]?, with bytes: @autoclosure () -> [UInt8]
    ) throws(KeyFolderProblem) -> Attempt<[UInt8]?> {
        do throws(SystemError) {
            try makeFolder()
            try disk.makeFolders([FileSystem.directory(of: path)])
        } catch {
            throw cannotWrite(error)
        }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        do throws(SystemError) {
            guard try disk.readHead(path, byteCount: KeyFile.headBytes) == head else { return .done(nil) }
            let bytes = bytes()
            try disk.replace(path, bytes)
            return .done(Array(bytes.prefix(KeyFile.headBytes)))
        } catch {
            throw cannotWrite(error)
        }
    }
}
