internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService
internal import BrumeSystem

/// One connection: frames in, requests to the shard, answers and pushes out.
///
/// Born on the loop that accepted it; after the hello it moves to the loop that owns its account's private database,
/// with its connection, its state and the bytes that it has not read yet.
///
/// `@unchecked Sendable`: one loop at a time owns it, the one of `shard`. Other threads only hand it from loop to loop.
/// For `@exclusivity(unchecked)` see ``Shard``.
final class Session: ConnectionDelegate, PeerConnectionReceiver, ClientDoor, @unchecked Sendable {
    /// The sessions of the loop that it is on, and that loop's shard.
    @exclusivity(unchecked) private(set) var table: SessionTable
    @exclusivity(unchecked) private(set) var shard: Shard
    /// What the hello proved; nil before it, and then nothing asks for its parts.
    @exclusivity(unchecked) var entrance: Entrance?
    var identity: Identity! { entrance?.identity }
    /// What the session's account, or its address, has at a time.
    var share: ClientShare! { entrance?.share }
    /// The peer as the service knows it, from the session's arrival at its data to its end.
    @exclusivity(unchecked) var client: Client?
    /// The bytes that the share counts for the incomplete frame, and since when.
    @exclusivity(unchecked) var reservedInput = (bytes: 0, sinceNanoseconds: UInt64(0))
    /// Why there is no room for the frame that has begun, so that it is not read on; nil if it is.
    @exclusivity(unchecked) var inputShortage: ByteShare.Shortage?
    /// Open calls and streams of the session that its share counts.
    @exclusivity(unchecked) private var counted = (calls: 0, streams: 0)

    @exclusivity(unchecked) var connection: (any PeerConnection)!
    var reader: FrameReader
    /// The payload limit to use once the hello is done; the reader itself is in use while it hands on a frame.
    var payloadLimitAfterHello: Int?
    @exclusivity(unchecked) var machine: ServerConnectionStateMachine
    let door: BrumeDoor
    let server: ServerCore
    /// Whether the session came in by the operator's door.
    let isOperators: Bool
    @exclusivity(unchecked) var streams = OpenStreams()
    /// What an interceptor wants of calls when they end.
    @exclusivity(unchecked) var interceptedCalls: [UInt32: InterceptedCall] = [:]
    /// Whether events wait until the account's share of the output has room.
    @exclusivity(unchecked) var waitsForOutputShare = false
    /// Whether frames wait until the account's turn comes.
    @exclusivity(unchecked) private(set) var isWaitingForTurn = false
    /// Whether bytes wait in the socket, and not in the reader alone.
    @exclusivity(unchecked) private var waitsToRead = false
    /// Whether frames are being read because the account's turn has come.
    @exclusivity(unchecked) private var hasTurn = false
    /// When reading from the socket began; nil once that time has been charged.
    @exclusivity(unchecked) var readBegan: UInt64?
    @exclusivity(unchecked) var isReadingPaused = false
    @exclusivity(unchecked) var isEnding = false
    @exclusivity(unchecked) var isGone = false

    init(_ table: SessionTable, of door: BrumeDoor, isOperators: Bool) {
        self.table = table
        shard = table.shard
        self.door = door
        server = door.server
        self.isOperators = isOperators
        let limits = door.configuration.connectionLimits
        reader = FrameReader(payloadBytesLimit: limits.helloBytes)
        machine = ServerConnectionStateMachine(limits: limits, nowNanoseconds: shard.loop.nowNanoseconds)
    }

    /// The session is on the loop of another table now.
    func move(to table: SessionTable) {
        self.table = table
        shard = table.shard
    }

    // MARK: Connection

    func accepted(_ connection: any PeerConnection) {
        self.connection = connection
        table.figures.acceptedConnections += 1
        table.add(self)
    }

