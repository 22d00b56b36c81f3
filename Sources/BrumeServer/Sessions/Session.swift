internal import BrumeModel
internal import BrumeSystem
internal import BrumeWire

/// One connection: frames in, requests to the shard, answers and pushes out.
///
/// Born on the loop that accepted it; after the hello it moves to the loop that owns its account's private database, with
/// its connection, its state and the bytes that it has not read yet.
///
/// `@unchecked Sendable`: one loop at a time owns it, the one of `shard`. Other threads only hand it from loop to loop. For
/// `@exclusivity(unchecked)` see ``Shard``.
final class Session: ConnectionDelegate, PeerConnectionReceiver, @unchecked Sendable {
    private(set) var shard: Shard
    /// Set with the hello. Before it nothing asks for it.
    private(set) var identity: Identity!

    /// The user's private database, kept in memory while they are here. The shard sets it.
    var home: LoadedDatabase?
    /// The schema that holds for this session, as of a version of its shard's. The shard sets it.
    var knownSchema: (version: UInt64, schema: Schema)?

    private var connection: (any PeerConnection)!
    private var reader: FrameReader
    @exclusivity(unchecked) private var machine: ServerConnectionStateMachine
    let server: ServerCore
    /// The notification streams that are open, and what ends each in its databases.
    private var deviceStreams: [(stream: DeviceStream, onClose: () -> Void)] = []
    /// Answers of this session that wait for the disk or another shard; they count as output.
    var heldByteCount = 0
    /// Queries that run for this session's calls, here or on another loop.
    @exclusivity(unchecked) private var queries: [UInt32: QueryTicket] = [:]
    /// What an interceptor wants of calls when their answers leave.
    @exclusivity(unchecked) var lastSteps: [UInt32: CallPlan.Step] = [:]
    private var isReadingPaused = false
    private var isEnding = false
    private var isGone = false

    init(shard: Shard, server: ServerCore) {
        self.shard = shard
        self.server = server
        let limits = server.configuration.connectionLimits
        reader = FrameReader(payloadBytesLimit: limits.helloBytes)
        machine = ServerConnectionStateMachine(limits: limits, nowNanoseconds: shard.loop.nowNanoseconds)
    }

    // MARK: Connection

    func accepted(_ connection: any PeerConnection) {
        self.connection = connection
        shard.figures.acceptedConnections += 1
        shard.add(self)
    }

