internal import BrumeTestKit
internal import Glibc

/// Says which seeds were running when this process crashes: of a hundred thousand the one that stops a server is the
/// one to keep.
enum CrashNote {
    /// The signals of traps and of memory that can't be reached.
    private static let signals = [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE]
    /// Room for the text of one thread.
    private static let room = 64
    /// A handler may call next to nothing, so the texts stand there before: one for each thread.
    private nonisolated(unsafe) static let text = UnsafeMutablePointer<CChar>.allocate(
        capacity: room * SimulationSeries.threadsLimit)
    private nonisolated(unsafe) static let lengths = UnsafeMutablePointer<Int>.allocate(
        capacity: SimulationSeries.threadsLimit)
    /// Swift's own handlers, which say where it crashed.
    private nonisolated(unsafe) static let former = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)

    static func install() {
        lengths.initialize(repeating: 0, count: SimulationSeries.threadsLimit)
        for signal in signals {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { signal in
                for thread in 0..<SimulationSeries.threadsLimit where CrashNote.lengths[thread] > 0 {
                    _ = write(
                        STDERR_FILENO, CrashNote.text + thread * CrashNote.room, CrashNote.lengths[thread])
                }
                // Back where it crashed, it crashes again, with the handler that there was before.
                sigaction(signal, CrashNote.former + Int(signal), nil)
                raise(signal)
            }
            sigaction(signal, &action, former + Int(signal))
        }
    }

    /// Notes which seed a thread runs from now on.
    static func note(_ seed: UInt64, thread: Int) {
        var length = 0
        for byte in "seed \(seed) runs in a process that crashes\n".utf8.prefix(room) {
            text[thread * room + length] = CChar(bitPattern: byte)
            length += 1
        }
        lengths[thread] = length
    }
}
