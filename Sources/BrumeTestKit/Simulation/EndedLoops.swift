internal import BrumeSystem

/// The loops of servers that ended, each of which has a descriptor and refers to what was to be done on it.
struct EndedLoops {
    /// From their end on: a loop that was ever referred to weakly is counted at twice the cost.
    private struct Ended {
        weak var loop: EventLoop?
    }

    private var ended: [Ended] = []

    mutating func add(_ loops: [EventLoop]) { ended += loops.map { Ended(loop: $0) } }

    /// What is wrong when loops are still there; nil when none is.
    var problem: String? {
        let left = ended.compactMap { $0.loop?.name }
        if left.isEmpty { return nil }
        return "I10: servers that ended left loops behind: \(left.joined(separator: ", "))"
    }
}