    func connectionEstablished(_ connection: Connection) { established() }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) { received(bytes) }

    func connectionDrained(_ connection: Connection) { drained() }

    func connectionClosed(_ connection: Connection, reason: CloseReason) {
        closed(peer: connection.peerAddress, reason: reason.description)
    }

    func established() {
        machine.handshakeEnded(nowNanoseconds: shard.loop.nowNanoseconds)
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        read(bytes)
    }

    func drained() {
        resumeIfPossible()
    }

    func closed(peer: String, reason: String) {
        isGone = true
        cancelQueries()
        endOpenCalls()
        shard.remove(self)
        server.log.debug("connection closed", [("peer", peer), ("reason", reason)])
    }

    /// The calls that are open end with the connection.
    private func endOpenCalls() {
        for (stream, method) in machine.closed() {
            shard.figures.cancelled(method: method)
            if method == Method.notificationsOpen.rawValue { shard.closeNotifications(self, stream: stream) }
        }
    }

    // MARK: Frames in

    private func read(_ bytes: UnsafeRawBufferPointer) {
        if isEnding { return }
        var didCompleteFrame = false
        do throws(FrameError) {
            try reader.read(bytes) { header, payload in
                didCompleteFrame = true
                return handle(header, payload)
            }
        } catch {
            return violate(CallStatus(error.code, error.message))
        }
        machine.bytesReceived(
            isInsideFrame: reader.isInsideFrame && !isReadingPaused, didCompleteFrame: didCompleteFrame,
            nowNanoseconds: shard.loop.nowNanoseconds)
    }

    /// Returns false when nothing more may be read for now.
    private func handle(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) -> Bool {
        switch header.type {
        case .hello, .ping, .pong:
            guard header.stream == 0 else {
                violate(
                    CallStatus(
                        .invalidArguments,
                        "frame type \(header.type.rawValue) came on stream \(header.stream); it belongs on stream 0"))
                return false
            }
        default: break
        }
        switch header.type {
        case .hello: return hello(payload)
        case .call: call(header.stream, payload)
        case .message: message(header, payload)
        case .cancel:
            switch machine.cancelReceived(stream: header.stream) {
            case .cancelled(let method):
                shard.figures.cancelled(method: method)
                if method == Method.notificationsOpen.rawValue { shard.closeNotifications(self, stream: header.stream) }
                queries[header.stream]?.cancel()
            case .ignore: break
            case .violate(let violation): violate(violation)
            }
        case .credit:
            switch machine.creditReceived(stream: header.stream, count: FrameWriter.credit(in: payload)) {
            case .credited: shard.resumeNotifications(self)
            case .ignore: break
            case .violate(let violation): violate(violation)
            }
        case .ping:
            switch machine.pingReceived(byteCount: payload.count, nowNanoseconds: shard.loop.nowNanoseconds) {
            case .pong: write(.pong, payload: Array(payload))
            case .violate(let violation): violate(violation)
            }
        case .pong: break
        case .welcome, .status, .goaway:
            violate(
                CallStatus(.invalidArguments, "frame type \(header.type.rawValue) is the server's to send"))
        }
        if isEnding { return false }
        pauseIfFull()
        return !isReadingPaused
    }

    private func call(_ stream: UInt32, _ payload: UnsafeRawBufferPointer) {
        let header: CallHeader
        do throws(ServiceError) {
            header = try shard.coder.decodeCall(payload)
        } catch {
            return violate(CallStatus(error))
        }
        let method = header.method
        let action = machine.callReceived(
            stream: stream, method: method.rawValue, isKnown: method.isKnown, isStreaming: method == .notificationsOpen,
            timeoutMilliseconds: UInt64(header.timeoutMilliseconds), nowNanoseconds: shard.loop.nowNanoseconds)
        switch action {
        case .none:
            server.log.debug(
                "call",
                [
                    ("method", String(method.rawValue)), ("user", identity.userRecordName),
                    ("request", header.requestID), ("group", header.operationGroup),
                ])
        case .refuse(let status):
            shard.figures.refusedCalls += 1
            writeStatus(stream: stream, status)
        case .violate(let violation): violate(violation)
        }
    }

    private func message(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        let stream = header.stream
        switch machine.messageReceived(stream: stream, isLast: header.isLast, byteCount: payload.count) {
        case .request(let method):
            if let interceptor = server.configuration.interceptor {
                return intercept(Method(rawValue: method), payload, stream: stream, interceptor)
            }
            shard.handle(Method(rawValue: method), payload, session: self, stream: stream)
        case .streamMessage(_, let grant):
            shard.acknowledge(payload, session: self, stream: stream)
            if grant > 0 { write(.credit, stream: stream, payload: FrameWriter.creditPayload(grant)) }
        case .streamEnded:
            shard.closeNotifications(self, stream: stream)
            if let call = machine.answered(stream: stream) {
                count(call, failure: nil)
                writeStatus(stream: stream, .success)
            }
        case .ignore: break
        case .refuse(let status):
            shard.figures.refusedCalls += 1
            shard.closeNotifications(self, stream: stream)
            writeStatus(stream: stream, status)
        case .violate(let violation): violate(violation)
        }
    }

    // MARK: Hello

    private func hello(_ payload: UnsafeRawBufferPointer) -> Bool {
        switch machine.helloReceived() {
        case .violate(let violation):
            violate(violation)
            return false
        case .authenticate: break
        }
        do throws(ServiceError) {
            let hello = try shard.coder.decodeHello(payload)
            identity = try server.authenticate(hello)
        } catch {
            violate(
                CallStatus(error))
            return false
        }
        payloadLimitAfterHello = Limits.frameBytes
        let target = server.shard(of: identity.privateDatabase ?? identity.publicDatabase)
        // Frames behind the hello wait, in the reader and in the connection, until the session has arrived at its data. It
        // leaves when the turn's input is done.
        connection.pauseReading()
        shard.loop.execute { self.move(to: target) }
        return false
    }

    /// Set when the hello is done; the reader itself is in use while it hands on a frame.
    private var payloadLimitAfterHello: Int?

    private func move(to target: Shard) {
        // The peer may have said hello and good-bye in one breath: then the connection is closed, and says so when the turn
        // ends.
        if isGone || isEnding || !connection.isOpen { return }
        if target === shard { return arrived() }
        shard.remove(self)
        let arrive = connection.leave()
        connection = nil
        target.loop.execute {
            self.shard = target
            self.knownSchema = nil
            self.connection = arrive(target.loop, self)
            target.add(self)
            self.arrived()
        }
    }

    private func arrived() {
        if isGone || isEnding { return }
        reader.payloadBytesLimit = payloadLimitAfterHello ?? reader.payloadBytesLimit
        // The token may have been revoked while the session was on its way.
        guard server.isStillValid(identity) else { return revoked() }
        machine.welcomed()
        shard.figures.welcomedConnections += 1
        write(.welcome, payload: shard.coder.encodeWelcome(server.welcome(for: identity)))
        shard.arrived(self)
        connection.resumeReading()
        if server.isDraining { drain() }
        read(UnsafeRawBufferPointer(start: nil, count: 0))
    }

    // MARK: Answers

    /// Gives the outcome of a unary call.
    func give(_ reply: Shard.Reply, stream: UInt32) {
        if !queries.isEmpty { queries[stream] = nil }
        if !lastSteps.isEmpty, let step = lastSteps.removeValue(forKey: stream) {
            return give(reply, stream: stream, step)
        }
        switch reply {
        case .success(let message): answer(stream: stream, message: message)
        case .failure(let error): fail(stream: stream, error)
        }
    }

    /// The answer of a unary call.
    func answer(stream: UInt32, message: [UInt8]) {
        guard !isGone, let call = machine.answered(stream: stream) else { return }
        count(call, failure: message.count <= Limits.frameBytes ? nil : .limitExceeded)
        guard message.count <= Limits.frameBytes else {
            // The client would have to close the connection, and would find the same when it asks again.
            let sentence = "the answer has \(message.count) bytes; a frame holds \(Limits.frameBytes): ask for less"
            return writeStatus(stream: stream, CallStatus(.limitExceeded, sentence))
        }
        write(.message, stream: stream, isLast: true, payload: message)
    }

    /// The failure of a call.
    func fail(stream: UInt32, _ error: ServiceError) {
        guard !isGone, let call = machine.answered(stream: stream) else { return }
        count(call, failure: error.code)
        writeStatus(
            stream: stream,
            CallStatus(error))
    }

    private func count(_ call: ServerConnectionStateMachine.EndedCall, failure: ErrorCode?) {
        shard.figures.ended(call, failure: failure, nowNanoseconds: shard.loop.currentNanoseconds)
    }

    /// Calls that have not ended, streams included.
    var openCallCount: Int { machine.openCallCount }

    /// Whether the stream has not ended.
    func isOpen(stream: UInt32) -> Bool { !isGone && !isEnding && machine.isOpen(stream: stream) }

    /// A query begins for the call; nil: it may not, and the call has failed. It has ended when the call is given its outcome,
    /// also that of one that was cancelled.
    func beginQuery(stream: UInt32) -> QueryTicket? {
        guard queries.count < ServerLimits.queriesPerSession else {
            fail(
                stream: stream,
                ServiceError(
                    .requestRateLimited,
                    "\(queries.count) queries run for this connection, which is the limit; wait for their answers",
                    retryAfterMilliseconds: 100))
            return nil
        }
        let ticket = QueryTicket()
        queries[stream] = ticket
        return ticket
    }

    private func cancelQueries() {
        for ticket in queries.values { ticket.cancel() }
    }

    /// Whether the stream has credit for so many messages, and the connection room.
    func maySend(stream: UInt32, count: Int = 1) -> Bool {
        !isGone && !isEnding && machine.sendCredit(ofStream: stream) >= count
            && !connection.isOutputFull
    }

    /// A message of a stream that ``maySend(stream:)``, which may be in two parts.
    func send(stream: UInt32, message front: [UInt8], _ back: [UInt8] = []) {
        machine.messagesSent(stream: stream)
        write(.message, stream: stream, payload: front, back)
    }

    /// As many messages of a stream as it ``maySend(stream:count:)``, in their frames.
    func send(stream: UInt32, count: Int, frames: [UInt8]) {
        machine.messagesSent(stream: stream, count: count)
        if isGone || isEnding { return }
        connection.withOutput(minimumCapacity: frames.count) { target in
            target.copyBytes(from: frames)
            return frames.count
        }
    }

    // MARK: Notification streams

    func deviceStreamOpened(_ stream: DeviceStream, onClose: @escaping () -> Void) {
        deviceStreams.append((stream, onClose))
    }

    var deviceStreamCount: Int { deviceStreams.count }

    func deviceStream(_ id: UInt32) -> DeviceStream? { deviceStreams.first { $0.stream.id == id }?.stream }

    func deviceStreamClosed(_ stream: DeviceStream) {
        guard let index = deviceStreams.firstIndex(where: { $0.stream === stream }) else { return }
        stream.close()
        deviceStreams.remove(at: index).onClose()
    }

    func resumeDeviceStreams() {
        for (stream, _) in deviceStreams { stream.resume() }
    }

    // MARK: Time and end

    /// Called by the shard's sweep.
    func timePassed() {
        // The handshake has a deadline of its own.
        if isGone || isEnding || connection == nil || !connection.isOpen { return }
        if isReadingPaused { machine.readingHeldBack(nowNanoseconds: shard.loop.nowNanoseconds) }
        let due = machine.timePassed(nowNanoseconds: shard.loop.nowNanoseconds)
        if let violation = due.violation { return violate(violation) }
        if due.sendsPing { write(.ping, payload: Array(repeating: 0, count: 8)) }
        for call in due.expiredCalls { count(call, failure: .networkFailure) }
        for stream in due.expired {
            queries[stream]?.cancel()
            writeStatus(
                stream: stream,
                CallStatus(
                    .networkFailure, "the call was not answered within its time; call again with the same operation id")
            )
        }
    }

    /// The server is about to stop.
    func drain() {
        if isGone || isEnding || !machine.isServing { return abortUnserved() }
        machine.drain()
        let reason = CallStatus(.serviceUnavailable, "the server is about to stop", retryAfterMilliseconds: 1_000)
        write(.goaway, payload: shard.coder.encodeGoaway(Goaway(reason: reason, reconnectAfterMilliseconds: 1_000)))
    }

    /// Calls in flight; a drain waits for them.
    var unaryCallCount: Int { isGone || isEnding ? 0 : machine.unaryCallCount }

    /// The account's tokens were revoked, or the account removed.
    func revoked(_ reason: ServiceError? = nil) {
        if isGone || isEnding { return }
        violate(
            reason.map { CallStatus($0) }
                ?? CallStatus(.notAuthenticated, "the account's token was revoked; get a new one from the operator"))
    }

    /// Closes once what is pending has been sent.
    func close() {
        if isGone || isEnding { return }
        isEnding = true
        connection?.close()
    }

    private func abortUnserved() {
        if !isGone, !isEnding, identity == nil { close() }
    }

    /// The peer broke the protocol, or may not go on: it is told, and the connection ends.
    private func violate(_ status: CallStatus) {
        if isGone || isEnding { return }
        shard.logRefusal(peer: connection.peerAddress, status)
        writeStatus(stream: 0, status)
        breakConnection()
    }

    /// Ends the connection without a word about the calls that are open.
    func breakConnection() {
        if isGone || isEnding { return }
        isEnding = true
        cancelQueries()
        endOpenCalls()
        connection.close()
    }

    // MARK: Output

    private func writeStatus(stream: UInt32, _ status: CallStatus) {
        write(.status, stream: stream, payload: shard.coder.encodeStatus(status))
    }

    private func write(
        _ type: FrameType, stream: UInt32 = 0, isLast: Bool = false, payload front: [UInt8], _ back: [UInt8] = []
    ) {
        if isGone || isEnding { return }
        let payloadByteCount = front.count + back.count
        let header = FrameHeader(type: type, stream: stream, isLast: isLast, payloadByteCount: payloadByteCount)
        connection.withOutput(minimumCapacity: FrameHeader.byteCount + payloadByteCount) { target in
            header.encode(to: target)
            let payload = UnsafeMutableRawBufferPointer(rebasing: target[FrameHeader.byteCount...])
            payload.copyBytes(from: front)
            if !back.isEmpty { UnsafeMutableRawBufferPointer(rebasing: payload[front.count...]).copyBytes(from: back) }
            return FrameHeader.byteCount + payloadByteCount
        }
    }

    private var isFull: Bool { connection.isOutputFull || heldByteCount > ServerLimits.outputBytes }

    private func pauseIfFull() {
        guard !isReadingPaused, isFull else { return }
        isReadingPaused = true
        connection.pauseReading()
    }

    /// Goes on reading, and sending events, when the output has room again.
    func resumeIfPossible() {
        if isGone || isEnding || connection == nil { return }
        if isReadingPaused, !isFull {
            isReadingPaused = false
            connection.resumeReading()
            read(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        if !isGone, !isEnding { shard.resumeNotifications(self) }
    }
}
