/// How much of one turn the queries of a loop may take together.
struct QueryBudget {
    private var nanoseconds: UInt64 = 0
    private var steps = 0

    /// Whether a query may do another step in this turn.
    var isLeft: Bool {
        nanoseconds < ServiceLimits.querySliceNanoseconds && steps < ServiceLimits.queryStepsPerTurn
    }

    /// Counts a step.
    mutating func spend(nanoseconds spent: UInt64) {
        nanoseconds += spent
        steps += 1
    }

    mutating func turnEnded() {
        nanoseconds = 0
        steps = 0
    }
}
