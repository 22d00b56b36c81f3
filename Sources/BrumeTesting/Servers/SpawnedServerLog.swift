internal import BrumeLock
internal import BrumeSystem
internal import Foundation

/// What a spawned server logs: the line that says that it serves, and the last ones for errors.
final class SpawnedServerLog: Sendable {
    private struct State {
        var isServing: Bool?
        var lines: [String] = []
    }

    /// For messages: more than a start that failed says.
    private static let linesMax = 20

    private let forwards: Bool
    private let state = Lock(State())
    private let changed = DispatchSemaphore(value: 0)

    init(forwards: Bool) {
        self.forwards = forwards
    }

    /// To the end of the process, so that it never waits for a reader.
    func read(_ output: PipeReader) {
        while let line = output.readLine() {
            if forwards { Self.forward(line) }
            take(line)
        }
        settle(isServing: false)
    }

    /// In one call where the kernel takes all, so that lines of several servers stay whole.
    private static func forward(_ line: String) {
        var rest = Array("\(line)\n".utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return }
        }
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
