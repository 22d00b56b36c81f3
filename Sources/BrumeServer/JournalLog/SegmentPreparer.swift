internal import BrumeLock
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import Synchronization

/// Makes the journal's next segment while the current one is written, and removes useless files, on a thread of its
/// own, so that no commit waits for that.
final class SegmentPreparer: Sendable {
    private let preparation: SegmentPreparation
    private let wake = Semaphore()
    private let isStopping = Atomic<Bool>(false)
    private let thread = Lock<SystemThread?>(nil)

    init(_ preparation: SegmentPreparation) {
        self.preparation = preparation
    }

    /// Starts the thread. Without it only ``prepare()`` does anything.
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

    /// Has the thread make the next segment, unless that is ready, and remove useless files.
    func ask() { wake.post() }

    /// Does the same on the calling thread: before a rotation, so that no commit waits for it.
    func prepare() { preparation.prepare() }

    /// Whether the next segment is ready.
    var isPrepared: Bool { preparation.isPrepared }

    private func run() {
        while true {
            wake.wait()
            // The last snapshot may have left some useless files.
            if isStopping.load(ordering: .relaxed) { return preparation.removeUseless() }
            prepare()
        }
    }
}
