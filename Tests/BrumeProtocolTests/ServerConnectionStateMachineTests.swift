import BrumeModel
import BrumeProtocol
import Testing

private let second: UInt64 = 1_000_000_000

/// A machine that has said welcome, at time 0.
private func serving(_ configure: (inout ServerConnectionLimits) -> Void = { _ in }) -> ServerConnectionStateMachine {
    var limits = ServerConnectionLimits()
    configure(&limits)
    var machine = ServerConnectionStateMachine(limits: limits, nowNanoseconds: 0)
    #expect(machine.helloReceived() == .authenticate)
    machine.welcomed()
    return machine
}

extension ServerConnectionStateMachine {
    fileprivate mutating func call(
        _ stream: UInt32, _ method: Method = .recordsModify, timeoutMilliseconds: UInt64 = 0, at now: UInt64 = 0
    ) -> CallAction {
        callReceived(
            stream: stream, method: method.rawValue, isKnown: method.isKnown,
            isStreaming: method == .notificationsOpen, timeoutMilliseconds: timeoutMilliseconds, nowNanoseconds: now)
    }
}

@Suite struct ServerConnectionStateMachineTests {
    @Test("a call, its message and its answer") func unaryCall() {
        var machine = serving()
        #expect(machine.call(1) == .none)
        #expect(machine.openCallCount == 1)
        #expect(machine.messageReceived(stream: 1, isLast: true, byteCount: 10) == .request(method: 32))
        #expect(machine.answered(stream: 1) != nil)
        #expect(machine.answered(stream: 1) == nil, "an answer is given once")
        #expect(machine.openCallCount == 0)
    }

