internal import Glibc

/// Says which seed was running when this process crashes: of a hundred thousand the one that stops a server is the one
/// to keep.
enum CrashNote {
    /// The signals of traps and of memory that can't be reached.
    private static let signals = [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE]
    /// A handler may call next to nothing, so the text stands there before.
    private nonisolated(unsafe) static let text = UnsafeMutablePointer<CChar>.allocate(capacity: 64)
    private nonisolated(unsafe) static var length = 0
    /// Swift's own handlers, which say where it crashed.
    private nonisolated(unsafe) static let former = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)

    static func install() {
        for signal in signals {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { signal in
                _ = write(STDERR_FILENO, CrashNote.text, CrashNote.length)
                // Back where it crashed, it crashes again, with the handler that there was before.
                sigaction(signal, CrashNote.former + Int(signal), nil)
                raise(signal)
            }
            sigaction(signal, &action, former + Int(signal))
        }
    }

    static func note(_ seed: UInt64) {
        length = 0
        for byte in "seed \(seed) crashes:\n".utf8.prefix(64) {
            text[length] = CChar(bitPattern: byte)
            length += 1
        }
    }
}
