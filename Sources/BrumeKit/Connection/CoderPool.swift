internal import BrumeLock
internal import BrumeProtocol
internal import BrumeRecord

/// Message coders for the threads that make calls: a coder keeps its memory for the next message, and serves one thread
/// at a time.
enum CoderPool {
    /// As many as there are likely to be calls encoded or decoded at one moment; others are made and dropped.
    private static let idleMax = 4
    /// A coder that holds more than this is not kept.
    private static let retainedBytesMax = 1024 * 1024

    /// A coder between two uses. `@unchecked Sendable`: whoever takes it out of the pool is its only user.
    private struct Idle: @unchecked Sendable {
        let coder: MessageCoder
    }

    private static let idle = Lock<[Idle]>([])

    /// Runs `body` with a coder that nobody else uses.
    static func with<Value, Failure: Error>(_ body: (MessageCoder) throws(Failure) -> Value) throws(Failure) -> Value {
        let coder = idle.withLock { $0.popLast() }?.coder ?? MessageCoder()
        defer {
            if coder.retainedBytes <= retainedBytesMax {
                let returned = Idle(coder: coder)
                idle.withLock { if $0.count < idleMax { $0.append(returned) } }
            }
        }
        return try body(coder)
    }
}
