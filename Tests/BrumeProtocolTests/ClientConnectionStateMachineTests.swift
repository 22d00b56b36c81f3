import BrumeModel
import BrumeProtocol
import Testing

private typealias Machine = ClientConnectionStateMachine
private typealias Action = ClientConnectionStateMachine.Action

private let second: UInt64 = 1_000_000_000
private let call = CallHeader(method: .recordsFetch, timeoutMilliseconds: 60_000)
private let notifications = CallHeader(method: .notificationsOpen)

private func welcome(_ limits: ConnectionLimits = ConnectionLimits()) -> Welcome {
    Welcome(serverVersion: "1", userRecordName: "_a", serverEpoch: 1, limits: limits)
}

/// A machine behind its welcome.
private func opened(_ limits: ConnectionLimits = ConnectionLimits()) -> Machine {
    var machine = Machine(now: 0)
    #expect(machine.frameReceived(.welcome(welcome(limits))) == [.welcomed(welcome(limits))])
    return machine
}

private func violation(_ actions: [Action]) -> String? {
    guard actions.count == 1, case .close(.violation(let message))? = actions.first else { return nil }
    return message
}

@Suite struct ClientConnectionStateMachineTests {
    // MARK: Greeting

    @Test("before the welcome frames are small and no call starts") func greeting() {
        var machine = Machine(now: 0)
        #expect(machine.payloadBytesLimit == 64 * 1024)
        #expect(!machine.mayStartCall)
        _ = machine.frameReceived(.welcome(welcome()))
        #expect(machine.payloadBytesLimit == Limits.frameBytes)
        #expect(machine.mayStartCall)
    }

    @Test("a status instead of the welcome refuses and closes") func refused() {
        var machine = Machine(now: 0)
        let status = CallStatus(code: 9, message: "the token is unknown")
        #expect(machine.frameReceived(.status(stream: 0, status)) == [.refused(status), .close(.status(status))])
        #expect(machine.state == .closed)
    }

    @Test("a server that does not say welcome within 10 s is left") func slowGreeting() {
        var machine = Machine(now: second)
        #expect(machine.timePassed(now: 11 * second - 1) == [])
        #expect(machine.timePassed(now: 11 * second) == [.close(.silence)])
    }

    @Test("a second welcome is a violation") func secondWelcome() {
        var machine = opened()
        #expect(violation(machine.frameReceived(.welcome(welcome()))) != nil)
    }

    @Test("limits that nobody can work with are a violation") func uselessLimits() {
        for limits in [
            ConnectionLimits(frameBytes: 10), ConnectionLimits(concurrentCalls: 1), ConnectionLimits(streamCredit: 0),
            ConnectionLimits(streamCreditBytes: 1_023),
            ConnectionLimits(idleMilliseconds: 0),
        ] {
            var machine = Machine(now: 0)
            #expect(violation(machine.frameReceived(.welcome(welcome(limits)))) != nil)
        }
    }

    @Test("a frame limit of 4 GB is cut to what a client can hold") func hugeFrames() {
        // The server may send more than it takes.
        let small = opened(ConnectionLimits(frameBytes: 512 * 1024))
        #expect(small.payloadBytesLimit == Limits.frameBytes)
        #expect(small.limits.frameBytes == 512 * 1024)
        #expect(opened(ConnectionLimits(frameBytes: 4_000_000_000)).payloadBytesLimit == 64 * 1024 * 1024)
    }

    // MARK: Unary calls

