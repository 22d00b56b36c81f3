internal import BrumeLock
internal import BrumeStore
internal import BrumeSystem
internal import Synchronization

/// Makes the journal's next segment while the current one is written, and removes what has no use, on a thread of its
/// own: no commit waits for that.
final class SegmentPreparer: Sendable {
    private let preparation: SegmentPreparation
    private let wake = Semaphore()
    private let isStopping = Atomic<Bool>(false)
    private let thread = Lock<SystemThread?>(nil)

    init(_ preparation: SegmentPreparation) {
        self.preparation = preparation
    }

    /// Without a thread all that is asked for is done by ``prepare()`` alone.
    func start() {
        let started = SystemThread(needed: "the journal's next segments") { self.run() }
        thread.withLock { $0 = started }
    }

    /// Ends the thread, if there is one, and waits for it.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        wake.post()
        thread.withLock { $0.take() }?.join()
    }

    /// The thread makes the next segment, unless it waits already, and removes files without use.
    func ask() { wake.post() }

    /// Does the same on the calling thread: before a rotation, so that no commit waits for it.
    func prepare() { preparation.prepare() }

    /// Whether the next segment waits.
    var isPrepared: Bool { preparation.isPrepared }

    private func run() {
        while true {
            wake.wait()
            // The last snapshot may have left some.
            if isStopping.load(ordering: .relaxed) { return preparation.removeUseless() }
            prepare()
        }
    }
}
