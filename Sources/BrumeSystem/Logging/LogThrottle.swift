/// Lets a number of lines a second through and counts the rest, so that a peer that misbehaves a million times does not
/// fill the operator's disk.
package struct LogThrottle {
    private let linesPerSecond: Int
    private var windowNanoseconds: UInt64 = 0
    private var lines = 0
    private var suppressed = 0

    package init(linesPerSecond: Int) {
        self.linesPerSecond = linesPerSecond
    }

    /// Returns how many lines were left out before this one if it may be written now; nil if it may not.
    package mutating func admit(nowNanoseconds: UInt64) -> Int? {
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
