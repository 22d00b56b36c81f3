internal import BrumeLock
internal import BrumeServer
internal import BrumeService
package import BrumeSystem

/// Lines that any thread adds, such as those of a server's log.
package final class Lines: Sendable {
    private let lines = Lock<[String]>([])

    package init() {}

    package func add(_ line: String) { lines.withLock { $0.append(line) } }

    /// A log whose lines come here.
    package func log(minimum: Log.Level) -> Log { Log(minimum: minimum) { [self] in add($0) } }

    package var all: [String] { lines.withLock { $0 } }
    package var text: String { all.joined(separator: "\n") }

    /// Waits for a line.
    package func wait(forLine line: String) async throws {
        try await waitUntil("there is the line \"\(line)\"") { all.contains(line) }
    }

    /// Waits for a line with `text`.
    package func wait(for text: String) async throws {
        try await waitUntil("a line says \"\(text)\"") { all.contains { $0.contains(text) } }
    }
}
