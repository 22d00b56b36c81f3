internal import BrumeSystem
internal import Foundation

/// SIGTERM and SIGINT end a server in order, a second one at once. SIGHUP has it read again what it can, where it can,
/// and else ends it as they do.
enum StopSignals {
    /// To be called on the main thread before any other thread is made, since threads inherit what is blocked.
    static func block() {
        var signals = stopSignals()
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A peer that is gone, and a file at its size limit, are errors of calls, not ends of the process.
        signal(SIGPIPE, SIG_IGN)
        // Ignored, as whoever starts this may have left it, it would hide how a child process ended.
        signal(SIGCHLD, SIG_DFL)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Calls `stop` at the first signal, on a thread of its own.
    ///
    /// - Parameter reload: Called at SIGHUP, on the same thread; nil: it is a signal to stop.
    static func watch(reload: (@Sendable () -> Void)? = nil, _ stop: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            wait(reload)
            stop()
            let received = wait(reload)
            TemporaryFolder.removeAll()
            _exit(128 + received)
        }
    }

    /// Waits for a signal to stop.
    @discardableResult
    private static func wait(_ reload: (() -> Void)?) -> Int32 {
        var signals = stopSignals()
        var received: Int32 = 0
        while true {
            while sigwait(&signals, &received) != 0 {}
            guard received == SIGHUP, let reload else { return received }
            reload()
        }
    }

    /// Calls `stop` when the standard input ends: whoever started this process is gone, or wants it to end.
    static func watchStandardInput(_ stop: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            var byte: UInt8 = 0
            while true {
                let count = read(Terminal.standardInput, &byte, 1)
                if count == 0 || (count < 0 && errno != EINTR) { break }
            }
            stop()
        }
    }

    private static func stopSignals() -> sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGHUP)
        return signals
    }
}
