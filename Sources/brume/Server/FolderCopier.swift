internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// Copies a data folder with a progress bar, and verifies the copy before it counts.
struct FolderCopier {
    private let copy: FolderCopy

    init(of folder: String, _ source: FolderCopy.Source) throws(CommandError) {
        do throws(StoreError) {
            copy = try FolderCopy(of: RealDisk(folder: folder), source, others: DataFolder.backedUpFiles)
        } catch {
            throw Self.commandError(error, folder)
        }
    }

    /// Makes the folder `target`: under a temporary name until it is verified.
    func copy(to target: String, title: String) throws -> Verification {
        let partial = target + ".partial"
        if FileSystem.exists(partial) {
            throw CommandError(
                .conflict, "\(partial) is what an interrupted backup left, or another one makes it now",
                hint: "remove it if none does")
        }
        do {
            let verification = try fill(partial, epoch: nil, title: title)
            try FileSystem.rename(partial, to: target)
            try FileSystem.syncDirectory(FileSystem.directory(of: target))
            return verification
        } catch {
            try? FileManager.default.removeItem(atPath: partial)
            throw error
        }
    }

    /// Fills a folder that is empty or missing, for a server.
    func copy(into folder: String, title: String) throws -> Verification {
        let isNew = !FileSystem.exists(folder)
        do {
            return try fill(folder, epoch: UInt32.random(in: 1 ... .max), title: title)
        } catch {
            // Nothing stood there before.
            for name in (try? FileSystem.list(folder)) ?? [] {
                try? FileManager.default.removeItem(atPath: folder + "/" + name)
            }
            if isNew { try? FileSystem.removeDirectory(folder) }
            throw error
        }
    }

    private func fill(_ target: String, epoch: UInt32?, title: String) throws -> Verification {
        try FileSystem.makeDirectory(target)
        let available = try FileSystem.availableBytes(target)
        guard copy.byteCount < UInt64(available) else {
            throw CommandError(
                .failed,
                "\(copy.byteCount) bytes are to be copied, and the disk of \(target) has room for \(available)",
                hint: "make room, or choose another disk")
        }
        let reporter = ProgressReporter(title: title, total: Int(clamping: copy.byteCount), unit: "bytes")
        do throws(StoreError) {
            try copy.run(to: RealDisk(folder: target), epoch: epoch, salt: UInt64.random(in: 0 ... .max)) { done in
                reporter.advance(to: Int(clamping: done))
            }
        } catch {
            throw Self.commandError(error, target)
        }
        reporter.finish()
        try FileSystem.syncDirectory(FileSystem.directory(of: target))
        return try Self.verify(target)
    }

    func report(_ verification: Verification, at target: String, _ invocation: Invocation) {
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("folder", .string(target)), ("databases", .integer(Int64(verification.databases))),
                    ("records", .integer(Int64(verification.records))),
                    ("bytes", .integer(Int64(clamping: copy.byteCount))),
                ]).line)
        } else {
            Terminal.print(
                "\(target) is verified: \(verification.databases) databases, \(verification.records) records")
        }
    }

    // MARK: Folders

    /// A folder's path without a slash at its end.
    static func path(_ text: String) -> String {
        var text = text
        while text.count > 1, text.hasSuffix("/") { text.removeLast() }
        return text
    }

    /// Keeps servers out while the folder is read; nil for one that can't be written, from which nobody serves.
    static func lock(_ folder: String) throws(CommandError) -> DirectoryLock? {
        do throws(SystemError) {
            return try DirectoryLock(directory: folder)
        } catch {
            if error.isExisting { throw CommandError(.conflict, "another process uses \(folder)") }
            return nil
        }
    }

    /// Checks a folder that nobody uses.
    @discardableResult
    static func verify(_ folder: String) throws(CommandError) -> Verification {
        let verification: Verification
        do throws(DiskError) {
            verification = try Verification(of: RealDisk(folder: folder))
        } catch {
            throw commandError(.disk(error), folder)
        }
        if let problem = verification.problems.first {
            throw CommandError(
                .damaged, "\(folder)/\(problem.file) at \(problem.offset): \(problem.problem)",
                hint: "brume verify \(folder) tells everything that is damaged")
        }
        return verification
    }

    private static func commandError(_ error: StoreError, _ folder: String) -> CommandError {
        switch error {
        case .disk(let error): CommandError(.failed, "\(folder): \(error)")
        case .damaged, .unknownVersion: CommandError(.damaged, "\(folder): \(error)")
        }
    }
}
