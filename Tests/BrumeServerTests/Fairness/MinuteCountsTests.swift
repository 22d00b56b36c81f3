import Testing

@testable import BrumeService

@Suite("What an account may do so often a minute")
struct MinuteCountsTests {
    private static let minute: UInt64 = 60_000_000_000

    @Test("is counted by account until the next minute, also where another clock is a little behind")
    func minutes() {
        let counts = MinuteCounts(limit: 3)
        func left(_ account: String, _ now: UInt64) -> Int { counts.left(for: account, nowNanoseconds: now) }
        #expect(left("a", 5) == 3)
        counts.note("a", times: 2, nowNanoseconds: 2 * Self.minute)
        #expect(left("a", 2 * Self.minute + 7) == 1 && left("b", 2 * Self.minute) == 3)
        // A loop that has not turned yet.
        counts.note("a", nowNanoseconds: 2 * Self.minute - 1)
        #expect(left("a", 2 * Self.minute - 1) == 0 && left("a", 3 * Self.minute - 1) == 0)
        counts.note("a", times: 9, nowNanoseconds: 3 * Self.minute - 1)
        #expect(left("a", 3 * Self.minute - 1) == 0)
        #expect(left("a", 3 * Self.minute) == 3)
        #expect(MinuteCounts.restMilliseconds(nowNanoseconds: 3 * Self.minute - 5_000_000) == 6)
    }
}
