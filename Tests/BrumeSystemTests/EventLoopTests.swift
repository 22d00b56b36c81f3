import BrumeRandom
import BrumeTestKit
import Testing

@testable import BrumeSystem

@Suite struct EventLoopTests {
    @Test("timers fire in the order of their deadlines, equal ones in the order of their scheduling")
    func timersFireInOrder() throws {
        let loop = try EventLoop(name: "timers")
        var fired: [Int] = []
        for (index, delay) in [30, 10, 20, 10, 0].enumerated() {
            _ = loop.schedule(afterMilliseconds: UInt64(delay)) { fired.append(index) }
        }
        let cancelled = loop.schedule(afterMilliseconds: 15) { fired.append(99) }
        loop.cancel(cancelled)
        _ = loop.schedule(afterMilliseconds: 40) { loop.stop() }
        loop.run()
        #expect(fired == [4, 1, 3, 2, 0])
    }

    @Test("the processor time of a loop is what its thread worked, not what it slept, and none when it has ended")
    func processorTime() throws {
        let loop = try EventLoop(name: "worker")
        #expect(loop.processorNanoseconds == 0)
        var (slept, worked): (UInt64, UInt64) = (0, 0)
        _ = loop.schedule(afterMilliseconds: 100) {
            slept = loop.processorNanoseconds
            // Whatever the thread did before it ran the loop counts too.
            let begin = slept
            while worked < 20_000_000 { worked = loop.processorNanoseconds - begin }
            loop.stop()
        }
        let began = MonotonicClock.nowNanoseconds
        loop.start()
        loop.join()
        #expect(slept > 0)
        #expect(slept < 100_000_000, "a new thread that slept for 100 ms worked for \(slept) ns")
        #expect(worked <= MonotonicClock.nowNanoseconds - began)
        #expect(loop.processorNanoseconds == 0)
    }

    @Test("a timer queue agrees with a sorted list under random scheduling and cancelling")
    func timerQueueAgreesWithModel() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var queue = TimerQueue()
        var model: [(deadline: UInt64, sequence: Int, id: TimerID)] = []
        var fired: [Int] = []
        for sequence in 0..<2_000 {
            let deadline = UInt64.random(in: 0..<500, using: &generator)
            model.append((deadline, sequence, queue.schedule(deadline: deadline) { fired.append(sequence) }))
            if Bool.random(using: &generator) {
                let victim = model.remove(at: Int.random(in: 0..<model.count, using: &generator))
                queue.cancel(victim.id)
                queue.cancel(victim.id)
            }
        }
        while let body = queue.popDue(now: 400, lastSequence: .max) { body() }
        let expected = model.filter { $0.deadline <= 400 }.sorted {
            ($0.deadline, $0.sequence) < ($1.deadline, $1.sequence)
        }
        #expect(fired == expected.map(\.sequence), "seed \(seed)")
        #expect(queue.count == model.count - expected.count, "seed \(seed)")
    }

    @Test("a timer that schedules itself at once leaves the turn to others")
    func selfSchedulingTimerIsFair() throws {
        let loop = try EventLoop(name: "fair")
        var count = 0
        func again() {
            count += 1
            if count == 100 { return loop.stop() }
            _ = loop.schedule(afterMilliseconds: 0, again)
        }
        var turns = 0
        loop.turnEnded = { turns += 1 }
        again()
        loop.run()
        #expect(count == 100)
        #expect(turns >= 99)
    }

    @Test("tasks of other threads run on the loop, those of one thread in their order, and all of them")
    func tasksRun() throws {
        let loop = try EventLoop(name: "tasks")
        loop.start()
        let done = Signal()
        let seen = Shared<[[Int]]>(Array(repeating: [], count: 4))
        let strangers = Shared(0)
        let others = try (0..<4).map { try EventLoop(name: "sender-\($0)") }
        for (sender, other) in others.enumerated() {
            other.start()
            other.execute {
                for number in 0..<5_000 {
                    loop.execute {
                        if !loop.isCurrent { strangers.change { $0 += 1 } }
                        seen.change { $0[sender].append(number) }
                        if number == 4_999 { done.raise() }
                    }
                }
            }
        }
        #expect(done.wait(count: 4))
        for other in others + [loop] {
            other.stop()
            other.join()
        }
        #expect(seen.value == Array(repeating: Array(0..<5_000), count: 4))
        #expect(strangers.value == 0)
        #expect(!loop.isCurrent)
    }

    @Test("what a loop hands itself runs, from a task, a timer and the end of a turn")
    func tasksOfItsOwn() throws {
        let loop = try EventLoop(name: "own")
        let ran = Shared<[String]>([])
        loop.turnEnded = { [unowned loop] in
            if ran.value == ["task", "timer"] {
                loop.execute {
                    ran.change { $0.append("end") }
                    loop.stop()
                }
            }
        }
        loop.execute { loop.execute { ran.change { $0.append("task") } } }
        _ = loop.schedule(afterMilliseconds: 1) { loop.execute { ran.change { $0.append("timer") } } }
        loop.run()
        #expect(ran.value == ["task", "timer", "end"])
    }

    @Test("the hook runs after the tasks of its turn, and before the loop sleeps")
    func hookRunsAfterTasks() throws {
        let loop = try EventLoop(name: "hook")
        let events = Shared<[String]>([])
        loop.turnEnded = {
            events.change { $0.append("hook") }
            if events.value.contains("second") { loop.stop() }
        }
        loop.execute {
            events.change { $0.append("first") }
            loop.execute { events.change { $0.append("second") } }
        }
        loop.run()
        // The loop may have slept in between only if the hook ran between the two.
        #expect(events.value.prefix(4) == ["first", "hook", "second", "hook"])
    }

    @Test("a loop that spins before it sleeps misses neither tasks nor timers; one that moves something large sleeps")
    func spinningLoop() throws {
        #expect(try looks(movesLarge: false) > 0)
        #expect(try looks(movesLarge: true) == 0)
    }

    /// How often a loop polls that is asked again and again.
    private func looks(movesLarge: Bool) throws -> Int {
        let loop = try EventLoop(name: "spin")
        loop.turnEnded = { loop.sleepsAtOnce = movesLarge }
        loop.spinner = Spinner(limitNanoseconds: 20_000_000)
        let server = try TestListener { _ in TestListener.echo() }
        let ticks = Signal()
        let client = TestDelegate()
        client.established = { $0.write([1]) }
        var echoCount = 0
        client.received = { connection, _ in
            echoCount += 1
            // So many quick ones that the loop looks for the next, then one behind a timer.
            guard echoCount % 20 == 0 else { return connection.write([1]) }
            _ = connection.loop.schedule(afterMilliseconds: 3) {
                ticks.raise()
                connection.write([1])
            }
        }
        let (port, context) = (server.listener.port, try server.certificates.clientContext())
        loop.start()
        loop.execute {
            _ = Connection.connect(
                host: "127.0.0.1", port: port, tls: context, loop: loop, timeoutMilliseconds: 10_000, delegate: client)
        }
        #expect(ticks.wait(count: 20))
        for _ in 0..<20 {
            loop.execute { ticks.raise() }
        }
        #expect(ticks.wait(count: 20))
        loop.stop()
        loop.join()
        return loop.spinner.lookCount
    }

    @Test("stopping a loop closes its connections and tells their delegates")
    func stopClosesConnections() throws {
        let server = try TestListener { _ in TestListener.echo() }
        let client = TestDelegate()
        try server.connect(client)
        #expect(client.isEstablished.wait())
        server.clientLoop.stop()
        server.clientLoop.join()
        #expect(client.closeReasons.value == [.loopStopped])
    }
}
