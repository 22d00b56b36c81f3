internal import Glibc

/// The reading end of a pipe that a ``ChildProcess`` writes to. Reads block; the end comes when all writers have closed
/// it.
///
/// `@unchecked Sendable`: one thread at a time reads, which need not be the one that made the process.
package final class PipeReader: @unchecked Sendable {
    /// The most bytes that are held: a longer line is returned in pieces, a longer text is cut.
    private static let bytesMax = 16 * 1024 * 1024

    private let fd: Int32
    private var buffer: [UInt8] = []
    private var chunk = [UInt8](repeating: 0, count: 65_536)

    /// Takes ownership of the descriptor.
    init(fd: Int32) {
        self.fd = fd
    }

    deinit { SystemCall.close(fd) }

    /// The next line, without its end. Text after the last line end is a line, too.
    ///
    /// - Parameter timeoutMilliseconds: How long to wait; nil waits until there is a line.
    /// - Returns: The line, or nil when there is none in time, and at the end.
    package func readLine(timeoutMilliseconds: Int? = nil) -> String? {
        let deadline = timeoutMilliseconds.map { MonotonicClock.nowNanoseconds + UInt64($0) * 1_000_000 }
        var searched = 0
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                defer { buffer.removeSubrange(...end) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            searched = buffer.count
            if buffer.count >= Self.bytesMax { return takeRest() }
            switch read(deadline: deadline) {
            case .some: continue
            case .late: return nil
            case .end: return buffer.isEmpty ? nil : takeRest()
            }
        }
    }

    /// The rest of the text, cut after 16 MiB.
    package func readToEnd() -> String {
        while case .some = read(deadline: nil) {
            if buffer.count > Self.bytesMax { buffer.removeSubrange(Self.bytesMax...) }
        }
        return takeRest()
    }

    private enum Outcome {
        case some
        case late
        case end
    }

    /// Waits for bytes and appends them.
    private func read(deadline: UInt64?) -> Outcome {
        while true {
            if let deadline {
                let now = MonotonicClock.nowNanoseconds
                guard now < deadline else { return .late }
                var entry = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
                // Rounded up, so that the loop never spins without waiting.
                guard poll(&entry, 1, Int32(clamping: (deadline - now) / 1_000_000 + 1)) > 0 else { continue }
            }
            // An error has nothing left to read.
            let count = (try? SystemCall.run("read") { Glibc.read(fd, &chunk, chunk.count) }) ?? 0
            if count > 0 { buffer += chunk[..<count] }
            return count > 0 ? .some : .end
        }
    }

    private func takeRest() -> String {
        defer { buffer = [] }
        return String(decoding: buffer, as: UTF8.self)
    }
}
