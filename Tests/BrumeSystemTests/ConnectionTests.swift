import BrumeRandom
import Glibc
import Testing

@testable import BrumeSystem

/// The byte at a place of the tests' endless stream. Its period is prime, so that a loss of whole records shows.
private func pattern(_ offset: Int) -> UInt8 { UInt8(truncatingIfNeeded: offset % 251) }

/// Writes `total` bytes of the pattern, never more than the high-water mark ahead of the socket, and checks what
/// returns.
private final class StreamClient {
    let delegate = TestDelegate()
    let done = Signal()
    let wrongBytes = Shared(0)
    let pendingMax = Shared(0)

    init(total: Int) {
        var sent = 0
        var received = 0
        let wrongBytes = wrongBytes
        let pendingMax = pendingMax
        let done = done
        func fill(_ connection: Connection) {
            while sent < total, !connection.isOutputFull {
                let count = min(10_000, total - sent)
                connection.withOutput(minimumCapacity: count, isNews: false) { space in
                    for index in 0..<count { space[index] = pattern(sent + index) }
                    return count
                }
                sent += count
            }
            let pending = connection.pendingOutputBytes
            pendingMax.change { $0 = max($0, pending) }
        }
        delegate.established = fill
        delegate.drained = fill
        delegate.received = { _, bytes in
            var wrong = 0
            for (index, byte) in bytes.enumerated() where byte != pattern(received + index) { wrong += 1 }
            received += bytes.count
            if wrong > 0 { wrongBytes.change { $0 += wrong } }
            if received == total { done.raise() }
        }
    }
}

@Suite struct ConnectionTests {
    @Test(
        "10 MB come back through an echo between two loops, and buffers stay bounded",
        arguments: ["127.0.0.1", "localhost"])
    func echo(host: String) throws {
        let server = try TestListener { _ in
            let echo = TestDelegate()
            echo.received = { connection, bytes in
                connection.write(bytes)
                if connection.isOutputFull { connection.pauseReading() }
            }
            echo.drained = { $0.resumeReading() }
            return echo
        }
        let client = StreamClient(total: 10_000_000)
        try server.connect(host: host, client.delegate)
        #expect(client.done.wait())
        #expect(client.wrongBytes.value == 0)
        #expect(client.pendingMax.value < 1_100_000)
    }

    @Test("what was written before close arrives, and both sides learn that it was orderly")
    func closeFlushes() throws {
        let serverSide = TestDelegate()
        serverSide.established = { connection in
            connection.write([UInt8](repeating: 7, count: 3_000_000))
            connection.close()
            connection.write([1, 2, 3])
        }
        let server = try TestListener { _ in serverSide }
        let client = TestDelegate()
        let count = Shared(0)
        client.received = { _, bytes in count.change { $0 += bytes.count } }
        try server.connect(client)
        #expect(client.isClosed.wait())
        #expect(serverSide.isClosed.wait())
        #expect(count.value == 3_000_000)
        #expect(client.closeReasons.value == [.peerClosed])
        #expect(serverSide.closeReasons.value == [.localClose])
        #expect(server.listener.connectionCount == 0)
    }

