import Glibc
import Testing

@testable import BrumeSystem

@Suite struct MonotonicClockTests {
    @Test("the clock goes on with the time that passes, and never back")
    func goesOn() {
        let began = MonotonicClock.nowNanoseconds
        var last = began
        for _ in 0..<1_000 {
            let now = MonotonicClock.nowNanoseconds
            #expect(now >= last)
            last = now
        }
        usleep(2_000)
        #expect(MonotonicClock.nowNanoseconds >= began + 2_000_000)
    }
}
