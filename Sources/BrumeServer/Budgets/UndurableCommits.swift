/// Whose the bytes of a loop's commits are until they are durable. Each share knows how many it has.
struct UndurableCommits {
    /// Commits of one account that go to the journal together.
    private struct Run {
        let share: ClientShare
        var byteCount: Int
        var lastPosition: UInt64
    }

    private var runs: [Run] = []
    private var first = 0

    /// Counts a commit, until its position is durable.
    ///
    /// - Parameter submitted: The last position that was handed to the journal: what comes after it becomes durable
    ///   together.
    mutating func append(_ byteCount: Int, of share: ClientShare, at position: UInt64, submitted: UInt64) {
        share.undurableBytesChanged(by: byteCount)
        if first < runs.count, runs[runs.count - 1].share === share, runs[runs.count - 1].lastPosition > submitted {
            runs[runs.count - 1].byteCount += byteCount
            runs[runs.count - 1].lastPosition = position
        } else {
            runs.append(Run(share: share, byteCount: byteCount, lastPosition: position))
        }
    }

    /// Everything up to the position is durable.
    mutating func becameDurable(_ position: UInt64) {
        while first < runs.count, runs[first].lastPosition <= position {
            runs[first].share.undurableBytesChanged(by: -runs[first].byteCount)
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
