package import BrumeModel

/// The server's side of one connection: which frame may come when, which streams are open, what is late.
///
/// Pure: one method per event, one returned value that says what to do. The host decodes payloads, runs requests and
/// writes frames. Times are nanoseconds of a monotonic clock. Rules: proto/README.md, sections 2 to 4.
package struct ServerConnectionStateMachine {
    /// `awaitingHello` → `authenticating` → `serving` → `draining`; `closed` from each of them.
    enum Phase: Equatable {
        case awaitingHello
        case authenticating
        case serving
        case draining
        case closed
    }

    /// A call between its `call` frame and its end.
    struct Stream {
        var id: UInt32
        var method: UInt32
        var isStreaming: Bool
        var beganNanoseconds: UInt64
        /// The client's name for the call.
        var requestID: String
        var traceParent: TraceParent?
        var hasRequest = false
        /// The client has said that it sends no more.
        var isHalfClosed = false
        /// 0 for streaming calls, which have no deadline.
        var deadlineNanoseconds: UInt64
        var sendCredit: StreamCredit
        var receiveCredit: StreamCredit
        /// What was processed and is not granted again yet.
        var ungranted = StreamCredit.none
    }

    /// The peer's violation of the protocol. The host sends it as a status on stream 0, and closes.
    package typealias Violation = CallStatus

    let limits: ServerConnectionLimits
    var phase = Phase.awaitingHello
    /// The open calls, sorted by their ids, which is the order in which they began. So few are open at a time that a
    /// linear search costs less than a hash.
    var streams: [Stream] = []
    /// The open calls that are streaming calls.
    package private(set) var openStreamCount = 0
    private var highestStream: UInt32 = 0
    var openedNanoseconds: UInt64
    var lastReceivedNanoseconds: UInt64
    var frameBeganNanoseconds: UInt64?
    var pingSentNanoseconds: UInt64?
    var pingWindowNanoseconds: UInt64 = 0
    var pingsInWindow = 0

    package init(limits: ServerConnectionLimits, nowNanoseconds: UInt64) {
        self.limits = limits
        openedNanoseconds = nowNanoseconds
        lastReceivedNanoseconds = nowNanoseconds
    }

    // MARK: Opening

    /// The TLS handshake is done: the time for the hello begins.
    package mutating func handshakeEnded(nowNanoseconds: UInt64) {
        openedNanoseconds = nowNanoseconds
        lastReceivedNanoseconds = nowNanoseconds
    }

    package enum HelloAction: Equatable {
        case authenticate
        case violate(Violation)
    }

    /// A hello frame came.
    package mutating func helloReceived() -> HelloAction {
        guard phase == .awaitingHello else {
            return .violate(Self.violation("a second hello; send one per connection"))
        }
        phase = .authenticating
        return .authenticate
    }

    /// The host has authenticated the client and sent the welcome.
    package mutating func welcomed() {
        precondition(phase == .authenticating, "a welcome answers a hello")
        phase = .serving
    }

    /// Whether frames other than a hello may be read.
    package var isServing: Bool { phase == .serving || phase == .draining }

    // MARK: Calls

    package enum CallAction: Equatable {
        case none
        /// Ends this call; the connection goes on.
        case refuse(CallStatus)
        case violate(Violation)
    }

    /// A call frame came. `isKnown` and `isStreaming` say what the host knows of the method.
    package mutating func callReceived(
        stream: UInt32, method: UInt32, isKnown: Bool, isStreaming: Bool, timeoutMilliseconds: UInt64,
        requestID: String = "", traceParent: TraceParent? = nil, nowNanoseconds: UInt64
    ) -> CallAction {
        guard isServing else { return .violate(Self.beforeWelcome) }
        guard stream > highestStream else {
            return .violate(
                Self.violation(
                    "call on stream \(stream), which is not above \(highestStream); use each stream id once, upwards"))
        }
        highestStream = stream
        if phase == .draining {
            return .refuse(
                CallStatus(
                    .serviceUnavailable, "the server is about to stop; reconnect and call again",
                    retryAfterMilliseconds: 1_000))
        }
        if !isKnown {
            return .refuse(
                CallStatus(.invalidArguments, "method \(method) is not in protocol version 1"))
        }
        if streams.count >= limits.concurrentCalls {
            return .refuse(
                CallStatus(
                    .requestRateLimited,
                    "\(streams.count) calls are open on this connection, which is the limit; wait for answers",
                    retryAfterMilliseconds: 100))
        }
        let timeout = timeoutMilliseconds == 0 ? limits.callTimeoutMilliseconds : timeoutMilliseconds
        if isStreaming { openStreamCount += 1 }
        streams.append(
            Stream(
                id: stream, method: method, isStreaming: isStreaming, beganNanoseconds: nowNanoseconds,
                requestID: requestID, traceParent: traceParent,
                deadlineNanoseconds: isStreaming
                    ? 0 : nowNanoseconds + min(timeout, limits.callTimeoutMilliseconds) * 1_000_000,
                sendCredit: limits.initialCredit, receiveCredit: limits.initialCredit))
        return .none
    }

    /// The id that the client gave an open call; empty for none.
    package func requestID(ofStream stream: UInt32) -> String { index(of: stream).map { streams[$0].requestID } ?? "" }

    /// The index of an open call. Searches from the end: most frames are about the newest calls.
    private func index(of stream: UInt32) -> Int? {
        var index = streams.count - 1
        while index >= 0, streams[index].id >= stream {
            if streams[index].id == stream { return index }
            index -= 1
        }
        return nil
    }

    @discardableResult
    private mutating func remove(at index: Int) -> Stream {
        if streams[index].isStreaming { openStreamCount -= 1 }
        return streams.remove(at: index)
    }

    package enum MessageAction: Equatable {
        /// The whole request of a unary call, or the first message of a streaming one. `endsStream` is true when the
        /// client sends no more on its streaming call, which ends after this message.
        case request(method: UInt32, endsStream: Bool = false)
        /// A later message of a streaming call. The host calls ``messagesProcessed(stream:_:)`` once it is
        /// processed.
        case streamMessage(method: UInt32, endsStream: Bool = false)
        /// The client ended its side of a streaming call.
        case streamEnded(method: UInt32)
        case ignore
        case refuse(CallStatus)
        case violate(Violation)
    }

    /// A message frame came.
    package mutating func messageReceived(stream id: UInt32, isLast: Bool, byteCount: Int) -> MessageAction {
        guard isServing else { return .violate(Self.beforeWelcome) }
        guard let index = index(of: id) else {
            // The call was refused, cancelled or answered while the message was on its way.
            if id != 0, id <= highestStream { return .ignore }
            return .violate(Self.violation("message on stream \(id), which was never opened; send a call frame first"))
        }
        var stream = streams[index]
        if stream.isHalfClosed {
            return .violate(Self.violation("message on stream \(id) behind its last one"))
        }
        if !stream.isStreaming {
            guard isLast else {
                remove(at: index)
                return .refuse(
                    CallStatus(.invalidArguments, "a unary call takes one message, marked as the last"))
            }
            stream.isHalfClosed = true
            stream.hasRequest = true
            streams[index] = stream
            return .request(method: stream.method)
        }
        if stream.hasRequest, isLast, byteCount == 0 {
            stream.isHalfClosed = true
            streams[index] = stream
            return .streamEnded(method: stream.method)
        }
        guard stream.receiveCredit.allowsMessage else {
            remove(at: index)
            return .refuse(
                CallStatus(.limitExceeded, "messages were sent without credit; wait for credit frames"))
        }
        stream.receiveCredit -= StreamCredit(messages: 1, bytes: byteCount)
        stream.isHalfClosed = isLast
        defer { streams[index] = stream }
        if !stream.hasRequest {
            stream.hasRequest = true
            return .request(method: stream.method, endsStream: isLast)
        }
        return .streamMessage(method: stream.method, endsStream: isLast)
    }

    /// Later messages of a streaming call were processed. Returns the credit that a credit frame is to grant, if any.
    /// Credit is granted after the work and not before, so that no client can have more unprocessed messages than the
    /// stream's credit.
    package mutating func messagesProcessed(stream id: UInt32, _ processed: StreamCredit) -> StreamCredit? {
        guard let index = index(of: id) else { return nil }
        streams[index].ungranted += processed
        let grant = streams[index].ungranted
        guard grant.isHalf(of: limits.initialCredit) else { return nil }
        streams[index].ungranted = .none
        streams[index].receiveCredit += grant
        return grant
    }

    package enum CancelAction: Equatable {
        /// The call was open: stop what runs for it. Nothing is sent.
        case cancelled(method: UInt32)
        case ignore
        case violate(Violation)
    }

    /// A cancel frame came.
    package mutating func cancelReceived(stream: UInt32) -> CancelAction {
        guard isServing else { return .violate(Self.beforeWelcome) }
        if let index = index(of: stream) { return .cancelled(method: remove(at: index).method) }
        if stream != 0, stream <= highestStream { return .ignore }
        return .violate(Self.violation("cancel of stream \(stream), which was never opened"))
    }

    package enum CreditAction: Equatable {
        /// The stream may send again.
        case credited
        case ignore
        /// Ends this call; the connection goes on.
        case refuse(CallStatus)
        case violate(Violation)
    }

    /// A credit frame came. `credit` is nil when its payload was not eight bytes.
    package mutating func creditReceived(stream id: UInt32, _ credit: StreamCredit?) -> CreditAction {
        guard isServing else { return .violate(Self.beforeWelcome) }
        guard let credit else { return .violate(Self.violation("a credit frame holds eight bytes")) }
        guard let index = index(of: id) else {
            if id != 0, id <= highestStream { return .ignore }
            return .violate(Self.violation("credit for stream \(id), which was never opened"))
        }
        guard credit != .none else {
            remove(at: index)
            return .refuse(
                CallStatus(.invalidArguments, "a credit frame granted nothing; grant as much as was taken"))
        }
        var sum = streams[index].sendCredit
        sum += credit
        guard limits.creditMax.covers(sum) else {
            remove(at: index)
            return .refuse(
                CallStatus(
                    .invalidArguments,
                    "the call was granted credit for more than \(limits.streamCreditMax) messages or "
                        + "\(limits.streamCreditBytesMax) bytes; grant as much as was taken"))
        }
        streams[index].sendCredit = sum
        return .credited
    }

    // MARK: Answers

    /// A call that has ended: what figures count, and logs name.
    package struct EndedCall: Equatable {
        package var method: UInt32
        package var isStreaming: Bool
        /// When its call frame came.
        package var beganNanoseconds: UInt64
        /// The client's name for it; empty where it gave none.
        package var requestID: String
        /// Where its client's trace stands.
        package var traceParent: TraceParent?

        init(_ stream: Stream) {
            method = stream.method
            isStreaming = stream.isStreaming
            beganNanoseconds = stream.beganNanoseconds
            requestID = stream.requestID
            traceParent = stream.traceParent
        }
    }

    /// An answer or a status is about to be sent. Returns nil when the call has ended meanwhile: drop the answer.
    package mutating func answered(stream: UInt32) -> EndedCall? {
        index(of: stream).map { EndedCall(remove(at: $0)) }
    }

    /// Whether the call has not ended.
    package func isOpen(stream: UInt32) -> Bool { index(of: stream) != nil }

    /// What the stream may send now; nothing for one that has ended.
    package func sendCredit(ofStream stream: UInt32) -> StreamCredit {
        index(of: stream).map { streams[$0].sendCredit } ?? .none
    }

    /// Messages were sent on a stream.
    package mutating func messagesSent(stream: UInt32, _ sent: StreamCredit) {
        guard let index = index(of: stream), streams[index].sendCredit.allowsMessage,
            streams[index].sendCredit.messages >= sent.messages
        else { preconditionFailure("a stream sends with credit only") }
        streams[index].sendCredit -= sent
    }

    /// Calls that have not ended.
    package var openCallCount: Int { streams.count }

    /// The open streaming calls.
    package var openStreams: [UInt32] { streams.filter(\.isStreaming).map(\.id) }

    /// Calls that will end by themselves; streams don't count.
    package var unaryCallCount: Int { streams.count { !$0.isStreaming } }

    // MARK: End

    /// The server is about to stop: no new calls.
    package mutating func drain() {
        if phase != .closed { phase = .draining }
    }

    /// The connection is gone. Returns the methods of the calls that were open.
    package mutating func closed() -> [UInt32] {
        phase = .closed
        defer {
            streams.removeAll()
            openStreamCount = 0
        }
        return streams.map(\.method)
    }

    static func violation(_ message: String) -> Violation {
        CallStatus(.invalidArguments, message)
    }

    static var beforeWelcome: Violation {
        violation("the first frame must be a hello, and the next one waits for the welcome")
    }
}
