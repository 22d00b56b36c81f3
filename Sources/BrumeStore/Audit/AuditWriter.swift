/// Writes the audit log of a folder: see ``AuditFile`` for its files and ``AuditEntry`` for its lines.
///
/// One thread at a time.
package final class AuditWriter {
    private let disk: any Disk
    private let limits: AuditLimits
    /// The files that there are, oldest first.
    private var paths: [String]
    /// How much of the last file is entries; nil where the next entry belongs into another file.
    private var byteCount: UInt64?
    /// The last line as it was found, which may not be durable: the process that wrote it may have ended because a sync
    /// failed, and no later sync writes what that one has not. Nil once it was written anew.
    private var foundLine: (path: String, offset: UInt64, bytes: [UInt8])?
    /// The sync that failed: nothing is added behind it.
    private var failedSync: DiskError?
    /// The last entry's number; 0 for none.
    package private(set) var lastNumber: UInt64 = 0
    /// The hash of the last entry's line.
    package private(set) var lastHash = AuditEntry.noHash

    /// Reads where the log ends. Writes nothing.
    ///
    /// What stands before the last whole entry is not looked at: ``AuditVerification`` does that.
    package init(on disk: any Disk, limits: AuditLimits = AuditLimits()) throws(DiskError) {
        (self.disk, self.limits) = (disk, limits)
        let files = try AuditFile.list(on: disk)
        paths = files.map(\.path)
        // The last file may have no whole entry, and then the one before it has the last.
        for (first, path) in files.reversed() {
            let lines = try AuditLines(path, on: disk)
            guard let last = lines.whole.last else {
                lastNumber = max(lastNumber, first - 1)
                continue
            }
            // By its place: a line that was changed must not decide on the numbers of those to come.
            lastNumber = max(lastNumber, first + UInt64(lines.whole.count) - 1)
            lastHash = disk.sha256(Array(last))
            foundLine = (path, UInt64(last.startIndex), Array(last) + [UInt8(ascii: "\n")])
            if path == paths.last, lines.isWhole { byteCount = UInt64(lines.byteCount) }
            break
        }
    }

    /// Adds an entry, which is durable when this returns.
    ///
    /// - Returns: Its number.
    /// - Throws: Where it was not added. After a failed sync (``DiskError/isFailedSync``) nobody knows whether it was,
    ///   and this throws the same from then on.
    package func append(_ event: AuditEntry.Event, milliseconds: Int64) throws(DiskError) -> UInt64 {
        if let failedSync { throw failedSync }
        do throws(DiskError) {
            return try write(event, milliseconds: milliseconds)
        } catch {
            if error.isFailedSync { failedSync = error }
            throw error
        }
    }

    private func write(_ event: AuditEntry.Event, milliseconds: Int64) throws(DiskError) -> UInt64 {
        let entry = AuditEntry(
            number: lastNumber + 1, previous: lastHash, milliseconds: milliseconds, event: event)
        let line = entry.line
        let bytes = line + [UInt8(ascii: "\n")]
        try writeFoundLine()
        let (file, offset): (DiskFile, UInt64)
        if let opened = try open(toAdd: UInt64(bytes.count)) {
            (file, offset) = opened
        } else {
            (file, offset) = (try begin(with: entry.number), 0)
        }
        defer { disk.close(file) }
        // Where this fails part of the line may be there: the next one goes into another file.
        byteCount = nil
        try disk.write(bytes, to: file, at: offset)
        try disk.sync(file)
        byteCount = offset + UInt64(bytes.count)
        (lastNumber, lastHash) = (entry.number, disk.sha256(line))
        return entry.number
    }

    /// Makes the line durable that was found last, before another one stands behind it.
    private func writeFoundLine() throws(DiskError) {
        guard let (path, offset, bytes) = foundLine else { return }
        let file: DiskFile
        do throws(DiskError) {
            file = try disk.openForWriting(path)
        } catch {
            guard error.isMissing else { throw error }
            foundLine = nil
            return
        }
        defer { disk.close(file) }
        try disk.write(bytes, to: file, at: offset)
        try disk.sync(file)
        foundLine = nil
    }

    /// Opens the last file where it has room for so many bytes. It is opened for each entry: of a file that was removed
    /// meanwhile nothing that is written would be found.
    private func open(toAdd count: UInt64) throws(DiskError) -> (file: DiskFile, offset: UInt64)? {
        guard let byteCount, let path = paths.last, byteCount + count <= limits.fileBytes else { return nil }
        let file: DiskFile
        do throws(DiskError) {
            file = try disk.openForWriting(path)
        } catch {
            if error.isMissing { return nil }
            throw error
        }
        do throws(DiskError) {
            if try disk.size(of: file) == byteCount { return (file, byteCount) }
        } catch {
            disk.close(file)
            throw error
        }
        // Somebody else has written there.
        disk.close(file)
        return nil
    }

    /// Begins a file, and removes the oldest where there are too many.
    private func begin(with number: UInt64) throws(DiskError) -> DiskFile {
        try disk.makeDirectory(AuditFile.folder)
        try disk.syncDirectory("")
        let path = AuditFile.path(ofFirst: number)
        // One of the same number has no whole entry.
        if paths.last == path { try remove(paths.removeLast()) }
        let file = try disk.create(path)
        paths.append(path)
        do throws(DiskError) {
            try disk.syncDirectory(AuditFile.folder)
            // One after the other: a power cut must not bring back one that is older than one that went.
            while paths.count > limits.files {
                try remove(paths.removeFirst())
                try disk.syncDirectory(AuditFile.folder)
            }
        } catch {
            disk.close(file)
            throw error
        }
        return file
    }

    private func remove(_ path: String) throws(DiskError) {
        do throws(DiskError) {
            try disk.remove(path)
        } catch {
            if !error.isMissing { throw error }
        }
    }
}

/// How much of the audit log is kept.
package struct AuditLimits: Sendable {
    /// A file that would become larger is followed by another one.
    package var fileBytes: UInt64 = 16 * 1024 * 1024
    /// So many files are kept, and the oldest go: a gigabyte, which is 400 days of some 3,700 acts each.
    package var files = 64

    package init() {}
}

/// The lines of a file of the audit log.
struct AuditLines {
    /// Those that were finished, without their newlines.
    let whole: [ArraySlice<UInt8>]
    /// Whether nothing stands behind the last of them.
    let isWhole: Bool
    let byteCount: Int

    /// The number of the line that is no whole entry, from 1 on.
    var unfinishedLine: Int? { isWhole ? nil : whole.count + 1 }

    /// - Throws: Also where the file is larger than any is.
    init(_ path: String, on disk: any Disk) throws(DiskError) {
        let bytes = try disk.readFile(path, limit: AuditLimits().fileBytes) ?? []
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var isWhole = lines.removeLast().isEmpty
        // A power cut may leave the end of what was written last, and not its beginning.
        if isWhole, let last = lines.last, AuditEntry(line: Array(last)) == nil {
            lines.removeLast()
            isWhole = false
        }
        (whole, self.isWhole, byteCount) = (lines, isWhole, bytes.count)
    }
}
