import Testing

@testable import BrumeSystem

/// Sends for three milliseconds whenever it is asked to.
private final class SlowHandler: LoopHandler, @unchecked Sendable {
    let name: String
    private let loop: EventLoop
    private let sent: Shared<[(name: String, turn: UInt64)]>

    init(_ name: String, _ loop: EventLoop, _ sent: Shared<[(name: String, turn: UInt64)]>) {
        self.name = name
        self.loop = loop
        self.sent = sent
    }

    func turnEnding(_ order: FlushOrder) {
        let began = MonotonicClock.nowNanoseconds
        while MonotonicClock.nowNanoseconds - began < 3_000_000 {}
        let turn = loop.turnNumber
        sent.change { $0.append((name, turn)) }
    }

    func socketReady(readable: Bool, writable: Bool) {}
    func turnContinuing() {}
    func loopStopped() {}
}

@Suite("The order in which connections send at the end of a turn")
struct FlushQueueTests {
    private let server: TestListener
    private let received = Signal()

    init() throws {
        server = try TestListener { [received] _ in
            let delegate = TestDelegate()
            delegate.received = { _, bytes in for _ in 0..<bytes.count { received.raise() } }
            return delegate
        }
    }

    private func connection(limits: ConnectionLimits = ConnectionLimits(), _ delegate: TestDelegate) throws
        -> Connection
    {
        let connection = Shared<Connection?>(nil)
        delegate.established = { made in connection.change { $0 = made } }
        try server.connect(limits: limits, delegate)
        try #require(delegate.isEstablished.wait())
        return try #require(connection.value)
    }

    /// Handlers that have news and take three milliseconds each, of which a turn has time for two.
    private func slowHandlers(_ count: Int) -> (handlers: [SlowHandler], sent: Shared<[(name: String, turn: UInt64)]>) {
        let sent = Shared<[(name: String, turn: UInt64)]>([])
        return ((0..<count).map { SlowHandler("\($0)", server.clientLoop, sent) }, sent)
    }

    @Test(
        "what peers wait for leaves with the turn; large output and news have a time each, in the order in which they came"
    )
    func slices() {
        let (handlers, sent) = slowHandlers(12)
        let (loop, done) = (server.clientLoop, Signal())
        let orders: [FlushOrder] = [
            .news, .large, .news, .prompt, .news, .large, .news, .large, .news, .prompt, .news, .large,
        ]
        let first = Shared<UInt64>(0)
        @Sendable func look() {
            if sent.value.count == handlers.count { done.raise() } else { loop.execute { look() } }
        }
        loop.execute {
            let turn = loop.turnNumber
            first.change { $0 = turn }
            for (handler, order) in zip(handlers, orders) { loop.flush(handler, order) }
            look()
        }
        #expect(done.wait())
        func of(_ order: FlushOrder) -> [(name: String, turn: UInt64)] {
            sent.value.filter { orders[Int($0.name)!] == order }
        }
        #expect(sent.value.prefix(2).map(\.name) == ["3", "9"])
        #expect(of(.prompt).allSatisfy { $0.turn == first.value })
        for order in [FlushOrder.large, .news] {
            #expect(of(order).map(\.name) == orders.indices.filter { orders[$0] == order }.map(String.init))
            let perTurn = Dictionary(grouping: of(order), by: \.turn).values.map(\.count)
            #expect(perTurn.max()! <= 2, "\(order)")
        }
        // Both begin in the first turn: none waits for all of the other.
        #expect(of(.large)[0].turn == first.value && of(.news)[0].turn == first.value)
    }

    @Test("an answer takes the news before it along, and a pause is told at once")
    func answerBehindNews() throws {
        let (answered, told) = (try connection(TestDelegate()), try connection(TestDelegate()))
        let (handlers, _) = slowHandlers(20)
        let (loop, done) = (server.clientLoop, Signal())
        let pending = Shared<[Int]>([])
        let isWatched = Shared<[Bool]>([])
        loop.execute {
            for handler in handlers { loop.flush(handler, .news) }
            answered.withOutput(minimumCapacity: Limits.promptOutputBytes + 1, isNews: true) { _ in
                Limits.promptOutputBytes + 1
            }
            told.withOutput(minimumCapacity: 10, isNews: true) { _ in 10 }
            answered.write([1, 2, 3])
            loop.execute {
                let bytes = [answered.pendingOutputBytes, told.pendingOutputBytes]
                pending.change { $0 = bytes }
                // Its news waits still, and reading is held back with this turn.
                told.pauseReading()
                loop.execute {
                    let watched = [told.waitsForReadable, told.pendingOutputBytes > 0]
                    isWatched.change { $0 = watched }
                    done.raise()
                }
            }
        }
        #expect(done.wait())
        #expect(pending.value == [0, 10])
        #expect(isWatched.value == [false, true])
        #expect(received.wait(count: Limits.promptOutputBytes + 1 + 3 + 10))
    }