    @Test("calls get rising stream ids and their answers in any order") func answers() {
        var machine = opened()
        #expect(
            machine.callStarted(id: 70, header: call, payload: [1])
                == [.send(.call(stream: 1, call, payload: [1], isLast: true))])
        #expect(
            machine.callStarted(id: 71, header: call, payload: [2])
                == [.send(.call(stream: 2, call, payload: [2], isLast: true))])
        #expect(machine.openUnaryCalls == 2)
        let status = CallStatus(code: 26, message: "no such zone")
        #expect(machine.frameReceived(.status(stream: 2, status)) == [.callFailed(id: 71, status)])
        #expect(
            machine.frameReceived(.message(stream: 1, payload: [9], isLast: true))
                == [.callAnswered(id: 70, payload: [9])])
        #expect(machine.openUnaryCalls == 0)
    }

    @Test("a cancelled call is told to the server, and its late answer is nobody's") func cancel() {
        var machine = opened()
        _ = machine.callStarted(id: 5, header: call, payload: [])
        #expect(machine.callCancelled(id: 5) == [.send(.cancel(stream: 1))])
        #expect(machine.callCancelled(id: 5) == [])
        #expect(machine.frameReceived(.message(stream: 1, payload: [9], isLast: true)) == [])
        #expect(machine.frameReceived(.status(stream: 1, CallStatus(code: 20))) == [])
    }

    @Test("no more calls start than the server takes") func concurrency() {
        var machine = opened(ConnectionLimits(concurrentCalls: 2))
        _ = machine.callStarted(id: 1, header: call, payload: [])
        _ = machine.callStarted(id: 2, header: call, payload: [])
        #expect(!machine.mayStartCall)
        _ = machine.frameReceived(.message(stream: 1, payload: [], isLast: true))
        #expect(machine.mayStartCall)
    }

    @Test("what breaks the protocol closes and says why") func violations() {
        let broken: [(ServerFrame, String)] = [
            (.message(stream: 3, payload: [], isLast: true), "never opened"),
            (.status(stream: 3, CallStatus(code: 1)), "never opened"),
            (.credit(stream: 3, StreamCredit(messages: 1, bytes: 1)), "never opened"),
            (.message(stream: 1, payload: [], isLast: false), "more than one message"),
            (.status(stream: 1, CallStatus(code: 0)), "without an answer"),
            (.credit(stream: 1, StreamCredit(messages: 1, bytes: 1)), "unary call"),
        ]
        for (frame, words) in broken {
            var machine = opened()
            _ = machine.callStarted(id: 1, header: call, payload: [])
            let message = violation(machine.frameReceived(frame))
            #expect(message?.contains(words) == true, "\(frame): \(message ?? "no violation")")
            #expect(machine.frameReceived(.ping(1)) == [], "a closed machine answers nothing")
            #expect(machine.deadlineNanoseconds == nil)
        }
    }

    @Test("a status on stream 0 ends the connection") func connectionStatus() {
        var machine = opened()
        let status = CallStatus(code: 12, message: "a frame on the wrong stream")
        #expect(machine.frameReceived(.status(stream: 0, status)) == [.close(.status(status))])
    }

    // MARK: Streams

    @Test("a stream takes messages up to its credit, which is granted anew in steps of half") func receiveCredit() {
        var machine = opened(ConnectionLimits(streamCredit: 4))
        #expect(
            machine.streamStarted(id: 9, header: notifications, payload: [7])
                == [.send(.call(stream: 1, notifications, payload: [7], isLast: false))])
        for byte in 0..<4 as Range<UInt8> {
            #expect(
                machine.frameReceived(.message(stream: 1, payload: [byte], isLast: false))
                    == [.streamMessageReceived(id: 9, payload: [byte])])
        }
        let one = StreamCredit(messages: 1, bytes: 1)
        #expect(machine.streamMessagesTaken(id: 9, one) == [])
        #expect(
            machine.streamMessagesTaken(id: 9, one) == [.send(.credit(stream: 1, StreamCredit(messages: 2, bytes: 2)))])
        for byte in 4..<6 as Range<UInt8> {
            #expect(
                machine.frameReceived(.message(stream: 1, payload: [byte], isLast: false))
                    == [.streamMessageReceived(id: 9, payload: [byte])])
        }
        #expect(violation(machine.frameReceived(.message(stream: 1, payload: [6], isLast: false))) != nil)
    }

    @Test("a stream takes bytes up to its credit, and one message beyond, and grants them anew in steps of half")
    func receiveCreditOfBytes() {
        var machine = opened(ConnectionLimits(streamCreditBytes: 2_000))
        _ = machine.streamStarted(id: 9, header: notifications, payload: [7])
        for byteCount in [1_999, 500] {
            let payload = [UInt8](repeating: 1, count: byteCount)
            #expect(
                machine.frameReceived(.message(stream: 1, payload: payload, isLast: false))
                    == [.streamMessageReceived(id: 9, payload: payload)])
        }
        var exhausted = machine
        #expect(violation(exhausted.frameReceived(.message(stream: 1, payload: [], isLast: false))) != nil)
        #expect(machine.streamMessagesTaken(id: 9, StreamCredit(messages: 1, bytes: 999)) == [])
        #expect(
            machine.streamMessagesTaken(id: 9, StreamCredit(messages: 0, bytes: 1))
                == [.send(.credit(stream: 1, StreamCredit(messages: 1, bytes: 1_000)))])
        #expect(violation(machine.frameReceived(.message(stream: 1, payload: [1], isLast: false))) == nil)
    }

    @Test("the opening message uses credit, and more credit makes a stream writable again") func sendCredit() {
        var machine = opened(ConnectionLimits(streamCredit: 2, streamCreditBytes: 1_024))
        _ = machine.streamStarted(id: 9, header: notifications, payload: [1, 2])
        #expect(machine.sendCredit(ofStream: 9) == StreamCredit(messages: 1, bytes: 1_022))
        #expect(machine.streamMessageSent(id: 9, payload: [1]) == [.send(.message(stream: 1, payload: [1]))])
        #expect(machine.sendCredit(ofStream: 9) == StreamCredit(messages: 0, bytes: 1_021))
        #expect(
            machine.frameReceived(.credit(stream: 1, StreamCredit(messages: 2, bytes: 0)))
                == [.streamBecameWritable(id: 9)])
        // A message may take the bytes below zero, and then the stream waits for bytes.
        _ = machine.streamMessageSent(id: 9, payload: [UInt8](repeating: 1, count: 2_000))
        #expect(!machine.sendCredit(ofStream: 9).allowsMessage)
        #expect(machine.frameReceived(.credit(stream: 1, StreamCredit(messages: 5, bytes: 979))) == [])
        #expect(
            machine.frameReceived(.credit(stream: 1, StreamCredit(messages: 0, bytes: 1)))
                == [.streamBecameWritable(id: 9)])
        let much = StreamCredit(messages: Int(UInt32.max), bytes: Int(UInt32.max))
        for _ in 0..<3 { #expect(machine.frameReceived(.credit(stream: 1, much)) == []) }
        #expect(machine.sendCredit(ofStream: 9) == ClientConnectionLimits.streamCreditMax)
    }

    @Test("a status ends a stream") func streamEnds() {
        var machine = opened()
        _ = machine.streamStarted(id: 9, header: notifications, payload: [])
        #expect(machine.frameReceived(.message(stream: 1, payload: [], isLast: true)) == [])
        let status = CallStatus(code: 20, message: "another stream was opened")
        #expect(machine.frameReceived(.status(stream: 1, status)) == [.streamEnded(id: 9, status)])
        #expect(machine.sendCredit(ofStream: 9) == .none)
    }

    // MARK: Goodbye

    @Test("after a goaway calls in flight end, streams give way, and then the connection closes") func goaway() {
        var machine = opened()
        _ = machine.callStarted(id: 1, header: call, payload: [])
        _ = machine.streamStarted(id: 2, header: notifications, payload: [])
        let goaway = Goaway(reason: CallStatus(code: 6, message: "stopping"), reconnectAfterMilliseconds: 500)
        #expect(
            machine.frameReceived(.goaway(goaway))
                == [.drainingStarted(goaway), .send(.cancel(stream: 2)), .streamEnded(id: 2, nil)])
        #expect(!machine.mayStartCall)
        #expect(machine.frameReceived(.goaway(goaway)) == [])
        #expect(
            machine.frameReceived(.message(stream: 1, payload: [5], isLast: true))
                == [.callAnswered(id: 1, payload: [5]), .close(.drained)])
    }

    @Test("an idle connection closes at once when the server says goodbye") func idleGoaway() {
        var machine = opened()
        #expect(machine.frameReceived(.goaway(Goaway())) == [.drainingStarted(Goaway()), .close(.drained)])
    }

    // MARK: Liveness

    @Test("pings are answered, and our own pongs tell the round trip") func pings() {
        var machine = opened()
        #expect(machine.frameReceived(.ping(77)) == [.send(.pong(77))])
        #expect(machine.pingRequested(5) == [.send(.ping(5))])
        #expect(machine.frameReceived(.pong(5)) == [.pongReceived(5)])
        #expect(machine.frameReceived(.pong(0)) == [])
    }

    @Test("a silent server is pinged after the idle time, and left when it stays silent") func silence() {
        var machine = opened(ConnectionLimits(idleMilliseconds: 60_000))
        #expect(machine.timePassed(now: 60 * second - 1) == [])
        #expect(machine.timePassed(now: 60 * second) == [.send(.ping(0))])
        #expect(machine.timePassed(now: 70 * second - 1) == [])
        var answered = machine
        answered.bytesReceived(now: 65 * second)
        #expect(answered.timePassed(now: 70 * second) == [])
        #expect(answered.deadlineNanoseconds == 125 * second)
        #expect(machine.timePassed(now: 70 * second) == [.close(.silence)])
    }

    @Test("who waits for an answer pings sooner") func silenceInCall() {
        var machine = opened()
        _ = machine.callStarted(id: 1, header: call, payload: [])
        #expect(machine.timePassed(now: 15 * second) == [.send(.ping(0))])
    }
}

