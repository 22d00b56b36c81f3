/// What became of the calls of one method.
package struct MethodFigures: Equatable, Sendable {
    /// The method's number on the wire.
    package var method: UInt32
    /// Service and method as `proto/` names them, such as `Records.Modify`; empty while nobody has named it.
    package var name: String
    /// Calls that ended with an answer, with or without success.
    package var ended: UInt64 = 0
    /// Calls that the client cancelled, or whose connection ended first.
    package var cancelled: UInt64 = 0
    /// Failures among those that ended, by code.
    package var failures: [ErrorCode: UInt64] = [:]
    /// The time from a request's arrival to its answer, for calls that ended. Streams, which end when a device leaves,
    /// are left out.
    package var latencyNanoseconds = Histogram()

    package init(method: UInt32, name: String = "") {
        self.method = method
        self.name = name
    }

    /// All failures.
    package var failureCount: UInt64 { failures.values.reduce(0, +) }

    /// Adds what another part of the server counted for the same method.
    package mutating func add(_ other: MethodFigures) {
        if name.isEmpty { name = other.name }
        ended += other.ended
        cancelled += other.cancelled
        failures.merge(other.failures) { $0 + $1 }
        latencyNanoseconds.merge(other.latencyNanoseconds)
    }

    /// What was counted since an earlier look at the same server.
    package func since(_ earlier: MethodFigures) -> MethodFigures {
        guard ended >= earlier.ended, cancelled >= earlier.cancelled else { return self }
        var difference = MethodFigures(method: method, name: name)
        difference.ended = ended - earlier.ended
        difference.cancelled = cancelled - earlier.cancelled
        for (code, count) in failures {
            let before = earlier.failures[code] ?? 0
            if count > before { difference.failures[code] = count - before }
        }
        difference.latencyNanoseconds = latencyNanoseconds.since(earlier.latencyNanoseconds)
        return difference
    }
}
