package import BrumeModel

/// The client's side of one connection: the greeting, calls, streams, the peer's liveness, and the goodbye.
///
/// Pure: time is an argument (monotonic nanoseconds), and each event returns everything that is to be done, in order. A
/// lost connection is not restored here: its owner makes a new machine and restarts the calls that may be repeated.
///
/// `greeting` goes to `open` or `closed`, `open` to `draining` or `closed`, `draining` to `closed`. In `closed` every
/// event is a late one, and does nothing.
package struct ClientConnectionStateMachine: Sendable {
    package enum State: Equatable, Sendable {
        /// Our hello left; the server's welcome is due.
        case greeting
        /// Calls may be started.
        case open
        /// The server is about to close: calls in flight may end, and none may be started.
        case draining
        case closed
    }

    package enum Action: Equatable, Sendable {
        case send(ClientFrame)
        /// The server accepted the hello: calls may be started.
        case welcomed(Welcome)
        /// The server refused the hello. The connection closes.
        case refused(CallStatus)
        case callAnswered(id: UInt64, payload: [UInt8])
        case callFailed(id: UInt64, CallStatus)
        case streamMessageReceived(id: UInt64, payload: [UInt8])
        /// The server granted credit to a stream that had none.
        case streamBecameWritable(id: UInt64)
        /// The stream ended with the server's status, or nil when the server's goodbye ended it: open it again
        /// elsewhere.
        case streamEnded(id: UInt64, CallStatus?)
        /// The answer to ``ClientConnectionStateMachine/pingRequested(_:)``.
        case pongReceived(UInt64)
        /// The server is about to close, and asks the client to reconnect after the given time.
        case drainingStarted(Goaway)
        /// Send what is pending, and close. No action follows it.
        case close(CloseCause)
    }

    /// Why the machine ends the connection.
    package enum CloseCause: Equatable, Sendable {
        /// The server broke the protocol in the way that the text describes.
        case violation(String)
        /// Nothing came for too long, not even a pong.
        case silence
        /// The server ended the connection with a status.
        case status(CallStatus)
        /// The server said goodbye, and the calls in flight have ended.
        case drained
    }

    private struct Stream: Sendable {
        /// What we may send.
        var sendCredit: StreamCredit
        /// What the server may send.
        var receiveCredit: StreamCredit
        /// What was taken and is not granted anew yet.
        var taken = StreamCredit.none
    }

    private enum Call: Sendable {
        case unary(id: UInt64)
        case stream(id: UInt64, Stream)
    }

    package private(set) var state = State.greeting
    /// The limits from the welcome; only meaningful after it.
    package private(set) var limits = ConnectionLimits()
    /// Open calls and streams by their stream id on the wire.
    private var calls: [UInt32: Call] = [:]
    private var streamIDs: [UInt64: UInt32] = [:]
    private var unaryCalls = 0
    private var lastStreamID: UInt32 = 0
    private let startedNanoseconds: UInt64
    private var lastReceivedNanoseconds: UInt64
    private var pingSentNanoseconds: UInt64?

    /// The transport is connected, and hello is the first that is sent on it.
    package init(now: UInt64) {
        startedNanoseconds = now
        lastReceivedNanoseconds = now
    }

    /// The largest payload of the server's next frame.
    package var payloadBytesLimit: Int {
        if state == .greeting { return ClientConnectionLimits.greetingFrameBytes }
        return max(limits.frameBytes, ClientConnectionLimits.answerFrameBytes)
    }

    /// Whether a call or stream may be started.
    package var mayStartCall: Bool {
        state == .open && calls.count < limits.concurrentCalls && lastStreamID < ClientConnectionLimits.streamIDMax
    }

    /// Whether the connection has used up its stream ids and can carry no more calls.
    package var isUsedUp: Bool { state == .open && lastStreamID >= ClientConnectionLimits.streamIDMax }

    /// Unary calls that the server has not answered.
    package var openUnaryCalls: Int { unaryCalls }

    // MARK: Calls

    /// The owner starts a unary call; ``mayStartCall`` must hold, and the payload fit into a frame.
    package mutating func callStarted(id: UInt64, header: CallHeader, payload: [UInt8]) -> [Action] {
        let stream = open(.unary(id: id), id: id)
        unaryCalls += 1
        return [.send(.call(stream: stream, header, payload: payload, isLast: true))]
    }

    /// The owner opens a stream with its first message; ``mayStartCall`` must hold.
    package mutating func streamStarted(id: UInt64, header: CallHeader, payload: [UInt8]) -> [Action] {
        let credit = initialCredit
        var opened = Stream(sendCredit: credit, receiveCredit: credit)
        opened.sendCredit -= StreamCredit(messages: 1, bytes: payload.count)
        let stream = open(.stream(id: id, opened), id: id)
        return [.send(.call(stream: stream, header, payload: payload, isLast: false))]
    }

    /// What each side of a stream begins with.
    private var initialCredit: StreamCredit {
        StreamCredit(messages: limits.streamCredit, bytes: limits.streamCreditBytes)
    }

    /// What may be sent on a stream; nothing for one that ended.
    package func sendCredit(ofStream id: UInt64) -> StreamCredit {
        guard let stream = streamIDs[id], case .stream(_, let value)? = calls[stream] else { return .none }
        return value.sendCredit
    }

    /// The owner sends a message on a stream, which has to have credit.
    package mutating func streamMessageSent(id: UInt64, payload: [UInt8]) -> [Action] {
        guard let stream = streamIDs[id], case .stream(_, var value)? = calls[stream], value.sendCredit.allowsMessage
        else {
            preconditionFailure("a message needs an open stream with credit: ask sendCredit(ofStream:) first")
        }
        value.sendCredit -= StreamCredit(messages: 1, bytes: payload.count)
        calls[stream] = .stream(id: id, value)
        return [.send(.message(stream: stream, payload: payload))]
    }

    /// The owner consumed messages of a stream. Credit is granted once half of it is used. Does nothing for a stream
    /// that has ended.
    package mutating func streamMessagesTaken(id: UInt64, _ taken: StreamCredit) -> [Action] {
        guard let stream = streamIDs[id], case .stream(_, var value)? = calls[stream] else { return [] }
        value.taken += taken
        var actions: [Action] = []
        if value.taken.isHalf(of: initialCredit) {
            value.receiveCredit += value.taken
            actions.append(.send(.credit(stream: stream, value.taken)))
            value.taken = .none
        }
        calls[stream] = .stream(id: id, value)
        return actions
    }

    /// The owner no longer wants the answer: its caller gave up, or a deadline passed. Does nothing for a call that has
    /// ended.
    package mutating func callCancelled(id: UInt64) -> [Action] {
        guard let stream = streamIDs[id] else { return [] }
        end(stream)
        return [.send(.cancel(stream: stream))] + closeWhenDrained()
    }

    /// The owner measures a round trip. The answer is a ``Action/pongReceived(_:)`` with the same token, which is not
    /// 0.
    package func pingRequested(_ token: UInt64) -> [Action] {
        precondition(token != 0, "0 is the token of the machine's own pings")
        return state == .open || state == .draining ? [.send(.ping(token))] : []
    }

    // MARK: Time

    /// The latest time to call ``timePassed(now:)``; nil when the connection is closed.
    package var deadlineNanoseconds: UInt64? {
        switch state {
        case .greeting: startedNanoseconds + ClientConnectionLimits.greetingNanoseconds
        case .open, .draining:
            if let pingSentNanoseconds {
                pingSentNanoseconds + ClientConnectionLimits.pongNanoseconds(idle: limits.idleMilliseconds)
            } else {
                lastReceivedNanoseconds + silenceNanoseconds
            }
        case .closed: nil
        }
    }

    package mutating func timePassed(now: UInt64) -> [Action] {
        guard let deadline = deadlineNanoseconds, now >= deadline else { return [] }
        if state == .greeting || pingSentNanoseconds != nil { return close(.silence) }
        pingSentNanoseconds = now
        return [.send(.ping(0))]
    }

    /// The silence after which the server is pinged. It is shorter while a caller waits for an answer, because the
    /// caller wants to know sooner whether the server is alive.
    private var silenceNanoseconds: UInt64 {
        let idle = UInt64(limits.idleMilliseconds) * 1_000_000
        return unaryCalls > 0 ? min(idle, ClientConnectionLimits.silenceInCallNanoseconds) : idle
    }

    // MARK: From the server

    /// Bytes arrived, possibly only a part of a frame.
    package mutating func bytesReceived(now: UInt64) {
        lastReceivedNanoseconds = now
        pingSentNanoseconds = nil
    }

    /// The server sent something that is not a frame, or a frame that can't be read.
    package mutating func violated(_ message: String) -> [Action] {
        state == .closed ? [] : close(.violation(message))
    }

    package mutating func frameReceived(_ frame: ServerFrame) -> [Action] {
        guard state != .closed else { return [] }
        switch frame {
        case .welcome(let welcome): return welcomeReceived(welcome)
        case .status(stream: 0, let status):
            guard state == .greeting else { return close(.status(status)) }
            return [.refused(status)] + close(.status(status))
        case .ping(let token): return [.send(.pong(token))]
        case .pong(let token): return token == 0 ? [] : [.pongReceived(token)]
        case .goaway(let goaway): return goawayReceived(goaway)
        case .message(let stream, let payload, let isLast):
            guard isKnown(stream) else { return violated(Self.neverOpened(stream)) }
            return messageReceived(stream, payload, isLast: isLast)
        case .status(let stream, let status):
            guard isKnown(stream) else { return violated(Self.neverOpened(stream)) }
            return statusReceived(stream, status)
        case .credit(let stream, let credit):
            guard isKnown(stream) else { return violated(Self.neverOpened(stream)) }
            return creditReceived(stream, credit)
        }
    }

    private mutating func welcomeReceived(_ welcome: Welcome) -> [Action] {
        guard state == .greeting else { return violated("the server said welcome twice") }
        guard let checked = ClientConnectionLimits.checked(welcome.limits) else {
            return violated(
                "the limits in the server's welcome are too small to work with: server and client are of versions that don't "
                    + "fit; upgrade the older one")
        }
        limits = checked
        state = .open
        return [.welcomed(welcome)]
    }

    private mutating func goawayReceived(_ goaway: Goaway) -> [Action] {
        guard state != .draining else { return [] }
        var actions: [Action] = [.drainingStarted(goaway)]
        if state == .greeting { return actions + close(.drained) }
        state = .draining
        // Streams do not end by themselves, and their owner can resume them on the next connection.
        for (stream, call) in calls.sorted(by: { $0.key < $1.key }) {
            guard case .stream(let id, _) = call else { continue }
            end(stream)
            actions += [.send(.cancel(stream: stream)), .streamEnded(id: id, nil)]
        }
        return actions + closeWhenDrained()
    }

    private mutating func messageReceived(_ stream: UInt32, _ payload: [UInt8], isLast: Bool) -> [Action] {
        switch calls[stream] {
        case nil:
            // The server sent this before our cancel reached it.
            return []
        case .unary(let id)?:
            guard isLast else { return violated("the server answered a unary call with more than one message") }
            end(stream)
            return [.callAnswered(id: id, payload: payload)] + closeWhenDrained()
        case .stream(let id, var value)?:
            // An empty last message ends the server's side alone; its status ends the call.
            if isLast, payload.isEmpty { return [] }
            guard value.receiveCredit.allowsMessage else {
                return violated("the server sent more on a stream than it had credit for")
            }
            value.receiveCredit -= StreamCredit(messages: 1, bytes: payload.count)
            calls[stream] = .stream(id: id, value)
            return [.streamMessageReceived(id: id, payload: payload)]
        }
    }

    private mutating func statusReceived(_ stream: UInt32, _ status: CallStatus) -> [Action] {
        switch calls[stream] {
        case nil: return []
        case .unary(let id)?:
            guard status.code != 0 else {
                return violated("the server ended a unary call with success and without an answer")
            }
            end(stream)
            return [.callFailed(id: id, status)] + closeWhenDrained()
        case .stream(let id, _)?:
            end(stream)
            return [.streamEnded(id: id, status)]
        }
    }

    private mutating func creditReceived(_ stream: UInt32, _ credit: StreamCredit) -> [Action] {
        switch calls[stream] {
        case nil: return []
        case .unary?: return violated("the server granted credit to a unary call")
        case .stream(let id, var value)?:
            let wasWritable = value.sendCredit.allowsMessage
            value.sendCredit += credit
            // More than could ever be used, so that the sum can't overflow.
            let max = ClientConnectionLimits.streamCreditMax
            value.sendCredit = StreamCredit(
                messages: min(value.sendCredit.messages, max.messages), bytes: min(value.sendCredit.bytes, max.bytes))
            calls[stream] = .stream(id: id, value)
            return wasWritable || !value.sendCredit.allowsMessage ? [] : [.streamBecameWritable(id: id)]
        }
    }

    // MARK: The end

    private mutating func close(_ cause: CloseCause) -> [Action] {
        state = .closed
        calls = [:]
        streamIDs = [:]
        unaryCalls = 0
        return [.close(cause)]
    }

    private mutating func closeWhenDrained() -> [Action] {
        state == .draining && unaryCalls == 0 ? close(.drained) : []
    }

    // MARK: Stream ids

    private func isKnown(_ stream: UInt32) -> Bool { stream <= lastStreamID }

    private static func neverOpened(_ stream: UInt32) -> String {
        "the server answered on stream \(stream), which was never opened"
    }

    private mutating func open(_ call: Call, id: UInt64) -> UInt32 {
        precondition(mayStartCall, "a call is started on an open connection, below its limit of calls")
        precondition(streamIDs[id] == nil, "a call is started once on a connection")
        lastStreamID += 1
        calls[lastStreamID] = call
        streamIDs[id] = lastStreamID
        return lastStreamID
    }

    private mutating func end(_ stream: UInt32) {
        switch calls.removeValue(forKey: stream) {
        case .unary(let id)?:
            streamIDs[id] = nil
            unaryCalls -= 1
        case .stream(let id, _)?:
            streamIDs[id] = nil
        case nil: break
        }
    }
}
