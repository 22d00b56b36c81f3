package import BrumeModel
package import BrumeProtocol
internal import BrumeServer

/// A client of a ``SteppedServer``: what it sends has arrived when the call returns, and what the server sends is kept
/// as frames until a test takes them.
package final class FramePeer {
    package let server: SteppedServer
    let coder = MessageCoder()
    private let end = FramePeerEnd()
    private var lastStream: UInt32 = 0
    /// What the server said to the hello, after ``SteppedServer/connect(account:device:container:environment:)``.
    package internal(set) var welcome: Welcome?
    /// How many acknowledgements each notification stream may send.
    private var acknowledgementCredit: [UInt32: Int] = [:]

    /// Connects to the first loop and says hello. The welcome arrives once the server has had its turns.
    init(_ server: SteppedServer, hello: Hello) {
        self.server = server
        end.receiver = server.stepwise.accept(end, loop: 0)
        end.receiver?.established()
        send(.hello, payload: coder.encodeHello(hello))
    }

    // MARK: The connection

    package var isOpen: Bool { end.isOpen }
    /// The frames that the server has sent and nobody has taken.
    package var frames: [ReceivedFrame] { end.frames }

    /// The frames that came since they were taken last.
    package func takeFrames() -> [ReceivedFrame] {
        defer { end.frames = [] }
        return frames
    }

    package func send(_ type: FrameType, stream: UInt32 = 0, isLast: Bool = false, payload: [UInt8] = []) {
        end.send(FrameWriter.frame(type, stream: stream, isLast: isLast, payload: payload))
    }

    /// Ends the connection, because the client is gone.
    package func disconnect() { end.disconnect() }

    /// Whether what the client sends waits while the server does not read; it is handed over by ``deliver()``.
    package var waitsWhilePaused: Bool {
        get { end.waitsWhilePaused }
        set { end.waitsWhilePaused = newValue }
    }
    package var isReadingPaused: Bool { end.isReadingPaused }
    /// Whether the client takes so little that streams send no more; answers are still sent.
    package var isOutputBusy: Bool {
        get { end.isOutputBusy }
        set { end.isOutputBusy = newValue }
    }
    /// There is room for so many frames; after them the output is busy again.
    package func makeRoom(frames: Int) {
        end.framesUntilBusy = frames
        end.isOutputBusy = false
    }
    /// Whether something that the client sent has not been read yet.
    package var holdsInput: Bool { !end.held.isEmpty }

    /// Hands over what was sent, unless the server does not read.
    package func deliver() { end.deliver() }

    // MARK: Calls

    /// Opens a call and sends its request; returns its stream.
    @discardableResult
    package func start(
        _ method: BrumeProtocol.Method, timeoutMilliseconds: UInt32 = 0, _ request: [UInt8], isLast: Bool = true
    ) -> UInt32 {
        lastStream += 1
        let header = CallHeader(method: method, timeoutMilliseconds: timeoutMilliseconds)
        send(.call, stream: lastStream, payload: coder.encodeCall(header))
        send(.message, stream: lastStream, isLast: isLast, payload: request)
        return lastStream
    }

    package func cancel(_ stream: UInt32) { send(.cancel, stream: stream) }

    package func isAnswered(_ stream: UInt32) -> Bool { end.frames.contains { $0.stream == stream } }

    /// The call's outcome, if it is there.
    package func outcome(_ stream: UInt32) -> Result<[UInt8], ServiceError>? {
        guard let frame = end.frames.first(where: { $0.stream == stream }) else { return nil }
        if frame.type == .message { return .success(frame.payload) }
        return (try? frame.payload.decoded(coder.decodeStatus))?.error.map { .failure($0) }
    }

    /// The same; its frames are taken.
    package func takeOutcome(_ stream: UInt32) -> Result<[UInt8], ServiceError>? {
        defer { end.frames.removeAll { $0.stream == stream } }
        return outcome(stream)
    }

    /// How the server ended a stream; nil: it goes on.
    package func end(_ stream: UInt32) throws -> CallStatus? {
        try end.frames.first { $0.stream == stream && $0.type == .status }?.payload.decoded(coder.decodeStatus)
    }

    /// Takes the messages that came on a stream.
    func takeMessages(_ stream: UInt32) -> [[UInt8]] {
        defer { end.frames.removeAll { $0.stream == stream && $0.type == .message } }
        return end.frames.filter { $0.stream == stream && $0.type == .message }.map(\.payload)
    }

    /// Makes a call and waits for its outcome.
    package func call(_ method: BrumeProtocol.Method, _ request: [UInt8]) throws -> [UInt8] {
        let stream = start(method, request)
        server.settle()
        guard let outcome = outcome(stream) else { throw TestFailure("a call of \(method) has no outcome") }
        return try outcome.get()
    }

    // MARK: Notifications

    /// Opens the device's notification stream and waits for what is there; returns the stream.
    package func openNotifications(position: [UInt8] = []) -> UInt32 {
        let stream = start(
            .notificationsOpen, coder.encodeNotificationsRequest(position: position), isLast: false)
        server.settle()
        return stream
    }

    package func events(_ stream: UInt32) throws -> [NotificationEvent] {
        try end.frames.filter { $0.stream == stream && $0.type == .message }
            .map { try $0.payload.decoded(coder.decodeNotificationEvent) }
    }

    /// Takes what came on a notification stream; acknowledges it as far as the server gave credit.
    package func takeEvents(_ stream: UInt32) throws -> [NotificationEvent] {
        let events = try events(stream)
        // The message that opened the stream has taken one.
        var left = acknowledgementCredit[stream] ?? (welcome?.limits.streamCredit ?? 1) - 1
        for frame in end.frames where frame.stream == stream && frame.type == .credit {
            left += frame.payload.withUnsafeBytes { FrameWriter.credit(in: $0) }?.messages ?? 0
        }
        var taken = StreamCredit.none
        for frame in end.frames where frame.stream == stream && frame.type == .message {
            taken += StreamCredit(messages: 1, bytes: frame.payload.count)
        }
        end.frames.removeAll { $0.stream == stream && ($0.type == .message || $0.type == .credit) }
        if let last = events.last {
            send(.credit, stream: stream, payload: FrameWriter.creditPayload(taken))
            if left > 0 {
                left -= 1
                send(.message, stream: stream, payload: coder.encodeNotificationsRequest(position: last.position))
            }
        }
        acknowledgementCredit[stream] = left
        return events
    }
}
