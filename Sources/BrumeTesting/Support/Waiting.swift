/// Waits for something that may never happen.
///
/// - Parameters:
///   - timeout: Of real time: what is waited for goes by a connection, or by a clock that nobody may turn.
///   - situation: Asked when the time is over: what was waited for, and how things stand.
///   - body: Ends when its task is cancelled.
/// - Throws: ``TestServerError`` with the situation when the time is over; what the body throws.
func wait(
    atMost timeout: Duration, _ situation: @escaping @Sendable () -> String,
    _ body: @escaping @Sendable () async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Bool.self) { group in
        defer { group.cancelAll() }
        group.addTask {
            try await body()
            return true
        }
        group.addTask {
            try await Task.sleep(for: timeout)
            return false
        }
        if try await group.next() == false { throw TestServerError("\(situation()), after \(timeout)") }
    }
}
