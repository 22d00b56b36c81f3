internal import Glibc

/// A thread of the system's that runs one closure.
package struct SystemThread: Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let id: pthread_t

    /// Starts the thread. Throws when the system makes no more threads.
    package init(_ run: @escaping @Sendable () -> Void) throws(SystemError) {
        var id: pthread_t = 0
        let body = Unmanaged.passRetained(Body(run))
        let result = pthread_create(
            &id, nil,
            { argument in
                Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, body.toOpaque())
        guard result == 0 else {
            body.release()
            throw SystemError(call: "pthread_create", errno: result)
        }
        self.id = id
    }

    /// Starts a thread without which nothing can go on: a failure ends the process.
    package init(needed name: String, _ run: @escaping @Sendable () -> Void) {
        do throws(SystemError) {
            try self.init(run)
        } catch {
            preconditionFailure("there is no thread for \(name): \(error)")
        }
    }

    /// Waits for its end. To be called once, unless it is detached.
    package func join() { pthread_join(id, nil) }

    /// Declares that nobody will wait for its end.
    package func detach() { pthread_detach(id) }
}
