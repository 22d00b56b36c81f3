/// The accounts of a loop's commits that are not durable yet: each account's shares count how many bytes it has there.
struct UndurableCommits {
    /// Commits of one account that go to the log together.
    private struct Run {
        let share: ClientShare
        let timeShare: TimeShare
        /// When the first of them was made.
        let sinceNanoseconds: UInt64
        var byteCount: Int
        var lastPosition: UInt64
    }

    private var runs: [Run] = []
    private var first = 0
    /// The last position that was handed to the log: what comes after it becomes durable together.
    private var submitted: UInt64 = 0

    /// Counts a commit, until its position is durable.
    ///
    /// - Parameter timeShare: The time share of the same account, on this loop.
    mutating func append(
        _ byteCount: Int, of share: ClientShare, _ timeShare: TimeShare, at position: UInt64, nowNanoseconds: UInt64
    ) {
        share.undurableBytesChanged(by: byteCount)
        timeShare.committed(byteCount)
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

    /// Everything up to the position was handed to the log.
    mutating func submitted(upTo position: UInt64) { submitted = position }

    /// Everything up to the position is durable.
    ///
    /// - Parameter isShared: Whether several accounts write.
    mutating func becameDurable(_ position: UInt64, isShared: Bool, nowNanoseconds: UInt64) {
        while first < runs.count, runs[first].lastPosition <= position {
            let run = runs[first]
            run.share.undurableBytesChanged(by: -run.byteCount)
            run.timeShare.becameDurable(
                run.byteCount, sinceNanoseconds: run.sinceNanoseconds, isShared: isShared,
                nowNanoseconds: nowNanoseconds)
            first += 1
        }
        // Usually all have gone; otherwise compacts seldom, when more than half have.
        if first == runs.count {
            runs.removeAll(keepingCapacity: runs.capacity <= 1_024)
            first = 0
        } else if first * 2 > runs.count {
            runs.removeFirst(first)
            first = 0
        }
    }
}