    @Test("nothing may come before the hello") func beforeHello() {
        var machine = ServerConnectionStateMachine(limits: ServerConnectionLimits(), nowNanoseconds: 0)
        guard case .violate = machine.call(1) else { return #expect(Bool(false), "a call came before the hello") }
        guard case .violate = machine.messageReceived(stream: 1, isLast: true, byteCount: 0) else {
            return #expect(Bool(false), "a message came before the hello")
        }
        guard case .violate = machine.pingReceived(byteCount: 8, nowNanoseconds: 0) else {
            return #expect(Bool(false), "a ping came before the hello")
        }
        #expect(machine.helloReceived() == .authenticate)
        guard case .violate = machine.helloReceived() else { return #expect(Bool(false), "two hellos came") }
    }

    @Test("a stream id is used once, upwards") func streamIDs() {
        var machine = serving()
        #expect(machine.call(5) == .none)
        for stream in [UInt32(5), 4, 0] {
            guard case .violate = machine.call(stream) else {
                #expect(Bool(false), "stream \(stream) was opened behind 5")
                continue
            }
        }
    }

    @Test("frames for a stream that was never opened are violations, for one that ended they are late")
    func unknownStreams() {
        var machine = serving()
        _ = machine.call(3)
        _ = machine.messageReceived(stream: 3, isLast: true, byteCount: 1)
        #expect(machine.answered(stream: 3) != nil)
        #expect(machine.messageReceived(stream: 3, isLast: true, byteCount: 1) == .ignore)
        #expect(machine.cancelReceived(stream: 3) == .ignore)
        #expect(machine.creditReceived(stream: 3, one) == .ignore)
        guard case .violate = machine.messageReceived(stream: 4, isLast: true, byteCount: 1),
            case .violate = machine.cancelReceived(stream: 4),
            case .violate = machine.creditReceived(stream: 4, one)
        else { return #expect(Bool(false), "stream 4 was never opened") }
    }

    @Test("an unknown method fails its call alone") func unknownMethod() {
        var machine = serving()
        guard case .refuse(let status) = machine.call(1, Method(rawValue: 9999)) else {
            return #expect(Bool(false), "the method is unknown")
        }
        #expect(status.code == ErrorCode.invalidArguments.rawValue)
        #expect(machine.call(2) == .none)
    }

    @Test("one call too many is told to come back") func tooManyCalls() {
        var machine = serving { $0.concurrentCalls = 2 }
        #expect(machine.call(1) == .none)
        #expect(machine.call(2) == .none)
        guard case .refuse(let status) = machine.call(3) else { return #expect(Bool(false), "the limit is two") }
        #expect(status.code == ErrorCode.requestRateLimited.rawValue)
        #expect(status.retryAfterMilliseconds > 0)
        #expect(machine.cancelReceived(stream: 1) == .cancelled(method: 32))
        #expect(machine.call(4) == .none)
    }

    @Test("a call is over when its time is, and not before") func callDeadline() {
        var machine = serving()
        _ = machine.call(1, timeoutMilliseconds: 2_000)
        _ = machine.call(2, timeoutMilliseconds: 500_000)
        machine.bytesReceived(isInsideFrame: false, didCompleteFrame: true, nowNanoseconds: second)
        #expect(machine.timePassed(nowNanoseconds: 2 * second - 1).expired == [])
        #expect(machine.timePassed(nowNanoseconds: 2 * second).expired == [1])
        #expect(machine.answered(stream: 1) == nil)
        machine.bytesReceived(isInsideFrame: false, didCompleteFrame: true, nowNanoseconds: 60 * second)
        #expect(machine.timePassed(nowNanoseconds: 60 * second).expired == [2], "the server's own limit is a minute")
    }

    @Test("no hello in time ends the connection") func helloDeadline() {
        var machine = ServerConnectionStateMachine(limits: ServerConnectionLimits(), nowNanoseconds: 0)
        #expect(machine.timePassed(nowNanoseconds: 10 * second - 1).violation == nil)
        #expect(machine.timePassed(nowNanoseconds: 10 * second).violation?.code == ErrorCode.networkFailure.rawValue)
    }

    @Test("the time for a hello begins when the handshake is done") func helloDeadlineBehindHandshake() {
        var machine = ServerConnectionStateMachine(limits: ServerConnectionLimits(), nowNanoseconds: 0)
        machine.handshakeEnded(nowNanoseconds: 9 * second)
        #expect(machine.timePassed(nowNanoseconds: 19 * second - 1).violation == nil)
        #expect(machine.timePassed(nowNanoseconds: 19 * second).violation?.code == ErrorCode.networkFailure.rawValue)
    }

    @Test("a peer that is not read is not taken for silent, nor its frame for late") func readingHeldBack() {
        var machine = serving()
        machine.bytesReceived(isInsideFrame: true, didCompleteFrame: false, nowNanoseconds: 0)
        for tick in 1...200 {
            machine.readingHeldBack(nowNanoseconds: UInt64(tick) * second)
            #expect(machine.timePassed(nowNanoseconds: UInt64(tick) * second) == .init())
        }
        #expect(machine.timePassed(nowNanoseconds: 260 * second).sendsPing == true)
    }

    @Test("a frame that trickles ends the connection, however often bytes come") func frameDeadline() {
        var machine = serving()
        for tick in 0..<30 {
            machine.bytesReceived(isInsideFrame: true, didCompleteFrame: false, nowNanoseconds: UInt64(tick) * second)
        }
        #expect(machine.timePassed(nowNanoseconds: 30 * second - 1).violation == nil)
        #expect(machine.timePassed(nowNanoseconds: 30 * second).violation != nil)
    }

    @Test("a silent connection is pinged, and closed when it stays silent") func keepalive() {
        var machine = serving()
        #expect(machine.timePassed(nowNanoseconds: 59 * second) == .init())
        #expect(machine.timePassed(nowNanoseconds: 60 * second).sendsPing == true)
        #expect(machine.timePassed(nowNanoseconds: 61 * second).sendsPing == false, "one ping is enough")
        machine.bytesReceived(isInsideFrame: false, didCompleteFrame: true, nowNanoseconds: 70 * second)
        #expect(machine.timePassed(nowNanoseconds: 129 * second) == .init())
        #expect(machine.timePassed(nowNanoseconds: 130 * second).sendsPing == true)
        #expect(machine.timePassed(nowNanoseconds: 150 * second).violation != nil)
    }

    private let one = StreamCredit(messages: 1, bytes: 1)

    @Test("a stream sends with credit only, and gets more from its peer") func sendCredit() {
        var machine = serving {
            $0.streamCredit = 2
            $0.streamCreditBytes = 10
        }
        _ = machine.call(1, .notificationsOpen)
        #expect(machine.messageReceived(stream: 1, isLast: false, byteCount: 0) == .request(method: 80))
        #expect(machine.sendCredit(ofStream: 1) == StreamCredit(messages: 2, bytes: 10))
        machine.messagesSent(stream: 1, one)
        machine.messagesSent(stream: 1, one)
        #expect(!machine.sendCredit(ofStream: 1).allowsMessage)
        #expect(machine.creditReceived(stream: 1, StreamCredit(messages: 5, bytes: 0)) == .credited)
        #expect(machine.sendCredit(ofStream: 1) == StreamCredit(messages: 5, bytes: 8))
        // The last message may be larger than the credit, and the next one waits until that is made up for.
        machine.messagesSent(stream: 1, StreamCredit(messages: 1, bytes: 20))
        #expect(machine.creditReceived(stream: 1, StreamCredit(messages: 0, bytes: 12)) == .credited)
        #expect(!machine.sendCredit(ofStream: 1).allowsMessage)
        #expect(machine.creditReceived(stream: 1, one) == .credited)
        #expect(machine.sendCredit(ofStream: 1) == StreamCredit(messages: 5, bytes: 1))
        guard case .violate = machine.creditReceived(stream: 1, nil) else {
            return #expect(Bool(false), "a credit frame without eight bytes was taken")
        }
    }

    @Test("credit out of range ends its call alone, and is ignored for a call that has ended")
    func creditOutOfRange() {
        var machine = serving()
        let limits = ServerConnectionLimits()
        let messagesLeft = limits.streamCreditMax - limits.streamCredit
        let bytesLeft = limits.streamCreditBytesMax - limits.streamCreditBytes
        let unfit: [StreamCredit] = [
            .none, StreamCredit(messages: messagesLeft + 1, bytes: 0), StreamCredit(messages: 0, bytes: bytesLeft + 1),
        ]
        for (stream, credit) in zip(UInt32(1)..., unfit) {
            _ = machine.call(stream, .notificationsOpen)
            guard case .refuse(let status) = machine.creditReceived(stream: stream, credit) else {
                return #expect(Bool(false), "\(credit) was taken, or ended the connection")
            }
            #expect(status.code == ErrorCode.invalidArguments.rawValue)
            #expect(machine.answered(stream: stream) == nil)
            #expect(machine.creditReceived(stream: stream, credit) == .ignore)
        }
        #expect(machine.openStreamCount == 0)
        // The largest credit that a stream may have.
        _ = machine.call(4, .notificationsOpen)
        #expect(
            machine.creditReceived(stream: 4, StreamCredit(messages: messagesLeft, bytes: bytesLeft)) == .credited)
        guard case .refuse = machine.creditReceived(stream: 4, one) else {
            return #expect(Bool(false), "credit above the limit was taken")
        }
        for credit in unfit {
            guard case .violate = machine.creditReceived(stream: 5, credit) else {
                return #expect(Bool(false), "stream 5 was never opened")
            }
        }
    }

    @Test("a stream takes bytes up to its credit and one message beyond, and grants them again at half")
    func receiveCreditOfBytes() {
        var machine = serving { $0.streamCreditBytes = 100 }
        _ = machine.call(1, .notificationsOpen)
        #expect(machine.messageReceived(stream: 1, isLast: false, byteCount: 99) == .request(method: 80))
        #expect(machine.messageReceived(stream: 1, isLast: false, byteCount: 500) == .streamMessage(method: 80))
        var exhausted = machine
        guard case .refuse(let status) = exhausted.messageReceived(stream: 1, isLast: false, byteCount: 1) else {
            return #expect(Bool(false), "bytes came without credit")
        }
        #expect(status.code == ErrorCode.limitExceeded.rawValue)
        #expect(machine.messagesProcessed(stream: 1, StreamCredit(messages: 1, bytes: 49)) == nil)
        #expect(
            machine.messagesProcessed(stream: 1, StreamCredit(messages: 1, bytes: 451))
                == StreamCredit(messages: 2, bytes: 500))
        #expect(machine.messageReceived(stream: 1, isLast: false, byteCount: 1) == .streamMessage(method: 80))
    }

    @Test("acknowledgements are granted again at half, and refused without credit") func receiveCredit() {
        var machine = serving { $0.streamCredit = 4 }
        _ = machine.call(1, .notificationsOpen)
        #expect(machine.messageReceived(stream: 1, isLast: false, byteCount: 0) == .request(method: 80))
        for _ in 0..<2 {
            #expect(machine.messageReceived(stream: 1, isLast: false, byteCount: 9) == .streamMessage(method: 80))
        }
        // What has come but had no effect yet earns nothing.
        #expect(machine.messagesProcessed(stream: 1, .none) == nil)
        #expect(machine.messagesProcessed(stream: 1, one) == nil)
        #expect(machine.messagesProcessed(stream: 1, one) == StreamCredit(messages: 2, bytes: 2))
        #expect(machine.messagesProcessed(stream: 7, StreamCredit(messages: 9, bytes: 9)) == nil)
        #expect(machine.messageReceived(stream: 1, isLast: true, byteCount: 0) == .streamEnded(method: 80))
        guard case .violate = machine.messageReceived(stream: 1, isLast: false, byteCount: 1) else {
            return #expect(Bool(false), "a message came behind the last one")
        }
    }

    @Test("the last message of a stream may say something, and may be the first")
    func lastMessage() {
        var machine = serving()
        _ = machine.call(1, .notificationsOpen)
        #expect(machine.messageReceived(stream: 1, isLast: false, byteCount: 0) == .request(method: 80))
        #expect(
            machine.messageReceived(stream: 1, isLast: true, byteCount: 9)
                == .streamMessage(method: 80, endsStream: true))
        _ = machine.call(2, .notificationsOpen)
        #expect(
            machine.messageReceived(stream: 2, isLast: true, byteCount: 0) == .request(method: 80, endsStream: true))
        for stream in [UInt32(1), 2] {
            guard case .violate = machine.messageReceived(stream: stream, isLast: true, byteCount: 0) else {
                return #expect(Bool(false), "a message came after the last one")
            }
        }
    }

    @Test("more than a ping every fifty milliseconds ends the connection") func pingFlood() {
        var machine = serving()
        for _ in 0..<20 { #expect(machine.pingReceived(byteCount: 8, nowNanoseconds: second) == .pong) }
        guard case .violate(let status) = machine.pingReceived(byteCount: 8, nowNanoseconds: second) else {
            return #expect(Bool(false), "twenty pings a second are the limit")
        }
        #expect(status.code == ErrorCode.requestRateLimited.rawValue)
    }

    @Test("a draining server answers what is in flight and refuses what is new") func draining() {
        var machine = serving()
        _ = machine.call(1)
        _ = machine.call(2, .notificationsOpen)
        machine.drain()
        guard case .refuse(let status) = machine.call(3) else { return #expect(Bool(false), "the server drains") }
        #expect(status.code == ErrorCode.serviceUnavailable.rawValue)
        #expect(machine.openStreams == [2])
        #expect(machine.answered(stream: 2) != nil)
        #expect(machine.openStreams == [])
        #expect(machine.unaryCallCount == 1)
        #expect(machine.answered(stream: 1) != nil)
        #expect(machine.unaryCallCount == 0)
    }
}
