/// Waits for what other threads or processes do, and what says nothing when it is done.
///
/// - Parameters:
///   - what: What is waited for, as a sentence.
///   - seconds: Long, for failures alone.
package func waitUntil(
    _ what: String, seconds: Int = 120, _ condition: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try !condition() {
        guard ContinuousClock.now < deadline else { throw TestFailure("not in \(seconds) s: \(what)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// What `body` comes to, or nil when that takes longer; it is cancelled then.
package func within<Value: Sendable>(
    milliseconds: Int, _ body: @escaping @Sendable () async throws -> Value
) async -> Result<Value, any Error>? {
    await withTaskGroup(of: Result<Value, any Error>?.self) { group in
        group.addTask {
            do { return .success(try await body()) } catch { return .failure(error) }
        }
        group.addTask {
            try? await Task.sleep(for: .milliseconds(milliseconds))
            return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        return first
    }
}