    func connectionEstablished(_ connection: Connection) { established() }

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) { received(bytes) }

    func connectionWillRead(_ connection: Connection) { willRead() }

    func connectionDidRead(_ connection: Connection) { didRead() }

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

    /// Reading and decrypting are charged to the account's share as handling frames is, whatever comes of it: while the
    /// account may begin nothing, nothing is read.
    func willRead() {
        guard client != nil, !isEnding else { return }
        if mayHandleFrame() {
            readBegan = shard.loop.currentNanoseconds
        } else {
            waitsToRead = true
            // A frame that has begun is not late while nothing of it is read.
            machine.readingHeldBack(nowNanoseconds: shard.loop.nowNanoseconds)
        }
    }

    func didRead() {
        // If frames were handled, the time has been charged with them.
        guard let began = readBegan.take(), let client else { return }
        shard.charge(client, since: began, frames: 0)
    }

    func drained() {
        resumeIfPossible()
    }

    func closed(peer: String, reason: String) {
        isGone = true
        client?.cancelQueries()
        endOpenCalls()
        table.remove(self)
        share?.input.change(by: -reservedInput.bytes)
        reservedInput.bytes = 0
        // They refer to each other.
        if let client = client.take() {
            shard.leave(client)
        } else if let entrance {
            server.giveUp(entrance)
        }
        server.log.debug("connection closed", [("peer", peer), ("reason", reason)])
    }

    /// The calls that are open end with the connection.
    func endOpenCalls() {
        if !interceptedCalls.isEmpty { noteEndOfAllCalls() }
        for method in machine.closed() { table.figures.cancelled(method: method) }
        for stream in streams.removeAll() { stream.close() }
        countCalls()
    }

    /// Tells the share how many calls are open, where that has changed.
    func countCalls() {
        let open = (calls: machine.openCallCount - machine.openStreamCount, streams: machine.openStreamCount)
        guard open != counted, let share else { return }
        share.changed(calls: open.calls - counted.calls, streams: open.streams - counted.streams)
        counted = open
    }

    /// Returns an error if the call that has just begun may not go on because its account has too many, over all of its
    /// connections.
    func refusal(ofStream isStream: Bool) -> ServiceError? {
        let uncounted =
            isStream
            ? machine.openStreamCount - counted.streams
            : machine.openCallCount - machine.openStreamCount - counted.calls
        return share.refusal(ofStream: isStream, uncounted: uncounted)
    }

    // MARK: Answers

    func finish(_ stream: UInt32, _ outcome: Outcome) {
        if !interceptedCalls.isEmpty, let step = takeStepAfterEffect(stream: stream) {
            return finish(stream, outcome, step)
        }
        switch outcome {
        case .success(let answer): self.answer(stream: stream, message: table.coder.encode(answer))
        case .failure(let error): refuse(stream, error)
        }
    }

    /// Answers a unary call.
    private func answer(stream: UInt32, message: [UInt8]) {
        guard !isGone, let call = machine.answered(stream: stream) else { return }
        if !interceptedCalls.isEmpty { noteEnd(of: stream, .answered(message)) }
        countCalls()
        count(call, failure: message.count <= Limits.frameBytes ? nil : .limitExceeded)
        guard message.count <= Limits.frameBytes else {
            // The client would have to close the connection, and would find the same when it asks again.
            let sentence = "the answer has \(message.count) bytes; a frame holds \(Limits.frameBytes): ask for less"
            return writeStatus(stream: stream, CallStatus(.limitExceeded, sentence))
        }
        write(.message, stream: stream, isLast: true, payload: message)
    }

    func refuse(_ stream: UInt32, _ error: ServiceError) {
        closeStream(stream)
        guard !isGone, let call = machine.answered(stream: stream) else { return }
        if !interceptedCalls.isEmpty { noteEnd(of: stream, .failed(error)) }
        countCalls()
        count(call, failure: error.code)
        writeStatus(stream: stream, CallStatus(error))
    }

    func count(_ call: ServerConnectionStateMachine.EndedCall, failure: ErrorCode?) {
        let now = shard.loop.currentNanoseconds
        table.figures.ended(call, failure: failure, nowNanoseconds: now)
        server.log.debug(
            "end of call",
            [
                ("method", Method(rawValue: call.method).name),
                ("milliseconds", String((now - call.beganNanoseconds) / 1_000_000)), ("request", call.requestID),
                ("code", failure.map { String($0.rawValue) } ?? "0"),
            ] + (call.traceParent?.logFields ?? []))
        let bound = door.configuration.slowCallMilliseconds * 1_000_000
        if bound > 0, !call.isStreaming, now >= call.beganNanoseconds + bound {
            table.logSlow(call, failure: failure, nowNanoseconds: now)
        }
    }

    /// Calls that have not ended, streams included.
    var openCallCount: Int { machine.openCallCount }

    /// Whether the stream has not ended.
    func isOpen(_ stream: UInt32) -> Bool { !isGone && !isEnding && machine.isOpen(stream: stream) }

    /// The number of bytes that wait for the peer to read them.
    var unreadByteCount: Int { isGone || isEnding || connection == nil ? 0 : connection.pendingOutputBytes }

    /// Breaks the references between the session and its streams, after the server went away without closing them.
    func abandon() {
        isGone = true
        for stream in streams.removeAll() { stream.abandon() }
        interceptedCalls = [:]
        client = nil
        connection = nil
    }

    // MARK: Output

    func writeStatus(stream: UInt32, _ status: CallStatus) {
        write(.status, stream: stream, payload: table.coder.encodeStatus(status))
    }

    func write(
        _ type: FrameType, stream: UInt32 = 0, isLast: Bool = false, isNews: Bool = false, payload front: [UInt8],
        _ back: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        if isGone || isEnding { return }
        let payloadByteCount = front.count + back.count
        let header = FrameHeader(type: type, stream: stream, isLast: isLast, payloadByteCount: payloadByteCount)
        connection.withOutput(minimumCapacity: FrameHeader.byteCount + payloadByteCount, isNews: isNews) { target in
            header.encode(to: target)
            let payload = UnsafeMutableRawBufferPointer(rebasing: target[FrameHeader.byteCount...])
            payload.copyBytes(from: front)
            if !back.isEmpty { UnsafeMutableRawBufferPointer(rebasing: payload[front.count...]).copyBytes(from: back) }
            return FrameHeader.byteCount + payloadByteCount
        }
    }

    /// Whether nothing may be read: answers have not left, there is no room for the frame that has begun, or another
    /// loop has not kept up with the streams that were opened and ended.
    private var isFull: Bool {
        connection.isOutputFull || inputShortage != nil || client?.isFull ?? false
    }

    /// Reserves room for the whole of the frame that has begun, before it arrives: without room, nothing is read until
    /// there is some.
    ///
    /// - Parameter frame: The frame's size in bytes, as the reader knows it; 0 when none has begun.
    func reserveInput(_ frame: Int) {
        let wanted = frame > ServerLimits.unreservedFrameBytes ? frame : 0
        if wanted == reservedInput.bytes { return inputShortage = nil }
        guard let share else { return }
        let change = wanted - reservedInput.bytes
        if change < 0 {
            share.input.change(by: change)
            inputShortage = nil
        } else {
            inputShortage = share.input.reserve(change)
            if inputShortage != nil { return pauseIfFull() }
        }
        reservedInput = (wanted, shard.loop.nowNanoseconds)
    }

    func pauseIfFull() {
        guard !isReadingPaused, isFull else { return }
        isReadingPaused = true
        connection.pauseReading()
    }

    /// Goes on reading, and sending events, when the output has room again.
    func resumeIfPossible() {
        if isGone || isEnding || connection == nil { return }
        if isReadingPaused, !isFull {
            isReadingPaused = false
            if !isWaitingForTurn {
                connection.resumeReading()
                read(UnsafeRawBufferPointer(start: nil, count: 0))
            }
        }
        if !isGone, !isEnding { resumeStreams() }
    }

    // MARK: Turns

    /// Whether the next frame may be handled now. If not, it is handled when the account's turn comes, and nothing more
    /// is read until then.
    func mayHandleFrame() -> Bool {
        guard let client else { return true }
        if isWaitingForTurn { return false }
        if shard.mayRead(client, inItsTurn: hasTurn) { return true }
        isWaitingForTurn = true
        connection.pauseReading()
        shard.waitForTurn(client)
        return false
    }

    func turnCame() {
        isWaitingForTurn = false
        let waitsToRead = exchange(&self.waitsToRead, with: false)
        if isGone || isEnding || isReadingPaused { return }
        hasTurn = true
        connection.resumeReading()
        read(UnsafeRawBufferPointer(start: nil, count: 0))
        // In this turn: in a later one it would come after those that wait now, again and again.
        if waitsToRead, !isGone, !isEnding, !isReadingPaused, !isWaitingForTurn { connection.readNow() }
        hasTurn = false
    }
}
