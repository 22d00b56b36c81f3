internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem

/// What comes in: frames, of which the first is the hello.
extension Session {
    func read(_ bytes: UnsafeRawBufferPointer) {
        if isEnding { return }
        var didCompleteFrame = false
        let readBegan = self.readBegan.take()
        var began = client == nil ? 0 : readBegan ?? shard.loop.currentNanoseconds
        do throws(FrameError) {
            try reader.read(bytes, mayHandOn: mayHandleFrame) { header, payload in
                didCompleteFrame = true
                let goesOn = handle(header, payload)
                if let client { began = shard.charge(client, since: began) }
                return goesOn
            }
        } catch {
            return violate(CallStatus(error.code, error.message))
        }
        if isEnding { return }
        // The rest is the beginning of a frame: little, unless there is nothing else.
        if !didCompleteFrame || bytes.count > ServerLimits.freeReadBytes, !bytes.isEmpty, let client {
            shard.charge(client, since: began, frames: didCompleteFrame ? 0 : 1)
        }
        countCalls()
        let incompleteBytes = reader.frameByteCount
        reserveInput(incompleteBytes)
        machine.bytesReceived(
            isInsideFrame: incompleteBytes > 0 && !isReadingPaused && !isWaitingForTurn,
            didCompleteFrame: didCompleteFrame,
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
                if !interceptedCalls.isEmpty { noteEnd(of: header.stream, .unanswered) }
                table.figures.cancelled(method: method)
                closeStream(header.stream)
                client?.cancelQuery(header.stream)
            case .ignore: break
            case .violate(let violation): violate(violation)
            }
        case .credit:
            switch machine.creditReceived(stream: header.stream, FrameWriter.credit(in: payload)) {
            case .credited: resumeStreams()
            case .ignore: break
            case .refuse(let status): refuse(stream: header.stream, status)
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
            header = try table.coder.decodeCall(payload)
        } catch {
            return violate(CallStatus(error))
        }
        let method = header.method
        let isStreaming = method.isStreaming
        let action = machine.callReceived(
            stream: stream, method: method.rawValue, isKnown: method.isKnown, isStreaming: isStreaming,
            timeoutMilliseconds: UInt64(header.timeoutMilliseconds), requestID: header.requestID,
            traceParent: header.traceParent, nowNanoseconds: shard.loop.nowNanoseconds)
        switch action {
        case .none:
            if let refusal = header.problem ?? refusal(ofStream: isStreaming) {
                _ = machine.answered(stream: stream)
                table.figures.refusedCalls += 1
                return writeStatus(stream: stream, CallStatus(refusal))
            }
            server.log.debug(
                "call",
                [
                    ("method", method.name), ("user", identity.userRecordName),
                    ("request", header.requestID), ("group", header.operationGroup),
                ] + (header.traceParent?.logFields ?? []))
        case .refuse(let status):
            table.figures.refusedCalls += 1
            writeStatus(stream: stream, status)
        case .violate(let violation): violate(violation)
        }
    }

    private func message(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        let stream = header.stream
        switch machine.messageReceived(stream: stream, isLast: header.isLast, byteCount: payload.count) {
        case .request(let method, let endsStream):
            if let refusal = share.outputRefusal { return refuse(stream, refusal) }
            if let interceptor = door.configuration.callInterceptor {
                return intercept(
                    Method(rawValue: method), payload, stream: stream, endsStream: endsStream, interceptor)
            }
            handle(Method(rawValue: method), payload, stream: stream, endsStream: endsStream)
        case .streamMessage(let method, let endsStream):
            streamMessage(Method(rawValue: method), payload, stream: stream)
            if endsStream { clientEnded(stream: stream) }
        case .streamEnded: clientEnded(stream: stream)
        case .ignore: break
        case .refuse(let status): refuse(stream: stream, status)
        case .violate(let violation): violate(violation)
        }
    }

    /// Handles a unary request, or the first message of a stream. `payload` is valid for the call.
    func handle(_ method: Method, _ payload: UnsafeRawBufferPointer, stream: UInt32, endsStream: Bool) {
        guard let client else { preconditionFailure("a request is handled before its session has arrived") }
        let responder = Responder(client: client, call: stream)
        do throws(ServiceError) {
            switch method {
            case _ where method.isStreaming: try openStream(method, payload, to: responder)
            case .healthCheck:
                try table.coder.decodeHealthRequest(payload)
                shard.checkHealth(to: responder)
            case _ where method.isOfOperator:
                // A client that is not the operator is told so before its message is read.
                if let problem = Authorisation.problemWithAdministration(by: identity) { throw problem }
                let origin = OperatorOrigin(
                    peer: connection.peerAddress, request: machine.requestID(ofStream: stream))
                shard.perform(try AdminRequest(method, payload, coder: table.coder), from: origin, to: responder)
            default:
                shard.perform(
                    try DataRequest(method, payload, coder: table.coder), byteCount: payload.count, to: responder)
            }
        } catch {
            refuse(stream, error)
        }
        if endsStream { clientEnded(stream: stream) }
    }

    /// Ends a call because of a frame that the client sent for it.
    private func refuse(stream: UInt32, _ status: CallStatus) {
        table.figures.refusedCalls += 1
        if !interceptedCalls.isEmpty { noteEnd(of: stream, .unanswered) }
        closeStream(stream)
        client?.cancelQuery(stream)
        writeStatus(stream: stream, status)
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
            let hello = try table.coder.decodeHello(payload)
            entrance = try server.admit(
                try Claim(hello), from: connection.peerNetwork, isOperator: isOperators)
        } catch {
            violate(
                CallStatus(error))
            return false
        }
        connection.opened(hasAccount: identity.role != .anonymous)
        payloadLimitAfterHello = BrumeDoor.frameBytes(of: identity)
        let target = server.home(of: entrance!)
        // Frames after the hello wait, in the reader and in the connection, until the session has arrived at its data.
        // It leaves when the turn's input is done.
        connection.pauseReading()
        shard.loop.execute { self.move(to: target) }
        return false
    }

    private func move(to target: Shard) {
        // The peer may have sent its hello and closed at once: then the connection is closed, and reports that when the
        // turn ends.
        if isGone || isEnding || !connection.isOpen { return }
        if target === shard { return arrived() }
        table.remove(self)
        let arrive = connection.leave()
        connection = nil
        target.loop.execute {
            self.move(to: self.door.table(of: target))
            self.connection = arrive(target.loop, self)
            self.table.add(self)
            self.arrived()
        }
    }

    private func arrived() {
        if isGone || isEnding { return }
        reader.payloadBytesLimit = payloadLimitAfterHello ?? reader.payloadBytesLimit
        let client: Client
        do throws(ServiceError) {
            client = try shard.enter(entrance!, through: self)
        } catch {
            return violate(CallStatus(error))
        }
        self.client = client
        machine.welcomed()
        connection.countOutput(with: share)
        table.figures.welcomedConnections += 1
        write(.welcome, payload: table.coder.encodeWelcome(door.welcome(for: identity)))
        connection.resumeReading()
        read(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
