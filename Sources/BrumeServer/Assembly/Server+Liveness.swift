internal import BrumeService
internal import BrumeSystem

extension Server {
    /// Whether all loops of clients take work within the time: one that does not serves nobody of its databases. Blocks
    /// meanwhile; any thread but a loop's, between ``start()`` and the end of ``wait()``.
    ///
    /// The loops for the disk are not asked: while a disk hangs, a new start would hang as well.
    package func loopsTurn(withinMilliseconds limit: Int) -> Bool {
        let answers = Semaphore()
        for shard in core.shards { shard.loop.execute { answers.post() } }
        let deadline = MonotonicClock.nowNanoseconds + UInt64(limit) * 1_000_000
        for _ in core.shards {
            let now = MonotonicClock.nowNanoseconds
            guard answers.wait(milliseconds: Int(now < deadline ? (deadline - now) / 1_000_000 : 0)) else {
                return false
            }
        }
        return true
    }
}
