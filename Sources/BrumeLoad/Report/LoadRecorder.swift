internal import BrumeModel
internal import BrumeSystem

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
    let cause: LoadRun.Problem.Cause

    var text: String { message.isEmpty ? code : "\(code): \(message)" }

    init(code: String, message: String, cause: LoadRun.Problem.Cause = .connection) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    init(_ error: ServiceError) {
        self.init(code: error.code.name, message: error.message, cause: .service(error.code))
    }

    static func lost(_ reason: String) -> LoadFailure { LoadFailure(code: "connection lost", message: reason) }

    static func closed(_ reason: CloseReason) -> LoadFailure {
        guard case .handshakeFailed = reason else { return lost(reason.description) }
        return LoadFailure(code: "connection lost", message: reason.description, cause: .handshake)
    }
}
