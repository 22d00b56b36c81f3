internal import BrumeStore
internal import BrumeSystem
internal import Glibc

extension LoadThreads {
    /// Threads that are made when they are needed and end then, beside the one that calls. What the system makes no thread for,
    /// because the process has as many as it may, is done by the one that calls.
    ///
    /// - Parameter count: At a time, the one that calls included: no more than there are cores.
    static func system(count: Int) -> LoadThreads {
        LoadThreads(count: count, willFill: Memory.populate) { count, body in
            withoutActuallyEscaping(body) { body in
                let threads = (1..<max(1, count)).map { index in Thread { body(index) } }
                if count > 0 { body(0) }
                for (index, thread) in threads.enumerated() {
                    if let thread { thread.join() } else { body(index + 1) }
                }
            }
        }
    }

    private struct Thread {
        private final class Body {
            let run: @Sendable () -> Void

            init(_ run: @escaping @Sendable () -> Void) { self.run = run }
        }

        private var id: pthread_t = 0

        /// Nil when the system makes none.
        init?(_ run: @escaping @Sendable () -> Void) {
            let argument = Unmanaged.passRetained(Body(run)).toOpaque()
            let result = pthread_create(
                &id, nil,
                { argument in
                    Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
                    return nil
                }, argument)
            guard result == 0 else {
                Unmanaged<Body>.fromOpaque(argument).release()
                return nil
            }
        }

        func join() { pthread_join(id, nil) }
    }
}
