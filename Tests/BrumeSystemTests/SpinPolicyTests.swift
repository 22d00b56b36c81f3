import Testing

@testable import BrumeSystem

@Suite("When a thread looks for work before it sleeps")
struct SpinPolicyTests {
    private static let limit: UInt64 = 200_000
    private static let short: UInt64 = 20_000
    private static let long: UInt64 = 5_000_000

    private static func policy(after waits: [UInt64], hasLooked: Bool = false) -> SpinPolicy {
        var policy = SpinPolicy(limitNanoseconds: limit)
        for wait in waits { policy.waited(nanoseconds: wait, hasLooked: hasLooked) }
        return policy
    }

    private static func looks(after waits: [UInt64], hasLooked: Bool = false) -> Bool {
        policy(after: waits, hasLooked: hasLooked).isWorthLooking(nowNanoseconds: 0)
    }

    @Test("at first it does not, and does when most waits were short")
    func mostlyShort() {
        #expect(!Self.looks(after: []))
        #expect(!Self.looks(after: Array(repeating: Self.short, count: 5)))
        #expect(Self.looks(after: Array(repeating: Self.short, count: 6)))
        #expect(
            Self.looks(
                after: [Self.long, Self.short, Self.short, Self.short, Self.long] + [
                    Self.short, Self.short, Self.short,
                ]))
    }

    @Test("it stops within three waits when work no longer comes at once, and an idle thread never looks")
    func idle() {
        let busy = Array(repeating: Self.short, count: 100)
        #expect(Self.looks(after: busy + [Self.long, Self.long]))
        #expect(!Self.looks(after: busy + [Self.long, Self.long, Self.long]))
        #expect(!Self.looks(after: Array(repeating: Self.long, count: 100)))
    }

    @Test("a wait that was slept counts without its wake-up, and one that was looked through as it was")
    func wakeUp() {
        let longest = Self.limit + SpinPolicy.wakeUpNanoseconds
        #expect(Self.looks(after: Array(repeating: longest, count: 8)))
        #expect(!Self.looks(after: Array(repeating: longest + 1, count: 8)))
        // Work that always comes just behind the look's end is not looked for again and again.
        #expect(Self.looks(after: Array(repeating: Self.limit, count: 8), hasLooked: true))
        #expect(!Self.looks(after: Array(repeating: Self.limit + 1, count: 8), hasLooked: true))
    }

    @Test(
        "who loses the core while looking gives it up for as long as keeps that seldom", arguments: [50_000, 4_000_000])
    func interrupted(forNanoseconds: UInt64) {
        var policy = Self.policy(after: Array(repeating: Self.short, count: 8))
        policy.wasInterrupted(forNanoseconds: forNanoseconds, nowNanoseconds: 5_000)
        #expect(!policy.isWorthLooking(nowNanoseconds: 5_000))
        #expect(!policy.isWorthLooking(nowNanoseconds: 4_999 + 32 * forNanoseconds))
        #expect(policy.isWorthLooking(nowNanoseconds: 5_000 + 32 * forNanoseconds))
    }

    @Test("a look ends with the work, and at its limit or the deadline without")
    func look() {
        var spinner = Spinner(limitNanoseconds: Self.limit)
        #expect(!spinner.look { true }, "nothing is known yet of how work comes")
        for _ in 0..<8 { spinner.ended(nowNanoseconds: 0) }
        #expect(spinner.look { true })
        #expect(spinner.lookCount == 1)
        var asked = 0
        #expect(
            !spinner.look(until: 0) {
                asked += 1
                return true
            })
        #expect(asked == 0, "what is due is done at once")
        #expect(!spinner.look(polls: false) { true })
        #expect(spinner.lookCount == 2, "it was told not to")
        #expect(!spinner.look { false })
    }

    @Test("who is told never to look does not")
    func off() {
        var spinner = Spinner()
        for _ in 0..<8 { spinner.ended(nowNanoseconds: 0) }
        #expect(!spinner.look { true })
        #expect(spinner.lookCount == 0)
    }
}
