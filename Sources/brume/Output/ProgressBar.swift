/// Shows the progress of long work on stderr: a bar on a terminal, otherwise a line every few seconds.
///
/// Computes lines from the counts and times that it is given; ``ProgressReporter`` writes them.
struct ProgressBar {
    let title: String
    let total: UInt64
    /// What is counted, such as "records".
    let unit: String
    let isTerminal: Bool
    private let startNanoseconds: UInt64
    private var shownNanoseconds: UInt64?

    /// The unit whose counts are shown in KiB, MiB and so on.
    static let bytes = "bytes"
    /// The shortest time between two redraws on a terminal: more would flicker.
    static let redrawNanoseconds: UInt64 = 100_000_000
    /// The shortest time between two lines elsewhere: enough to see in a log that it is alive.
    static let lineNanoseconds: UInt64 = 5_000_000_000

    init(title: String, total: UInt64, unit: String, isTerminal: Bool, nowNanoseconds: UInt64) {
        self.title = title
        self.total = total
        self.unit = unit
        self.isTerminal = isTerminal
        startNanoseconds = nowNanoseconds
        shownNanoseconds = isTerminal ? nil : nowNanoseconds
    }

    /// What to write now that `done` is reached, or nil. `count` is what the rate counts when it isn't `done` itself.
    mutating func advanced(to done: UInt64, count: UInt64? = nil, nowNanoseconds: UInt64, columns: Int) -> String? {
        let interval = isTerminal ? Self.redrawNanoseconds : Self.lineNanoseconds
        if let shownNanoseconds, nowNanoseconds < shownNanoseconds + interval { return nil }
        shownNanoseconds = nowNanoseconds
        return line(done: done, count: count ?? done, nowNanoseconds: nowNanoseconds, columns: columns)
    }

    /// What to write at the end: erases the bar, so that the summary takes its place.
    func finished() -> String { isTerminal ? "\r\u{1B}[K" : "" }

    private func line(done: UInt64, count: UInt64, nowNanoseconds: UInt64, columns: Int) -> String {
        let fraction = total == 0 ? 1 : min(1, Double(done) / Double(total))
        let seconds = Double(nowNanoseconds - startNanoseconds) / 1e9
        let rate = seconds > 0 ? UInt64(Double(count) / seconds) : 0
        let percent = String(Int(fraction * 100))
        let right = "\(percent)% \(text(count)), \(unit == Self.bytes ? text(rate) : "\(rate)")/s"
        guard isTerminal else { return "\(title): \(right)\n" }
        let width = min(40, columns - title.count - right.count - 5)
        guard width >= 8 else { return "\r\u{1B}[K\(title) \(right)" }
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\r\u{1B}[K\(title) \(bar) \(right)"
    }

    private func text(_ count: UInt64) -> String {
        unit == Self.bytes ? ByteSize(bytes: Int(clamping: count)).rounded : "\(count) \(unit)"
    }
}
