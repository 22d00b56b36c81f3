import BrumeLock
import Dispatch

/// Something that a test waits for, with a deadline: a count that other threads raise.
final class Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func raise() { semaphore.signal() }

    /// - Returns: Whether it was raised `count` times before the deadline, which is long: it is for failures alone.
    func wait(count: Int = 1, seconds: Double = 20) -> Bool {
        let deadline = DispatchTime.now() + seconds
        for _ in 0..<count where semaphore.wait(timeout: deadline) == .timedOut { return false }
        return true
    }
}

/// A value that threads share.
final class Shared<Value: Sendable>: Sendable {
    private let storage: Lock<Value>

    init(_ value: Value) { storage = Lock(value) }

    var value: Value { storage.withLock { $0 } }

    func change(_ body: (inout Value) -> Void) { storage.withLock { body(&$0) } }
}
