/// The accounts of a loop's commits, until those are durable: each account's shares know how many bytes it has there.
struct UndurableCommits {
    /// Commits of one account that go to the journal together.
    private struct Run {
        let share: ClientShare
        let timeShare: TimeShare
        /// When the first of them was made.
        let sinceNanoseconds: UInt64
        var byteCount: Int
        var lastPosition: UInt64
    }

    /// For so long after a commit of another account somebody is not alone.
    static let sharedNanoseconds: UInt64 = 1_000_000_000

    private var runs: [Run] = []
    private var first = 0
    /// Who made the last commit, and when one was made last by another account than the one before.
    private var last: TimeShare?
    private var changedNanoseconds: UInt64?

    /// Whether several accounts write.
    func isShared(atNanoseconds now: UInt64) -> Bool {
        changedNanoseconds.map { now - min(now, $0) < Self.sharedNanoseconds } ?? false
    }

    /// Counts a commit, until its position is durable.
    ///
    /// - Parameters:
    ///   - timeShare: Of the same account, on this loop.
    ///   - submitted: The last position that was handed to the journal: what comes after it becomes durable together.
    mutating func append(
        _ byteCount: Int, of share: ClientShare, _ timeShare: TimeShare, at position: UInt64, submitted: UInt64,
        nowNanoseconds: UInt64
    ) {
        share.undurableBytesChanged(by: byteCount)
        timeShare.committed(byteCount)
        if last !== timeShare {
            if last != nil { changedNanoseconds = nowNanoseconds }
            last = timeShare
        }
        if first < runs.count, runs[runs.count - 1].share === share, runs[runs.count - 1].lastPosition > submitted {
            runs[runs.count - 1].byteCount += byteCount
            runs[runs.count - 1].lastPosition = position
        } else {
            runs.append(
                Run(
                    share: share, timeShare: timeShare, sinceNanoseconds: nowNanoseconds, byteCount: byteCount,
                    lastPosition: position))
        }
    }

    /// Everything up to the position is durable.
    mutating func becameDurable(_ position: UInt64, nowNanoseconds: UInt64) {
        let isShared = isShared(atNanoseconds: nowNanoseconds)
        while first < runs.count, runs[first].lastPosition <= position {
            let run = runs[first]
            run.share.undurableBytesChanged(by: -run.byteCount)
            run.timeShare.becameDurable(
                run.byteCount, sinceNanoseconds: run.sinceNanoseconds, isShared: isShared,
                nowNanoseconds: nowNanoseconds)
            first += 1
        }
        // Mostly all; otherwise seldom, and then as many as have gone.
        if first == runs.count {
            runs.removeAll(keepingCapacity: runs.capacity <= 1_024)
            first = 0
        } else if first * 2 > runs.count {
            runs.removeFirst(first)
            first = 0
        }
    }
}
