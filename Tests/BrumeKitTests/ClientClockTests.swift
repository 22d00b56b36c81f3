import BrumeKit
import Testing

@Suite("The clock of schedules", .timeLimit(.minutes(1)))
struct ClientClockTests {
    @Test("ends a wait when it is turned so far, and not before")
    func turning() async throws {
        let clock = ManualClientClock(nowMilliseconds: 5)
        let long = Task { try await clock.wait(untilMilliseconds: 30) }
        let short = Task { try await clock.wait(untilMilliseconds: 10) }
        await clock.waiting(count: 2)
        #expect(clock.nextMilliseconds == 10)
        clock.advance(byMilliseconds: 5)
        try await short.value
        #expect(clock.waitCount == 1)
        clock.advance(byMilliseconds: 20)
        try await long.value
        try await clock.wait(untilMilliseconds: 30)
        #expect(clock.nowMilliseconds == 30)
    }

    @Test("ends the wait of a cancelled task at once, also when it was cancelled before", arguments: [false, true])
    func cancelling(isManual: Bool) async {
        let clock: any ClientClock = isManual ? ManualClientClock() : SystemClientClock.shared
        let end = clock.nowMilliseconds + 3_600_000
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.wait(untilMilliseconds: end)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        let waiting = Task { try await clock.wait(untilMilliseconds: end) }
        if let manual = clock as? ManualClientClock { await manual.waiting() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test("of the machine goes forward, and its waits end")
    func system() async throws {
        let clock = SystemClientClock.shared
        let start = clock.nowMilliseconds
        try await clock.wait(untilMilliseconds: start + 2)
        #expect(clock.nowMilliseconds >= start + 2)
    }

    @Test("is part of what tells configurations apart")
    func configuration() {
        let configuration = BrumeConfiguration(server: "a:1")
        var other = configuration
        #expect(configuration == other)
        other.clock = ManualClientClock()
        #expect(configuration != other)
    }
}
