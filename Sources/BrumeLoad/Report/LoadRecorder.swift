internal import BrumeModel

/// Counts a thread's operations since the measurement began, and since the last sample.
struct LoadRecorder {
    /// Operations that were due before this time do not count.
    private var measuredFromNanoseconds: UInt64 = 0
    private(set) var total = LoadFigures()
    private var sample = LoadFigures()

    /// The warm-up is over.
    mutating func begin(at nowNanoseconds: UInt64) {
        measuredFromNanoseconds = nowNanoseconds
        total = LoadFigures()
        sample = LoadFigures()
    }

    mutating func succeeded(_ operation: LoadOperation, from: UInt64, to now: UInt64, records: Int = 0) {
        if from < measuredFromNanoseconds { return }
        let nanoseconds = now > from ? now - from : 0
        total.succeeded(operation, nanoseconds: nanoseconds, records: records)
        sample.succeeded(operation, nanoseconds: nanoseconds, records: records)
    }

    mutating func failed(_ operation: LoadOperation, from: UInt64, _ failure: LoadFailure) {
        if from < measuredFromNanoseconds { return }
        total.failed(operation, code: failure.code, text: failure.text)
        sample.failed(operation, code: failure.code, text: failure.text)
    }

    mutating func takeSample() -> LoadFigures {
        defer { sample = LoadFigures() }
        return sample
    }
}

/// Why an operation failed.
struct LoadFailure: Error {
    let code: String
    let message: String

    var text: String { message.isEmpty ? code : "\(code): \(message)" }

    init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: ServiceError) {
        self.init(code: error.code.name, message: error.message)
    }

    static func lost(_ reason: String) -> LoadFailure { LoadFailure(code: "connection lost", message: reason) }
}
