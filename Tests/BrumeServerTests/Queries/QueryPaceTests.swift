import BrumeRandom
import Testing

@testable import BrumeServer
@testable import BrumeService

/// How long the queries of a loop keep it in one turn, by a clock that the test turns.
struct QueryPaceTests {
    /// Work whose units cost now this, now that, as those of a query do.
    private struct Work {
        var generator: SeededGenerator
        /// Of one unit.
        var nanoseconds: UInt64 = 40
        /// Until the cost changes.
        var unitsLeft = 0

        /// Does so many units. Returns the time.
        mutating func step(_ units: Int) -> UInt64 {
            var time: UInt64 = 0
            for _ in 0..<units {
                if unitsLeft == 0 {
                    unitsLeft = Int.random(in: 1...20_000, using: &generator)
                    nanoseconds = generator.pick([40, 300, 2_000, 15_000, 40_000])
                }
                unitsLeft -= 1
                time += nanoseconds
            }
            return time
        }
    }

    @Test("however the cost of a unit jumps, no turn takes five milliseconds", arguments: 0..<20)
    func turns(seed: UInt64) {
        var work = Work(generator: SeededGenerator(seed: seed))
        var pace = QueryPace()
        var longest: UInt64 = 0
        for _ in 0..<2_000 {
            var budget = QueryBudget()
            var turn: UInt64 = 0
            while budget.isLeft {
                let time = work.step(pace.stepUnits)
                pace.stepTook(nanoseconds: time)
                budget.spend(nanoseconds: time)
                turn += time
            }
            longest = max(longest, turn)
        }
        #expect(longest < 5_000_000, "seed \(seed): a turn took \(longest) ns")
        #expect(longest > 1_000_000, "seed \(seed): a turn did only \(longest) ns of work")
    }

    @Test("a loop that was not given the processor does less in its next step, and more again when it is")
    func takenAway() {
        var pace = QueryPace()
        for _ in 0..<10 { pace.stepTook(nanoseconds: 10_000) }
        let usual = pace.stepUnits
        // Its thread did ten microseconds of work in these, and others waited for all of it.
        pace.stepTook(nanoseconds: 8_000_000)
        #expect(pace.stepUnits <= usual / 8)
        for _ in 0..<10 { pace.stepTook(nanoseconds: 10_000) }
        #expect(pace.stepUnits == usual)
        for _ in 0..<20 { pace.stepTook(nanoseconds: 8_000_000) }
        #expect(pace.stepUnits == 1)
        // A clock that stands still says nothing.
        pace.stepTook(nanoseconds: 0)
        #expect(pace.stepUnits == 1)
    }
}
