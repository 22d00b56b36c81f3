internal import Foundation
internal import Synchronization

/// `brume serve` as a process of its own, which never outlives this one: it ends with its standard input.
///
/// `@unchecked Sendable`: the process is signalled and waited for by whoever has the owner's lock.
final class SpawnedServer: @unchecked Sendable {
    private let process = Process()
    private let input = Pipe()
    private let errors = Pipe()
    private let log: ServerLog

    /// Starts it, and returns when it serves.
    ///
    /// - Parameter forwardsLog: Its lines are written to the standard error output.
    init(executable: URL, arguments: [String], forwardsLog: Bool) throws(TestServerError) {
        log = ServerLog(forwards: forwardsLog)
        process.executableURL = executable
        process.arguments = arguments
        // None of the settings of whoever runs the tests.
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("BRUME_") }
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors
        do {
            try process.run()
        } catch {
            throw TestServerError("\(executable.path) can't be started: \(error.localizedDescription)")
        }
        let (handle, log) = (errors.fileHandleForReading, log)
        Thread.detachNewThread { log.read(handle) }
        guard log.waitUntilServing() else {
            kill()
            throw TestServerError(
                "\(executable.lastPathComponent) did not serve within \(Int(TestLimits.processSeconds)) s, or ended: "
                    + log.lastLines)
        }
    }

    /// Stops it in order: calls in flight end, and everything is on disk.
    func stop() {
        process.terminate()
        process.waitUntilExit()
        try? input.fileHandleForWriting.close()
    }

    /// Ends it at once, as a crash or a power cut of its machine's process would.
    func kill() {
        if process.isRunning { _ = Glibc.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        try? input.fileHandleForWriting.close()
    }
}

/// What a spawned server logs: the line that says that it serves, and the last ones for errors.
private final class ServerLog: Sendable {
    private struct State {
        var isServing: Bool?
        var lines: [String] = []
    }

    /// For messages: more than a start that failed says.
    private static let linesMax = 20
    /// A line of ours has a fraction of it.
    private static let lineBytesMax = 64 * 1024

    private let forwards: Bool
    private let state = Mutex(State())
    private let changed = DispatchSemaphore(value: 0)

    init(forwards: Bool) {
        self.forwards = forwards
    }

    /// To the end of the process, so that it never waits for a reader.
    func read(_ handle: FileHandle) {
        var line: [UInt8] = []
        // What is there; a read of a count would wait for so much.
        while case let bytes = handle.availableData, !bytes.isEmpty {
            if forwards { FileHandle.standardError.write(bytes) }
            for byte in bytes {
                if byte == 0x0A {
                    take(String(decoding: line, as: UTF8.self))
                    line = []
                } else if line.count < Self.lineBytesMax {
                    line.append(byte)
                }
            }
        }
        settle(isServing: false)
    }

    private func take(_ line: String) {
        state.withLock { state in
            state.lines.append(line)
            if state.lines.count > Self.linesMax { state.lines.removeFirst() }
        }
        if line.contains(" info serving ") { settle(isServing: true) }
    }

    private func settle(isServing: Bool) {
        let isNew = state.withLock { state in
            defer { state.isServing = state.isServing ?? isServing }
            return state.isServing == nil
        }
        if isNew { changed.signal() }
    }

    func waitUntilServing() -> Bool {
        _ = changed.wait(timeout: .now() + TestLimits.processSeconds)
        return state.withLock { $0.isServing } ?? false
    }

    var lastLines: String {
        state.withLock { $0.lines }.joined(separator: "\n")
    }
}