    @Test("a connection that is paused and resumed again and again sends no more than others in a turn")
    func oneEntry() throws {
        let connection = try connection(TestDelegate())
        let (loop, done) = (server.clientLoop, Signal())
        let sent = Shared<[Int]>([])
        let large = 8 * Limits.writeBytesPerTurn
        @Sendable func turn(_ number: Int, _ before: Int) {
            let pending = connection.outputPlaintextBytes
            if number > 0 { sent.change { $0.append(before - pending) } }
            guard number < 6 else { return done.raise() }
            connection.pauseReading()
            connection.resumeReading()
            loop.execute { turn(number + 1, pending) }
        }
        loop.execute {
            connection.withOutput(minimumCapacity: large, isNews: false) { _ in large }
            turn(0, 0)
        }
        #expect(done.wait())
        #expect(sent.value.allSatisfy { $0 <= Limits.writeBytesPerTurn }, "\(sent.value)")
        #expect(received.wait(count: large))
    }

    @Test("a connection for which the kernel has room again sends no more than others in a turn")
    func roomAgain() throws {
        var limits = ConnectionLimits()
        limits.sendBufferBytes = 64 * 1024
        let connection = try connection(limits: limits, TestDelegate())
        let (loop, done) = (server.clientLoop, Signal())
        let (inEvents, atEnds) = (Shared<[Int]>([]), Shared<[Int]>([]))
        let large = 8 * Limits.writeBytesPerTurn
        loop.execute {
            connection.withOutput(minimumCapacity: large, isNews: false) { _ in large }
            // After the turn's events, and before its end.
            var left = large
            loop.turnEnded = {
                let now = connection.outputPlaintextBytes
                if connection.outputCiphertextBytes > 0 { inEvents.change { $0.append(1) } }
                atEnds.change { $0.append(left - now) }
                left = now
                if now == 0 { done.raise() }
            }
        }
        #expect(done.wait())
        #expect(received.wait(count: large))
        #expect(!inEvents.value.isEmpty, "the kernel had room for everything")
        #expect(atEnds.value.allSatisfy { $0 <= Limits.writeBytesPerTurn }, "\(atEnds.value)")
    }

    @Test("news behind a small answer waits, as does a large answer behind one")
    func behindAnAnswer() throws {
        let connection = try connection(TestDelegate())
        let (loop, done) = (server.clientLoop, Signal())
        let pending = Shared<[Int]>([])
        let (handlers, _) = slowHandlers(20)
        let news = 4 * Limits.promptSendBytes
        loop.execute {
            for handler in handlers { loop.flush(handler, .news) }
            connection.write([1, 2, 3])
            connection.withOutput(minimumCapacity: news, isNews: true) { _ in news }
            loop.execute {
                let bytes = connection.pendingOutputBytes
                let order = connection.outputOrder
                pending.change { $0 = [bytes, order.rawValue] }
                done.raise()
            }
        }
        #expect(done.wait())
        #expect(pending.value == [news + 3 - Limits.promptSendBytes, FlushOrder.news.rawValue])
        #expect(received.wait(count: news + 3))
    }

    @Test("output is large by what its peer waits for")
    func orders() throws {
        let connection = try connection(TestDelegate())
        let (seen, done) = (Shared<[FlushOrder]>([]), Signal())
        server.clientLoop.execute {
            func append(_ count: Int, isNews: Bool) {
                connection.withOutput(minimumCapacity: count, isNews: isNews) { _ in count }
                let order = connection.outputOrder
                seen.change { $0.append(order) }
            }
            append(Limits.promptOutputBytes, isNews: true)
            append(10, isNews: true)
            append(10, isNews: false)
            append(10, isNews: true)
            append(Limits.promptOutputBytes, isNews: false)
            done.raise()
        }
        #expect(done.wait())
        #expect(seen.value == [.news, .news, .prompt, .prompt, .large])
        #expect(received.wait(count: 2 * Limits.promptOutputBytes + 30))
    }

    @Test("news that waits for its turn on the loop is no stall of the peer")
    func noStall() throws {
        var limits = ConnectionLimits()
        limits.writeStallTimeoutMilliseconds = 400
        let delegate = TestDelegate()
        let connection = try connection(limits: limits, delegate)
        let large = Limits.writeBytesPerTurn + 50_000
        let (handlers, sent) = slowHandlers(300)
        let loop = server.clientLoop
        loop.execute {
            // More than a turn takes: the timer runs from now on.
            connection.withOutput(minimumCapacity: large, isNews: false) { _ in large }
        }
        #expect(received.wait(count: large))
        loop.execute {
            for handler in handlers { loop.flush(handler, .news) }
            connection.withOutput(minimumCapacity: 10, isNews: true) { _ in 10 }
        }
        #expect(received.wait(count: 10))
        #expect(sent.value.count == 300 && delegate.closeReasons.value.isEmpty)
    }
}
