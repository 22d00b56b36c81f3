/// What the store asks of a disk. Paths are relative to one data folder, with `/` between their parts.
///
/// The contract is that of a POSIX file system and no more: what is written is lost in a crash until `sync` of its file
/// has returned; a file that was made, renamed or removed may be found as before until `syncDirectory` of its folder
/// has returned. One that was renamed to another folder has at least one of its two names, and may have both until both
/// folders are synced. All calls block. They may come from several threads, but never two at a time for one file.
package protocol Disk: AnyObject, Sendable {
    /// Opens a file that exists, to read it.
    func openForReading(_ path: String) throws(DiskError) -> DiskFile
    /// Opens a file that exists, to read and write it.
    func openForWriting(_ path: String) throws(DiskError) -> DiskFile
    /// Makes a file that does not exist yet; one that does is an error.
    func create(_ path: String) throws(DiskError) -> DiskFile
    /// Closes without syncing.
    func close(_ file: DiskFile)
    /// Closes a file, open for writing, that has lost its name. The room of a large one is freed bit by bit before, if
    /// nobody else has it open: others' syncs would wait if it were freed all at once.
    func giveBack(_ file: DiskFile)

    /// Writes all bytes at an offset; the file grows when they end after its end.
    func write(_ bytes: [UInt8], to file: DiskFile, at offset: UInt64) throws(DiskError)
    /// Reads up to `length` bytes; fewer only where the file ends.
    func read(_ file: DiskFile, at offset: UInt64, length: Int) throws(DiskError) -> [UInt8]
    /// Reads until `target` is full or the file ends; returns how many bytes that were. Allocates nothing, for those
    /// who read much.
    func read(_ file: DiskFile, at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws(DiskError) -> Int
    func size(of file: DiskFile) throws(DiskError) -> UInt64
    /// Makes what was written durable, the file's size included. After it failed once nothing is known about what is on
    /// the disk: it is never tried again.
    func sync(_ file: DiskFile) throws(DiskError)
    /// Starts writing the bytes to the disk, and waits for those of earlier calls. It makes nothing durable: if it is
    /// called for each part of a large file as that is written, little is left to the file's sync, and so to those of
    /// others that wait for it.
    func writeBack(_ range: Range<UInt64>, of file: DiskFile) throws(DiskError)
    /// Makes all bytes up to `length` zero, whatever they were before, and allocated on the disk, so that later writes
    /// there don't grow the file. What comes after them stays.
    func fillWithZeros(_ file: DiskFile, length: UInt64) throws(DiskError)

    /// Replaces `target` if it exists.
    func rename(_ path: String, to target: String) throws(DiskError)
    /// Removes a file.
    func remove(_ path: String) throws(DiskError)
    /// The names in a folder, sorted; none for a folder that does not exist.
    func list(_ path: String) throws(DiskError) -> [String]
    /// The names of the folders in a folder, sorted; none for a folder that does not exist.
    func listFolders(_ path: String) throws(DiskError) -> [String]
    /// Makes a folder; it is no error when it exists already.
    func makeDirectory(_ path: String) throws(DiskError)
    /// Removes a folder. One that holds something, or is not there, is an error.
    func removeDirectory(_ path: String) throws(DiskError)
    /// Makes the names in a folder durable. The data folder itself is the empty path.
    func syncDirectory(_ path: String) throws(DiskError)

    /// How much room there is where a folder lies, which need not exist; nil where nobody knows.
    func space(of path: String) throws(DiskError) -> DiskSpace?

    /// SHA-256 (FIPS 180-4), for the names of files that would be too long: the store knows no cryptography. Always the
    /// same function, since it is part of the format.
    func sha256(_ bytes: [UInt8]) -> [UInt8]
    /// The same function for content that comes in pieces.
    func makeContentHash() -> any ContentHash
}

/// The room of a disk.
package struct DiskSpace: Equatable, Sendable {
    /// Bytes that the server can still write.
    package let freeBytes: UInt64
    package let totalBytes: UInt64

    package init(freeBytes: UInt64, totalBytes: UInt64) { (self.freeBytes, self.totalBytes) = (freeBytes, totalBytes) }
}

/// An open file, by a number that its disk gave.
package struct DiskFile: Hashable, Sendable {
    package let id: Int

    package init(id: Int) {
        self.id = id
    }
}

/// A call to the disk that failed.
package struct DiskError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The system's name for the call: `write`, `fdatasync`, `rename` …
    package let call: String
    package let path: String
    /// The system's text.
    package let message: String
    /// No space, or a quota or file-size limit: writing again helps once there is room.
    package let isFull: Bool
    /// The file or folder does not exist.
    package let isMissing: Bool
    /// This user may not do it.
    package let isForbidden: Bool
    /// What the path was to be found in is not what it was any more, so that nothing is known of the file or folder.
    /// Whoever gets such an error stops.
    package let isLost: Bool

    package init(
        call: String, path: String, message: String, isFull: Bool = false, isMissing: Bool = false,
        isForbidden: Bool = false, isLost: Bool = false
    ) {
        self.call = call
        self.path = path
        self.message = message
        self.isFull = isFull
        self.isMissing = isMissing
        self.isForbidden = isForbidden
        self.isLost = isLost
    }

    /// Whether a sync failed: then it is not known whether what was written, or named, is on the disk, and no later
    /// call tells. Whoever gets such an error stops (P8).
    package var isFailedSync: Bool { ["fsync", "fdatasync", "sync_file_range"].contains(call) }

    package var description: String { "\(call) of \(path): \(message)" }
}

