internal import Foundation

/// Runs tasks that call an app's blocks on a dispatch queue.
///
/// A block may wait for something. On the few threads that all tasks of the process share, it would hold up the very
/// call that it waits for; a queue has a thread of its own for it.
final class CallbackExecutor: TaskExecutor {
    /// For completion handlers, which need no order among each other.
    static let handlers = CallbackExecutor(
        queue: DispatchQueue(label: "brume.completion-handlers", attributes: .concurrent))

    private let queue: DispatchQueue

    init(queue: DispatchQueue) {
        self.queue = queue
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Calls `completionHandler` with what `body` comes to, off the threads that tasks share.
func complete<Value: Sendable>(
    _ completionHandler: @escaping @Sendable (Result<Value, any Error>) -> Void,
    _ body: @escaping @Sendable () async throws -> Value
) {
    Task(executorPreference: CallbackExecutor.handlers) {
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        completionHandler(result)
    }
}

/// The same for handlers that take a value or an error.
func complete<Value: Sendable>(
    _ completionHandler: @escaping @Sendable (Value?, (any Error)?) -> Void,
    _ body: @escaping @Sendable () async throws -> Value
) {
    complete(
        { (result: Result<Value, any Error>) in
            switch result {
            case .success(let value): completionHandler(value, nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }, body)
}
