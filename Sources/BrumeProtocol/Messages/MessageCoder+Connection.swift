package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// The messages of a connection outside of calls, and those that open and end a call.
extension MessageCoder {
    package func encodeHello(_ hello: Hello) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__hello__init)
            message.pointee.protocol_version = hello.protocolVersion
            message.pointee.client_version = arena.data(hello.clientVersion)
            message.pointee.device_id = arena.data(hello.deviceID)
            message.pointee.container = arena.data(hello.container)
            message.pointee.environment = Brume__V1__Environment(UInt32(hello.environment?.rawValue ?? 0))
            switch hello.credentials {
            case .none:
                break
            case .account(let token):
                message.pointee.credentials_case = BRUME__V1__HELLO__CREDENTIALS_ACCOUNT_TOKEN
                message.pointee.account_token = arena.data(token)
            case .admin(let token):
                message.pointee.credentials_case = BRUME__V1__HELLO__CREDENTIALS_ADMIN_TOKEN
                message.pointee.admin_token = arena.data(token)
            }
            return message
        }
    }

    /// Reads a hello. The session decides whether the container's name is valid, whether the container may be used, and
    /// whether the credentials open it.
    package func decodeHello(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> Hello {
        let message = try request(brume__v1__hello__unpack, bytes)
        let environment: Environment?
        switch message.pointee.environment.rawValue {
        case 0: environment = nil
        case 1: environment = .development
        case 2: environment = .production
        default:
            throw ServiceError(
                .invalidArguments, "a hello names an unknown environment; use development (1) or production (2)")
        }
        guard message.pointee.device_id.len == 0 || message.pointee.device_id.len == 16 else {
            throw ServiceError(
                .invalidArguments, "a device id has \(message.pointee.device_id.len) bytes; give it 16 random ones")
        }
        let credentials: Hello.Credentials
        switch message.pointee.credentials_case {
        case BRUME__V1__HELLO__CREDENTIALS_ACCOUNT_TOKEN:
            credentials = .account(try Self.shortText(message.pointee.account_token, 1024, "an account token"))
        case BRUME__V1__HELLO__CREDENTIALS_ADMIN_TOKEN:
            credentials = .admin(try Self.shortText(message.pointee.admin_token, 1024, "an admin token"))
        default:
            credentials = .none
        }
        return Hello(
            protocolVersion: message.pointee.protocol_version,
            clientVersion: try Self.shortText(message.pointee.client_version, 255, "a client version"),
            deviceID: message.pointee.device_id.array,
            // A replacement character is not ASCII, so no container's name has one.
            container: message.pointee.container.lossyText,
            environment: environment, credentials: credentials)
    }

    package func encodeWelcome(_ welcome: Welcome) -> [UInt8] {
        encode { arena in
            let limits = arena.make(brume__v1__limits__init)
            limits.pointee.frame_bytes = UInt32(clamping: welcome.limits.frameBytes)
            limits.pointee.concurrent_calls = UInt32(clamping: welcome.limits.concurrentCalls)
            limits.pointee.items_per_request = UInt32(clamping: welcome.limits.itemsPerRequest)
            limits.pointee.request_bytes = UInt32(clamping: welcome.limits.requestBytes)
            limits.pointee.record_bytes = UInt32(clamping: welcome.limits.recordBytes)
            limits.pointee.stream_credit = UInt32(clamping: welcome.limits.streamCredit)
            limits.pointee.stream_credit_bytes = UInt32(clamping: welcome.limits.streamCreditBytes)
            limits.pointee.idle_milliseconds = UInt32(clamping: welcome.limits.idleMilliseconds)
            let message = arena.make(brume__v1__welcome__init)
            message.pointee.protocol_version = welcome.protocolVersion
            message.pointee.server_version = arena.data(welcome.serverVersion)
            message.pointee.user_record_name = arena.data(welcome.userRecordName)
            message.pointee.server_epoch = welcome.serverEpoch
            message.pointee.limits = limits
            return message
        }
    }

    package func decodeWelcome(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> Welcome {
        let message = try answer(brume__v1__welcome__unpack, bytes)
        guard let limits = message.pointee.limits?.pointee else {
            throw Self.unreadableAnswer("the welcome names no limits")
        }
        return Welcome(
            protocolVersion: message.pointee.protocol_version, serverVersion: message.pointee.server_version.lossyText,
            userRecordName: message.pointee.user_record_name.lossyText, serverEpoch: message.pointee.server_epoch,
            limits: ConnectionLimits(
                frameBytes: Int(limits.frame_bytes), concurrentCalls: Int(limits.concurrent_calls),
                itemsPerRequest: Int(limits.items_per_request), requestBytes: Int(limits.request_bytes),
                recordBytes: Int(limits.record_bytes), streamCredit: Int(limits.stream_credit),
                streamCreditBytes: Int(limits.stream_credit_bytes), idleMilliseconds: Int(limits.idle_milliseconds)))
    }

    package func encodeCall(_ call: CallHeader) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__call__init)
            message.pointee.method = Brume__V1__Method(call.method.rawValue)
            message.pointee.timeout_milliseconds = call.timeoutMilliseconds
            message.pointee.request_id = arena.data(call.requestID)
            message.pointee.operation_group = arena.data(call.operationGroup)
            if let traceParent = call.traceParent { message.pointee.trace_parent = arena.data(traceParent.text) }
            return message
        }
    }

    /// Reads a call's header. A method that this version doesn't know keeps its number. Texts that are malformed or too
    /// long are left out and reported as the header's problem: they do not affect the stream.
    package func decodeCall(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> CallHeader {
        if let header = Self.plainCall(bytes) { return header }
        let message = try request(brume__v1__call__unpack, bytes)
        var header = CallHeader(
            method: Method(rawValue: message.pointee.method.rawValue),
            timeoutMilliseconds: message.pointee.timeout_milliseconds,
            traceParent: Self.traceParent(message.pointee.trace_parent))
        do throws(ServiceError) {
            let requestID = try Self.shortText(message.pointee.request_id, 64, "a request id")
            header.operationGroup = try Self.shortText(
                message.pointee.operation_group, 255, "an operation group's name")
            header.requestID = requestID
        } catch {
            header.problem = error
        }
        return header
    }

    private static func traceParent(_ data: ProtobufCBinaryData) -> TraceParent? {
        TraceParent(UnsafeBufferPointer(start: data.data, count: data.len).span)
    }

    /// A header with only a method and a timeout, as most are, read in place. Returns nil for any other header.
    private static func plainCall(_ bytes: UnsafeRawBufferPointer) -> CallHeader? {
        var numbers: (method: UInt32, timeout: UInt32) = (0, 0)
        var last: UInt64 = 0
        var reader = WireReader(bytes)
        do throws(WireReader.Damage) {
            while let element = try reader.next() {
                guard element.number > last, let number = UInt32(exactly: try element.integer()) else { return nil }
                last = element.number
                switch element.number {
                case 1: numbers.method = number
                case 2: numbers.timeout = number
                default: return nil
                }
            }
        } catch {
            return nil
        }
        return CallHeader(method: Method(rawValue: numbers.method), timeoutMilliseconds: numbers.timeout)
    }

    package func encodeStatus(_ status: CallStatus) -> [UInt8] {
        encode { $0.status(status) }
    }

    package func decodeStatus(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> CallStatus {
        CallStatus(try answer(brume__v1__status__unpack, bytes))
    }

    package func encodeGoaway(_ goaway: Goaway) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__goaway__init)
            message.pointee.reason = arena.status(goaway.reason)
            message.pointee.reconnect_after_milliseconds = goaway.reconnectAfterMilliseconds
            return message
        }
    }

    package func decodeGoaway(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> Goaway {
        let message = try answer(brume__v1__goaway__unpack, bytes)
        return Goaway(
            reason: message.pointee.reason.map { CallStatus($0) } ?? .success,
            reconnectAfterMilliseconds: message.pointee.reconnect_after_milliseconds)
    }

    private static func shortText(
        _ data: ProtobufCBinaryData, _ bytesLimit: Int, _ kind: StaticString
    ) throws(ServiceError) -> String {
        guard data.len <= bytesLimit else {
            throw ServiceError(.invalidArguments, "\(kind) has \(data.len) bytes; the limit is \(bytesLimit)")
        }
        return try text(data, kind)
    }
}

extension MessageArena {
    fileprivate func status(_ status: CallStatus) -> Pointer<Brume__V1__Status> {
        let message = make(brume__v1__status__init)
        message.pointee.code = status.code
        message.pointee.message = data(status.message)
        message.pointee.retry_after_milliseconds = status.retryAfterMilliseconds
        message.pointee.detail = Brume__V1__StatusDetail(UInt32(status.detail.rawValue))
        return message
    }
}

extension CallStatus {
    fileprivate init(_ status: UnsafeMutablePointer<Brume__V1__Status>) {
        self.init(
            code: status.pointee.code, message: status.pointee.message.lossyText,
            retryAfterMilliseconds: status.pointee.retry_after_milliseconds,
            detail: ServiceError.Detail(wire: UInt32(status.pointee.detail.rawValue)))
    }
}
