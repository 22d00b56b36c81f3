internal import BrumeLock
internal import BrumeSystem
internal import Glibc

/// A ``ProgressBar`` on stderr that any thread may advance.
final class ProgressReporter: Sendable {
    private let bar: Lock<ProgressBar>

    init(title: String, total: Int, unit: String) {
        let bar = ProgressBar(
            title: title, total: UInt64(max(0, total)), unit: unit,
            isTerminal: Terminal.isTerminal(Terminal.standardError), nowNanoseconds: MonotonicClock.nowNanoseconds)
        self.bar = Lock(bar)
    }

    func advance(to done: Int, count: Int? = nil) {
        bar.withLock { bar in
            let line = bar.advanced(
                to: UInt64(done), count: count.map { UInt64($0) }, nowNanoseconds: MonotonicClock.nowNanoseconds,
                columns: bar.isTerminal ? Terminal.columns(Terminal.standardError) : 80)
            if let line { Terminal.write(line, to: Terminal.standardError) }
        }
    }

    func finish() {
        bar.withLock { Terminal.write($0.finished(), to: Terminal.standardError) }
    }
}
