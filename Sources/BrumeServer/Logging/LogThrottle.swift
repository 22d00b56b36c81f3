/// Lets a number of lines a second through and counts the rest, so that a peer who does wrong a million times does not
/// fill the operator's disk.
struct LogThrottle {
    private let linesPerSecond: Int
    private var windowNanoseconds: UInt64 = 0
    private var lines = 0
    private var suppressed = 0

    init(linesPerSecond: Int) {
        self.linesPerSecond = linesPerSecond
    }

    /// Whether a line may be written now, and how many were left out before it; nil: not now.
    mutating func admit(nowNanoseconds: UInt64) -> Int? {
        if nowNanoseconds - windowNanoseconds >= 1_000_000_000 {
            windowNanoseconds = nowNanoseconds
            lines = 0
        }
        guard lines < linesPerSecond else {
            suppressed += 1
            return nil
        }
        lines += 1
        defer { suppressed = 0 }
        return suppressed
    }
}