@Suite struct ServerFrameTests {
    private func decode(_ header: FrameHeader, _ payload: [UInt8]) -> Result<ServerFrame, ServerFrame.Violation> {
        payload.withUnsafeBytes { bytes in
            Result { () throws(ServerFrame.Violation) in try ServerFrame(header, bytes, coder: MessageCoder()) }
        }
    }

    @Test("what only clients send, wrong streams, wrong sizes and unreadable messages are violations") func violations()
    {
        let broken: [(FrameType, UInt32, [UInt8])] = [
            (.hello, 0, []), (.call, 1, []), (.cancel, 1, []), (.welcome, 1, []), (.ping, 1, Array(0..<8)),
            (.pong, 2, Array(0..<8)), (.goaway, 3, []), (.message, 0, []), (.credit, 0, [0, 0, 0, 1, 0, 0, 0, 1]),
            (.ping, 0, [1]), (.pong, 0, Array(0..<9)), (.credit, 1, [0, 0, 0, 1]), (.welcome, 0, [0xFF]),
            (.status, 0, [0xFF]), (.goaway, 0, [0xFF]), (.welcome, 0, []),
        ]
        for (type, stream, payload) in broken {
            let header = FrameHeader(type: type, stream: stream, payloadByteCount: payload.count)
            guard case .failure = decode(header, payload) else {
                Issue.record("\(type) on stream \(stream) with \(payload.count) bytes was taken")
                continue
            }
        }
    }

