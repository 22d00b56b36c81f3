internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

extension LoadThreads {
    /// Threads that are made when they are needed and end afterwards, beside the calling thread. Work for which the
    /// system makes no thread, because the process has as many as it may, is done by the calling thread.
    ///
    /// - Parameter count: The number of threads at a time, including the calling one: no more than there are cores.
    static func system(count: Int) -> LoadThreads {
        LoadThreads(count: count, willFill: Memory.populate) { count, body in
            withoutActuallyEscaping(body) { body in
                let threads = (1..<max(1, count)).map { index in try? SystemThread { body(index) } }
                if count > 0 { body(0) }
                for (index, thread) in threads.enumerated() {
                    if let thread { thread.join() } else { body(index + 1) }
                }
            }
        }
    }
}
