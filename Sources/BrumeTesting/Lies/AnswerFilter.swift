internal import BrumeModel
internal import BrumeProtocol

/// The frames of a device's connection, of which a lying server sends other ones.
///
/// Both directions pass through as whole frames. Only answers are ever changed: what the device sends reaches the
/// server as it is.
struct AnswerFilter: ~Copyable {
    private var sent = FrameReader(payloadBytesLimit: .max)
    private var received = FrameReader(payloadBytesLimit: .max)
    private let coder = MessageCoder()
    /// Calls whose request has not come yet.
    private var opened: [UInt32: Method] = [:]
    private var calls: [UInt32: AnsweredCall] = [:]
    /// The bytes are no frames: they pass as they are.
    private var isBroken = false

    /// The frames of a device that say which calls wait for answers.
    private static let types: Set<FrameType> = [.call, .message, .cancel]
    /// The methods about which there are lies.
    private static let methods: Set<Method> = [
        .recordsModify, .recordsFetch, .recordsChanges, .recordsQuery, .databasesChanges, .statementsAppend,
        .statementsFetch, .ringsAppend, .ringsFetch, .ringsJoin, .ringsFetchStatements, .ringsListMisplaced,
        .enrolmentsFetch, .assetsUpload, .assetsDownload,
    ]
    /// Those of them whose answers come in parts.
    private static let streams: Set<Method> = [.assetsUpload, .assetsDownload]

    /// The device has sent bytes.
    mutating func sent(_ bytes: [UInt8]) {
        if isBroken { return }
        var frames: [(FrameHeader, [UInt8])] = []
        do throws(FrameError) {
            try bytes.withUnsafeBytes { bytes in
                Result { () throws(FrameError) in
                    try sent.read(bytes) { header, payload in
                        if Self.types.contains(header.type) { frames.append((header, Array(payload))) }
                        return true
                    }
                }
            }.get()
        } catch {
            isBroken = true
        }
        for (header, payload) in frames {
            switch header.type {
            case .cancel:
                opened[header.stream] = nil
                calls[header.stream] = nil
            case .call:
                let call = payload.withUnsafeBytes { try? coder.decodeCall($0) }
                if let method = call?.method, Self.methods.contains(method) { opened[header.stream] = method }
            default:
                guard let method = opened.removeValue(forKey: header.stream) else { continue }
                calls[header.stream] = AnsweredCall(method: method, request: payload)
            }
        }
    }

    /// Bytes of the server have come.
    ///
    /// - Parameters:
    ///   - user: Whom the server calls the device's user; nil where it names the true one.
    ///   - lie: The answer with the lies in it; nil for one that no lie is about.
    /// - Returns: The bytes that the device gets.
    mutating func received(
        _ bytes: UnsafeRawBufferPointer, user: () -> String?,
        _ lie: (AnsweredCall, ServerAnswer) -> ServerAnswer?
    ) -> [UInt8] {
        if isBroken { return Array(bytes) }
        var frames: [(FrameHeader, [UInt8])] = []
        do throws(FrameError) {
            try received.read(bytes) { header, payload in
                frames.append((header, Array(payload)))
                return true
            }
        } catch {
            isBroken = true
        }
        var output: [UInt8] = []
        for (header, payload) in frames {
            if header.type == .welcome, let user = user(),
                var welcome = payload.withUnsafeBytes({ try? coder.decodeWelcome($0) })
            {
                welcome.userRecordName = user
                FrameWriter.append(
                    .welcome, stream: header.stream, isLast: header.isLast, payload: coder.encodeWelcome(welcome),
                    to: &output)
                continue
            }
            let call = calls[header.stream]
            if header.isLast || header.type == .status { calls[header.stream] = nil }
            guard let call, let answer = answer(header, payload, to: call), let told = lie(call, answer) else {
                FrameWriter.append(
                    header.type, stream: header.stream, isLast: header.isLast, payload: payload, to: &output)
                continue
            }
            switch told {
            case .message(let payload):
                FrameWriter.append(.message, stream: header.stream, isLast: true, payload: payload, to: &output)
            case .parts(let messages):
                for message in messages {
                    FrameWriter.append(.message, stream: header.stream, payload: message, to: &output)
                }
            case .failure(let error):
                let status = coder.encodeStatus(CallStatus(error))
                FrameWriter.append(.status, stream: header.stream, payload: status, to: &output)
            }
        }
        return output
    }

    /// The answer that ends a call, or a part of it; nil for all other frames.
    private func answer(_ header: FrameHeader, _ payload: [UInt8], to call: AnsweredCall) -> ServerAnswer? {
        switch header.type {
        // Their end is a status.
        case .message where Self.streams.contains(call.method): return header.isLast ? nil : .parts([payload])
        case .message: return header.isLast ? .message(payload) : nil
        case .status:
            let status = payload.withUnsafeBytes { try? coder.decodeStatus($0) }
            return status?.error.map { .failure($0) }
        default: return nil
        }
    }
}
