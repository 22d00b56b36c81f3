internal import BrumeLock
package import BrumeService
internal import BrumeSystem

/// Threads that do what waits for a disk, so that no loop does: see ``LaneQueue``.
///
/// What is asked for is bounded by those who ask: a transfer has a piece under way for each message that it has credit
/// for.
package final class DiskThreads: Sendable {
    package typealias Work = @Sendable () -> Void
    package typealias Lane = LaneQueue<Work>.Lane

    private struct State {
        var queue = LaneQueue<Work>()
        var isStopping = false
        var threads: [SystemThread] = []
    }

    private let state = Lock(State())
    private let wake = Semaphore()
    private let count: Int

    /// - Parameter count: The threads at a time. Without any, ``step()`` does the work.
    package init(count: Int) { self.count = count }

    package func start() {
        let threads = (0..<count).map { _ in SystemThread(needed: "files of assets") { self.run() } }
        state.withLock { $0.threads = threads }
    }

    /// Waits until all is done that was asked for, and ends the threads. Nothing is asked for afterwards.
    package func stop() {
        let threads = state.withLock { state in
            state.isStopping = true
            return exchange(&state.threads, with: [])
        }
        wake.post()
        for thread in threads { thread.join() }
        while step() {}
    }

    /// Lets go of what was asked for and is not begun: it refers to what refers to this. Nothing is asked for
    /// afterwards.
    package func abandon() {
        let queue = state.withLock { exchange(&$0.queue, with: LaneQueue()) }
        // Outside of the lock, where what goes with it may ask for more.
        _ = consume queue
    }

    package func makeLane() -> Lane { state.withLock { $0.queue.makeLane() } }

    /// Has a thread do something when all earlier work of the lane is over. Any thread.
    package func add(_ work: @escaping Work, in lane: Lane, of account: ClientShare.Key) {
        state.withLock { $0.queue.append(work, in: lane, of: account) }
        wake.post()
    }

    /// Whether all is waited for: long work that goes on by itself ends early.
    package var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Whether some work was asked for and is not begun.
    package var hasWork: Bool { state.withLock { $0.queue.count > 0 } }

    /// Does one piece on the calling thread; false when there is none that may be done now.
    package func step() -> Bool {
        guard let (lane, work) = state.withLock({ $0.queue.next() }) else { return false }
        work()
        state.withLock { $0.queue.ended(lane) }
        return true
    }

    private func run() {
        while true {
            wake.wait()
            // Whoever has done a piece looks for another one: the post for one that waited for it may be used up.
            while step() {}
            guard state.withLock({ $0.isStopping && $0.queue.count == 0 }) else { continue }
            // So that the others find out too.
            return wake.post()
        }
    }
}
