internal import BrumeKit
internal import BrumeLock

/// Runs `body` with names that are the same in every run: records, subscriptions and shares that the app does not name
/// itself are named `00000000-0000-0000-0000-000000000001`, `…2` and so on, instead of by random UUIDs.
///
/// ``TestServer/run(accounts:options:isolation:_:)`` does it by itself with ``TestServer/Options/isPredictable``; use
/// this function in tests that start their server another way, or have none. It applies to the body and to the tasks
/// that the body starts, but not to detached tasks. Code that runs at the same time gets its names in no fixed order:
/// create those records one after the other.
public func withPredictableNames<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
) async rethrows -> Result {
    let count = Lock(0)
    return try await GeneratedName.$source.withValue(
        {
            let number = count.withLock { count in
                count += 1
                return count
            }
            let digits = String(number, radix: 16, uppercase: true)
            return "00000000-0000-0000-0000-" + String(repeating: "0", count: 12 - digits.count) + digits
        }, operation: body, isolation: isolation)
}
