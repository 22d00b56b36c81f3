internal import BrumeSystem

/// What a service manager is told while a server reads its data folder for long: a start that goes on is not given up,
/// and one that stands still is, when the time of the unit is over.
struct LongStart {
    /// How often the manager is told.
    static let pauseMilliseconds = 10_000
    /// What a start gets each time: several of these pauses.
    private static let extensionMicroseconds: UInt64 = 120_000_000
    /// The processor time by which reading is told from waiting for a disk that does not answer.
    private static let progressNanoseconds: UInt64 = 20_000_000

    private let beganNanoseconds: UInt64
    private var cpuNanoseconds: UInt64

    init(nowNanoseconds: UInt64, cpuNanoseconds: UInt64) {
        (beganNanoseconds, self.cpuNanoseconds) = (nowNanoseconds, cpuNanoseconds)
    }

    /// - Parameter cpuNanoseconds: The processor time that the process has used.
    mutating func look(nowNanoseconds: UInt64, cpuNanoseconds: UInt64) -> [ServiceNotifier.State] {
        let seconds = (nowNanoseconds - beganNanoseconds) / 1_000_000_000
        let sentence = "reading the data folder, for \(seconds) s so far"
        let goesOn = cpuNanoseconds >= self.cpuNanoseconds + Self.progressNanoseconds
        self.cpuNanoseconds = cpuNanoseconds
        return goesOn
            ? [.extendedTimeout(microseconds: Self.extensionMicroseconds), .status(sentence)]
            : [.status(sentence + "; it waits for the disk")]
    }
}
