internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService

/// Streams: calls on which both sides may send messages until one of them ends it.
extension Session {
    /// The first message of a streaming call came.
    func openStream(
        _ method: Method, _ payload: UnsafeRawBufferPointer, to responder: Responder
    ) throws(ServiceError) {
        let request = try StreamRequest(method, payload, coder: table.coder)
        streams.append(try shard.open(request, to: responder), id: responder.call)
        // It may have ended within its opening.
        if !isOpen(responder.call) { return closeStream(responder.call) }
        // It opens the stream once, and is not under way any more: its credit counts for the messages that follow.
        processed(responder.call, StreamCredit(messages: 1, bytes: payload.count))
    }

    /// A later message came.
    func streamMessage(_ method: Method, _ payload: UnsafeRawBufferPointer, stream id: UInt32) {
        let credit = StreamCredit(messages: 1, bytes: payload.count)
        do throws(ServiceError) {
            let message = try StreamMessage(method, payload, coder: table.coder)
            // A stream whose opening an interceptor holds back takes no messages.
            guard let stream = streams[id] else { return processed(id, credit) }
            if isIntercepted(id) { return pass(.received(message, credit), on: id) }
            stream.received(message, credit)
        } catch {
            refuse(id, error)
        }
    }

    /// The client sends no more on a stream.
    func clientEnded(stream id: UInt32) {
        guard let stream = streams[id] else { return succeed(id) }
        if isIntercepted(id) { return pass(.clientEnded, on: id) }
        stream.clientEnded()
    }

    /// A call has ended: if it was a stream, that is told.
    func closeStream(_ id: UInt32) {
        if !streams.isEmpty { streams.remove(id)?.close() }
    }

    /// There is room in the output, or credit: the streams go on.
    func resumeStreams() {
        // While the output is busy none may send, and none loses its turn. The drain comes back here.
        if streams.isEmpty || connection.isOutputBusy { return }
        for (id, stream) in streams.inTurn {
            if isIntercepted(id) {
                passOn(id)
                if isGone || isEnding { return }
                if isHeldBack(id) { continue }
            }
            stream.resume()
            if isGone || isEnding { return }
            // The others go on before this one when the peer has read.
            if connection.isOutputBusy { return streams.hadTurn(id) }
        }
    }

    // MARK: For the service

    /// A stream may send if it has credit, and the connection and the account's share of the output have room: many
    /// streams that nobody reads hold no more than many answers.
    ///
    /// A connection whose peer has taken everything gets one message at a time although the share has no room, so that
    /// a device that reads is not kept from its events by one that doesn't. The stream goes on with the sweep.
    func maySend(_ stream: UInt32) -> Bool {
        if isIntercepted(stream), isHeldBack(stream) { return false }
        return hasRoom(toSendOn: stream)
    }

    /// The same without what an interceptor holds back.
    func hasRoom(toSendOn stream: UInt32) -> Bool {
        guard mayWrite, machine.sendCredit(ofStream: stream).allowsMessage else { return false }
        guard let shortage = share.output.shortage else { return true }
        waitsForOutputShare = true
        return shortage == .share && connection.pendingOutputBytes == 0
    }

    func send(_ stream: UInt32, _ event: StreamEvent) {
        let position = MessageCoder.positionField(event.position)
        machine.messagesSent(
            stream: stream, StreamCredit(messages: 1, bytes: position.count + event.message.count))
        event.message.withUnsafeBytes {
            write(.message, stream: stream, isNews: !event.isAwaited, payload: position, $0)
        }
    }

    func send(_ stream: UInt32, _ event: UploadEvent) {
        if isIntercepted(stream) { return pass(.sentOfUpload(event), on: stream) }
        write(event, on: stream)
    }

    func send(_ stream: UInt32, _ event: DownloadEvent) {
        if isIntercepted(stream) { return pass(.sentOfDownload(event), on: stream) }
        write(event, on: stream)
    }

    func write(_ event: UploadEvent, on stream: UInt32) { send(stream, table.coder.encodeUploadEvent(event)) }

    func write(_ event: DownloadEvent, on stream: UInt32) {
        switch event {
        case .byteCount(let count): send(stream, table.coder.encodeDownloadSize(count))
        case .content(let bytes):
            bytes.withUnsafeBytes { send(stream, MessageCoder.contentHeader(byteCount: $0.count), $0) }
        }
    }

    private func send(
        _ stream: UInt32, _ front: [UInt8],
        _ back: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        machine.messagesSent(stream: stream, StreamCredit(messages: 1, bytes: front.count + back.count))
        write(.message, stream: stream, payload: front, back)
    }

    func maySendRun(_ stream: UInt32, atLeast credit: StreamCredit) -> Bool {
        mayWrite && share.output.shortage == nil && machine.sendCredit(ofStream: stream).covers(credit)
    }

    func send(_ stream: UInt32, _ run: StreamRun) -> Bool {
        let framed = FramedRun.frames(of: run, stream: stream)
        let sent = StreamCredit(messages: run.events.count, bytes: framed.payloadByteCount)
        guard maySendRun(stream, atLeast: sent) else { return false }
        machine.messagesSent(stream: stream, sent)
        connection.withOutput(minimumCapacity: framed.bytes.count, isNews: true) { target in
            target.copyBytes(from: framed.bytes)
            return framed.bytes.count
        }
        return true
    }

    private var mayWrite: Bool { !isGone && !isEnding && !connection.isOutputBusy }

    func processed(_ stream: UInt32, _ credit: StreamCredit) {
        guard let grant = machine.messagesProcessed(stream: stream, credit) else { return }
        write(.credit, stream: stream, payload: FrameWriter.creditPayload(grant))
    }

    func succeed(_ stream: UInt32) {
        if isIntercepted(stream) { return pass(.succeeded, on: stream) }
        end(stream)
    }

    /// Ends a stream that succeeded.
    func end(_ stream: UInt32) {
        closeStream(stream)
        guard !isGone, let call = machine.answered(stream: stream) else { return }
        if !interceptedCalls.isEmpty { noteEnd(of: stream, .answered([])) }
        countCalls()
        count(call, failure: nil)
        writeStatus(stream: stream, .success)
    }
}