    @Test("a peer that goes away without a good-bye is told apart")
    func abortIsNoticed() throws {
        let serverSide = TestDelegate()
        let server = try TestListener { _ in serverSide }
        let client = TestDelegate()
        client.established = { $0.abort() }
        try server.connect(client)
        #expect(serverSide.isClosed.wait())
        #expect(client.isClosed.wait())
        let reason = serverSide.closeReasons.value.first
        if case .io = reason {} else { #expect(reason == .peerVanished) }
        #expect(client.closeReasons.value == [.localClose])
    }

    @Test("a peer that goes during the handshake is gone, and none that speaks something else: a proxy has no server")
    func goneInHandshake() throws {
        let server = try TestListener { _ in nil }
        let client = TestDelegate()
        try server.connect(client)
        #expect(client.isClosed.wait())
        let reason = client.closeReasons.value.first
        if case .io = reason {} else { #expect(reason == .peerVanished) }
    }

    @Test(
        "a paused connection delivers nothing, and everything once it is resumed, within the turn or later",
        arguments: [0, 1] as [UInt64])
    func pausingHoldsBytes(afterMilliseconds: UInt64) throws {
        let serverSide = TestDelegate()
        serverSide.established = { $0.write([UInt8](repeating: 1, count: 2_000_000)) }
        let server = try TestListener { _ in serverSide }
        let client = TestDelegate()
        let done = Signal()
        var received = 0
        var isPaused = false
        let deliveredWhilePaused = Shared(0)
        client.received = { connection, bytes in
            if isPaused { deliveredWhilePaused.change { $0 += 1 } }
            received += bytes.count
            if received == 2_000_000 { return done.raise() }
            isPaused = true
            connection.pauseReading()
            _ = connection.loop.schedule(afterMilliseconds: afterMilliseconds) {
                isPaused = false
                connection.resumeReading()
            }
        }
        try server.connect(client)
        #expect(done.wait())
        #expect(deliveredWhilePaused.value == 0)
    }

    @Test("room for output ends a wait for input that is told of with it, and the connection lives on")
    func readyForBothWhilePaused() throws {
        var limits = ConnectionLimits()
        limits.sendBufferBytes = 64 * 1024
        let (serverSide, client) = (TestDelegate(), TestDelegate())
        let (isReady, done) = (Signal(), Signal())
        let received = Shared(0)
        serverSide.established = { connection in
            connection.write([UInt8](repeating: 1, count: 3_000_000))
            // A turn later the kernel has taken what it takes, and the loop waits for input and for room.
            _ = connection.loop.schedule(afterMilliseconds: 0) {
                _ = connection.loop.schedule(afterMilliseconds: 0) {
                    connection.pauseReading()
                    #expect(connection.waitsForReadable && connection.waitsForWritable)
                    connection.socketReady(readable: true, writable: true)
                    #expect(connection.isOpen)
                    isReady.raise()
                }
            }
        }
        let server = try TestListener(limits: limits) { _ in serverSide }
        client.received = { _, bytes in
            received.change { $0 += bytes.count }
            if received.value == 3_000_000 { done.raise() }
        }
        client.established = { connection in
            connection.pauseReading()
            connection.loop.execute { _ = isReady.wait() }
            connection.loop.execute { connection.resumeReading() }
        }
        try server.connect(client)
        #expect(done.wait())
        withExtendedLifetime(server) {}
    }

    /// Connects a peer that reads nothing, and waits until it is closed for that.
    private func expectStall(_ limits: ConnectionLimits, _ serverSide: TestDelegate) throws {
        let server = try TestListener(limits: limits) { _ in serverSide }
        let client = TestDelegate()
        client.established = { $0.pauseReading() }
        try server.connect(client)
        #expect(serverSide.isClosed.wait())
        #expect(serverSide.closeReasons.value == [.writeStalled])
    }

    @Test("a slow reader is closed at the stall deadline, and no more is buffered for it than the limit")
    func slowReaderStalls() throws {
        var limits = ConnectionLimits()
        limits.writeStallTimeoutMilliseconds = 300
        limits.outputHighWaterBytes = 200_000
        limits.outputLowWaterBytes = 100_000
        limits.sendBufferBytes = 64 * 1024
        let serverSide = TestDelegate()
        let pendingMax = Shared(0)
        func fill(_ connection: Connection) {
            while !connection.isOutputFull { connection.write([UInt8](repeating: 1, count: 10_000)) }
            let pending = connection.pendingOutputBytes
            pendingMax.change { $0 = max($0, pending) }
        }
        serverSide.established = fill
        serverSide.drained = fill
        try expectStall(limits, serverSide)
        #expect(pendingMax.value < 300_000)
    }

    @Test("a user that sends only while the output is not busy has little waiting, and is told when to go on")
    func busyOutput() throws {
        var limits = ConnectionLimits()
        limits.sendBufferBytes = 64 * 1024
        let (serverSide, client, done) = (TestDelegate(), TestDelegate(), Signal())
        let (pendingMax, received) = (Shared(0), Shared(0))
        let total = 8_000_000
        var left = total
        func fill(_ connection: Connection) {
            while left > 0, !connection.isOutputBusy {
                connection.write([UInt8](repeating: 1, count: 10_000))
                left -= 10_000
            }
            let pending = connection.pendingOutputBytes
            pendingMax.change { $0 = max($0, pending) }
        }
        serverSide.established = fill
        serverSide.drained = fill
        let server = try TestListener(limits: limits) { _ in serverSide }
        client.received = { _, bytes in
            received.change { $0 += bytes.count }
            if received.value == total { done.raise() }
        }
        try server.connect(client)
        #expect(done.wait())
        #expect(pendingMax.value <= 128 * 1024 + 10_000)
        withExtendedLifetime(server) {}
    }

    @Test("what a slow reader has yet to be sent waits where an answer can overtake it, and not in the kernel")
    func littleWaitsInTheKernel() throws {
        var limits = ConnectionLimits()
        limits.writeStallTimeoutMilliseconds = 300
        let serverSide = TestDelegate()
        let unsentMax = Shared(0)
        serverSide.established = { connection in
            connection.write([UInt8](repeating: 1, count: 16_000_000))
            func look() {
                // SIOCOUTQNSD of <linux/sockios.h>: what the kernel has and has not sent.
                var unsent: Int32 = 0
                guard connection.fd >= 0, ioctl(connection.fd, 0x894B, &unsent) == 0 else { return }
                unsentMax.change { $0 = max($0, Int(unsent)) }
                _ = connection.loop.schedule(afterMilliseconds: 20, look)
            }
            look()
        }
        try expectStall(limits, serverSide)
        // 128 KiB, and one piece: the kernel looks at its limit before each that it takes, of 64 KiB at most.
        #expect((1...192 * 1024).contains(unsentMax.value), "\(unsentMax.value) bytes")
    }

    @Test("output beyond the hard limit closes the connection")
    func overflowCloses() throws {
        var limits = ConnectionLimits()
        limits.outputBytesMax = 2_000_000
        let serverSide = TestDelegate()
        serverSide.established = { connection in
            for _ in 0..<1_000 { connection.write([UInt8](repeating: 1, count: 10_000)) }
        }
        let server = try TestListener(limits: limits) { _ in serverSide }
        let client = TestDelegate()
        try server.connect(client)
        #expect(serverSide.isClosed.wait())
        #expect(serverSide.closeReasons.value == [.outputOverflow])
    }

    @Test("a connection that hops between loops with bytes under way loses none")
    func hopsLoseNothing() throws {
        let loops = try (0..<2).map { try EventLoop(name: "hop-\($0)") }
        for loop in loops { loop.start() }
        defer {
            for loop in loops {
                loop.stop()
                loop.join()
            }
        }
        let hops = Shared(0)

        /// Echoes some bytes, then moves on in the middle of what it got.
        @Sendable func hopper(_ place: Int) -> TestDelegate {
            let delegate = TestDelegate()
            var echoed = 0
            delegate.received = { connection, bytes in
                if connection.isOutputFull { connection.pauseReading() }
                guard echoed > 100_000, hops.value < 20 else {
                    echoed += bytes.count
                    return connection.write(bytes)
                }
                let half = bytes.count / 2
                connection.write(UnsafeRawBufferPointer(rebasing: bytes[..<half]))
                let detached = connection.detach(unconsumed: UnsafeRawBufferPointer(rebasing: bytes[half...]))
                hops.change { $0 += 1 }
                let next = loops[(place + 1) % 2]
                next.execute { _ = Connection.attach(detached, to: next, delegate: hopper(place + 1)) }
            }
            delegate.drained = { $0.resumeReading() }
            return delegate
        }

        let server = try TestListener { _ in hopper(1) }
        let client = StreamClient(total: 10_000_000)
        try server.connect(client.delegate)
        #expect(client.done.wait())
        #expect(client.wrongBytes.value == 0)
        #expect(hops.value == 20)
        #expect(server.listener.connectionCount == 1)
    }

    @Test("a detached connection that nobody takes is closed")
    func droppedDetachedConnectionCloses() throws {
        let serverSide = TestDelegate()
        serverSide.established = { _ = $0.detach() }
        let server = try TestListener { _ in serverSide }
        let client = TestDelegate()
        try server.connect(client)
        #expect(client.isClosed.wait())
        #expect(serverSide.closeReasons.value.isEmpty)
        #expect(server.listener.connectionCount == 0)
    }

    @Test("connecting to a port where nobody listens says so")
    func connectionRefused() throws {
        let server = try TestListener { _ in nil }
        let port = server.listener.port
        let closed = Signal()
        server.serverLoop.execute { [listener = server.listener] in
            listener.close()
            closed.raise()
        }
        #expect(closed.wait())
        let client = TestDelegate()
        try server.connect(client)
        #expect(client.isClosed.wait())
        guard case .io(let error) = client.closeReasons.value.first else {
            Issue.record("closed for \(client.closeReasons.value)")
            return
        }
        #expect(error.description.contains("127.0.0.1:\(port)"))
    }

    @Test("a host name without an address says so")
    func unknownHost() throws {
        let server = try TestListener { _ in nil }
        let client = TestDelegate()
        try server.connect(host: "no-such-host.invalid", client)
        #expect(client.isClosed.wait())
        guard case .resolutionFailed = client.closeReasons.value.first else {
            Issue.record("closed for \(client.closeReasons.value)")
            return
        }
    }

    @Test("a byte queue agrees with an array under random use, and owns nothing while empty")
    func byteQueueAgreesWithModel() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var queue = ByteQueue()
        var model: [UInt8] = []
        for _ in 0..<3_000 {
            if Bool.random(using: &generator) {
                let more = (0..<Int.random(in: 0..<3_000, using: &generator)).map { UInt8(truncatingIfNeeded: $0) }
                more.withUnsafeBytes { queue.append($0) }
                model += more
            } else {
                let count = Int.random(in: 0...model.count, using: &generator)
                queue.removeFirst(count)
                model.removeFirst(count)
            }
            let isSame = queue.bytes.elementsEqual(model)
            #expect(isSame, "seed \(seed)")
        }
        queue.removeFirst(queue.count)
        let isReleased = queue.bytes.baseAddress == nil
        #expect(isReleased)
    }
}

extension CloseReason {
    var isHandshakeFailure: Bool {
        if case .handshakeFailed = self { return true }
        return false
    }
}
