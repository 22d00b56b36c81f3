import BrumeKit
import BrumeTesting
import Testing

@Suite("A test's clock", .timeLimit(.minutes(1)))
struct TestClockTests {
    @Test("is the one that a device's schedules go by, and moves when the test turns it")
    func turning() async throws {
        try await TestServer.run { server in
            let clock = TestClock()
            let device = try server.device(of: "ada", clock: clock)
            let schedules = device.container.scheduleClock
            #expect(clock.untilNextSchedule == nil)
            async let first: Void = schedules.wait(untilMilliseconds: 2_000)
            async let second: Void = schedules.wait(untilMilliseconds: 90_000)
            await clock.waitUntilScheduled(count: 2)
            #expect(clock.scheduleCount == 2)
            #expect(clock.untilNextSchedule == .seconds(2))
            await clock.advanceToNextSchedule()
            try await first
            #expect(clock.now == .seconds(2))
            clock.advance(by: .milliseconds(88_000))
            try await second
            #expect(schedules.nowMilliseconds == 90_000)
        }
    }
}