extension Disk {
    package func space(of path: String) throws(DiskError) -> DiskSpace? { nil }

    package func giveBack(_ file: DiskFile) { close(file) }

    /// Does nothing, for disks that hold nothing back.
    package func writeBack(_ range: Range<UInt64>, of file: DiskFile) throws(DiskError) {}

    /// Reads a whole file; nil when it does not exist.
    ///
    /// - Parameter limit: The most bytes it may have: a larger file is an error, and is not read.
    func readFile(_ path: String, limit: UInt64 = .max) throws(DiskError) -> [UInt8]? {
        let file: DiskFile
        do throws(DiskError) {
            file = try openForReading(path)
        } catch {
            if error.isMissing { return nil }
            throw error
        }
        defer { close(file) }
        let size = try size(of: file)
        if size > limit {
            throw DiskError(call: "read", path: path, message: "the file has \(size) bytes; at most \(limit) are right")
        }
        let bytes = try read(file, at: 0, length: Int(size))
        if bytes.count != Int(size) {
            throw DiskError(call: "read", path: path, message: "\(bytes.count) of \(size) bytes could be read")
        }
        return bytes
    }

    package func read(
        _ file: DiskFile, at offset: UInt64, into target: UnsafeMutableRawBufferPointer
    ) throws(DiskError) -> Int {
        let bytes = try read(file, at: offset, length: target.count)
        target.copyBytes(from: bytes)
        return bytes.count
    }

    /// Puts a file in place whole, or not at all: written under a temporary name, synced, renamed, folder synced.
    ///
    /// What a crash left under the temporary name is replaced. After an error the file is as it was, unless that is a
    /// failed sync (``DiskError/isFailedSync``).
    package func replaceFile(_ path: String, in folder: String, with bytes: [UInt8]) throws(DiskError) {
        let temporary = path + temporaryFileSuffix
        do throws(DiskError) {
            try remove(temporary)
        } catch {
            if !error.isMissing { throw error }
        }
        let file = try create(temporary)
        do throws(DiskError) {
            defer { close(file) }
            try write(bytes, to: file, at: 0)
            try sync(file)
            try rename(temporary, to: path)
        } catch {
            // What is left of it would take room that a full disk does not have.
            try? remove(temporary)
            throw error
        }
        try syncDirectory(folder)
    }

    /// Reads a small file whole; nil when it does not exist.
    package func readWhole(_ path: String, limit: Int) throws(DiskError) -> [UInt8]? {
        try readFile(path, limit: UInt64(limit))
    }
}

/// The suffix of the names of unfinished files. These mean nothing and are removed.
let temporaryFileSuffix = ".tmp"
