internal import BrumeSystem
internal import Foundation

/// SIGTERM and SIGINT shut a server down cleanly, a second one ends it at once. SIGHUP makes it reload what it can; a
/// server without a reload shuts down as for the others.
enum StopSignals {
    /// Blocks the signals. To be called on the main thread before any other thread is made, since threads inherit the
    /// mask.
    static func block() {
        var signals = stopSignals()
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A closed peer, or a file at its size limit, has to fail the call and not end the process.
        signal(SIGPIPE, SIG_IGN)
        // The parent process may have left it ignored, which would hide how a child process ended.
        signal(SIGCHLD, SIG_DFL)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Calls `stop` at the first signal, on a separate thread.
    ///
    /// - Parameter reload: Called at SIGHUP, on the same thread; nil makes SIGHUP a signal to stop.
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

    /// Calls `stop` when the standard input ends: the process that started this one is gone, or wants it to end.
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
