internal import BrumeStore

/// How much a query may do between two looks at the clock: so little that a step is short whatever a unit turns out to
/// cost, and more while steps are short.
///
/// The clock is the one that other requests wait by, so a loop that was not given the processor does less, not more.
struct QueryPace {
    private static let firstUnits = 16

    private(set) var stepUnits = firstUnits

    /// Adapts the steps to the time that the last one took. A clock that stands still says nothing.
    mutating func stepTook(nanoseconds: UInt64) {
        if nanoseconds > ServiceLimits.queryStepNanoseconds {
            stepUnits = max(1, stepUnits / (nanoseconds > 4 * ServiceLimits.queryStepNanoseconds ? 8 : 2))
        } else if nanoseconds > 0, nanoseconds < ServiceLimits.queryStepNanoseconds / 2 {
            stepUnits = min(QueryRun.stepUnits, stepUnits * 2)
        }
    }
}