    @Test("frames of a server are read as what they say") func reads() {
        let coder = MessageCoder()
        let status = CallStatus(code: 7, message: "slow down", retryAfterMilliseconds: 9)
        let goaway = Goaway(reason: status, reconnectAfterMilliseconds: 3)
        let frames: [(FrameType, UInt32, Bool, [UInt8], ServerFrame)] = [
            (.welcome, 0, false, coder.encodeWelcome(welcome()), .welcome(welcome())),
            (.status, 0, false, coder.encodeStatus(status), .status(stream: 0, status)),
            (.status, 4, false, coder.encodeStatus(status), .status(stream: 4, status)),
            (.goaway, 0, false, coder.encodeGoaway(goaway), .goaway(goaway)),
            (.message, 2, true, [1, 2], .message(stream: 2, payload: [1, 2], isLast: true)),
            (
                .credit, 2, false, [0, 0, 1, 0, 0, 1, 0, 0],
                .credit(stream: 2, StreamCredit(messages: 256, bytes: 65_536))
            ),
            (.ping, 0, false, [0, 0, 0, 0, 0, 0, 0, 7], .ping(7)),
            (.pong, 0, false, [1, 0, 0, 0, 0, 0, 0, 0], .pong(1 << 56)),
        ]
        for (type, stream, isLast, payload, expected) in frames {
            let header = FrameHeader(type: type, stream: stream, isLast: isLast, payloadByteCount: payload.count)
            #expect(decode(header, payload) == .success(expected))
        }
    }
}
