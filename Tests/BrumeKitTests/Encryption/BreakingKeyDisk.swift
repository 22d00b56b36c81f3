import BrumeSystem

@testable import BrumeKit

/// What a test breaks: one step, of all that touch the disk or the server.
final class Steps: @unchecked Sendable {
    enum Fault: CaseIterable {
        /// Nothing happens, and it fails.
        case before
        /// It happens, and fails all the same.
        case after
        /// A file is half written under its temporary name; a call does not reach the server.
        case torn
    }

    /// The process ended, or the call's answer was lost.
    struct Broken: Error {}

    /// Steps that there were. One thread counts at a time: the tests that count use no other.
    private(set) var count = 0
    var fault: (step: Int, kind: Fault)?

    /// The fault of the step that begins now.
    func next() -> Fault? {
        defer { count += 1 }
        return fault.flatMap { $0.step == count ? $0.kind : nil }
    }
}

/// A disk of which one step fails. It syncs nothing: there are thousands of steps, and no power failure.
struct BreakingKeyDisk: KeyDisk {
    let steps: Steps
    private let disk = RealKeyDisk()

    init(steps: Steps) { self.steps = steps }

    func read(_ path: String, bytesLimit: Int) throws(SystemError) -> [UInt8]? {
        try disk.read(path, bytesLimit: bytesLimit)
    }

    func readHead(_ path: String, byteCount: Int) throws(SystemError) -> [UInt8]? {
        try disk.readHead(path, byteCount: byteCount)
    }

    func replace(_ path: String, _ bytes: [UInt8]) throws(SystemError) {
        try step(
            path, torn: { () throws(SystemError) in try write(Array(bytes.prefix(bytes.count / 2)), path + ".tmp") },
            { () throws(SystemError) in
                try write(bytes, path + ".tmp")
                try FileSystem.rename(path + ".tmp", to: path)
            })
    }

    private func write(_ bytes: [UInt8], _ path: String) throws(SystemError) {
        try FileSystem.removeTree(path)
        let file = try File(path: path, mode: .createExclusively)
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(SystemError) in try file.write(buffer, at: 0) }
        }
        try result.get()
    }

    func remove(_ path: String) throws(SystemError) {
        try step(path) { () throws(SystemError) in try FileSystem.removeTree(path) }
    }

    func makeFolders(_ paths: [String]) throws(SystemError) {
        try step(paths[0]) { () throws(SystemError) in
            for path in paths { try FileSystem.makeDirectory(path) }
        }
    }

    private func step(
        _ path: String, torn: () throws(SystemError) -> Void = {}, _ body: () throws(SystemError) -> Void
    ) throws(SystemError) {
        switch steps.next() {
        case nil: return try body()
        case .before: break
        case .after: try body()
        case .torn: try torn()
        }
        throw SystemError(call: "fsync", errno: 5, context: path)
    }
}
