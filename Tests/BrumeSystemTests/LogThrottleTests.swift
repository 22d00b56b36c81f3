import BrumeSystem
import Testing

@Suite struct LogThrottleTests {
    @Test("lines beyond the limit are counted, and the count comes with the next line") func counts() {
        var throttle = LogThrottle(linesPerSecond: 2)
        let second: UInt64 = 1_000_000_000
        var admitted = (0..<5).map { _ in throttle.admit(nowNanoseconds: 10 * second) }
        #expect(admitted == [0, 0, nil, nil, nil])
        admitted = [throttle.admit(nowNanoseconds: 11 * second), throttle.admit(nowNanoseconds: 11 * second)]
        #expect(admitted == [3, 0])
    }
}
