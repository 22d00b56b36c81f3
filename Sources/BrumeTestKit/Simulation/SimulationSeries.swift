internal import BrumeLock
internal import BrumeSystem

/// Runs of many seeds, on some threads at once. They share nothing, so that each is what it would be alone.
package enum SimulationSeries {
    private struct State {
        var next: UInt64
        var done = 0
        var total: SimulationReport
    }

    /// Runs all of the seeds.
    ///
    /// - Parameters:
    ///   - threads: At most 64 run at a time.
    ///   - began: Called on each thread before a seed's run, with the seed and the thread's number.
    ///   - ended: Called after each run, one call at a time, with how many have ended.
    /// - Returns: The figures of all.
    package static func run(
        _ seeds: Range<UInt64>, threads: Int, began: @escaping @Sendable (UInt64, Int) -> Void,
        ended: @escaping @Sendable (SimulationReport, Int) -> Void
    ) -> SimulationReport {
        let state = Lock(State(next: seeds.lowerBound, total: SimulationReport(seed: seeds.lowerBound)))
        @Sendable func work(_ thread: Int) {
            while true {
                let taken = state.withLock { state -> UInt64? in
                    guard state.next < seeds.upperBound else { return nil }
                    defer { state.next += 1 }
                    return state.next
                }
                guard let seed = taken else { return }
                began(seed, thread)
                let report = Simulation.run(seed: seed)
                state.withLock { state in
                    state.done += 1
                    state.total.add(report)
                    ended(report, state.done)
                }
            }
        }
        let others = (1..<max(1, min(threads, threadsLimit))).map { number in
            SystemThread(needed: "a simulation") { work(number) }
        }
        work(0)
        for thread in others { thread.join() }
        return state.withLock { $0.total }
    }

    package static let threadsLimit = 64
}
