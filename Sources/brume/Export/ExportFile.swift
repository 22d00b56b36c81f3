internal import BrumeSystem
internal import Foundation

/// The target of an export: a file that gets its name once it is complete and on the disk, or the standard output.
final class ExportFile {
    /// What is gathered before it is written.
    private static let bufferBytes = 256 * 1024

    private let path: String
    private let partial: String
    /// The partial file; nil for the standard output.
    private let file: File?
    private var buffer: [UInt8] = []
    private var offset = 0

    /// Makes the file, readable by its owner only; one that exists is not overwritten.
    init(_ path: String) throws {
        self.path = path
        partial = path + ".partial"
        if path == "-" {
            file = nil
            return
        }
        if FileSystem.exists(path) {
            throw CommandError(.conflict, "\(path) exists", hint: "choose another name: nothing is overwritten")
        }
        do throws(SystemError) {
            file = try File(path: partial, mode: .createExclusively)
        } catch {
            if error.isExisting {
                throw CommandError(
                    .conflict, "\(partial) is what an interrupted export left, or another one makes it now",
                    hint: "remove it if none does")
            }
            throw CommandError(writing: path, error)
        }
    }

    func write(_ line: ExportLine) throws {
        buffer += Array((line.json.line + "\n").utf8)
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    func finish() throws {
        try flush()
        guard let file else { return }
        try file.sync()
        file.close()
        try FileSystem.rename(partial, to: path)
        try FileSystem.syncDirectory(FileSystem.directory(of: path))
    }

    /// Removes what was written.
    func discard() {
        guard let file else { return }
        file.close()
        try? FileSystem.remove(partial)
    }

    private func flush() throws {
        if buffer.isEmpty { return }
        if let file {
            let result = buffer.withUnsafeBytes { bytes in
                Result { () throws(SystemError) in try file.write(bytes, at: offset) }
            }
            try result.get()
        } else {
            Terminal.write(String(decoding: buffer, as: UTF8.self))
        }
        offset += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }
}
