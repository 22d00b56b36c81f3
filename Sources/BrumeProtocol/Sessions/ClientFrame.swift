package import BrumeModel

/// A client's frames, as values.
package enum ClientFrame: Equatable, Sendable {
    case hello(Hello)
    /// Opens a call or stream, and its first message. `isLast` for a unary call.
    case call(stream: UInt32, CallHeader, payload: [UInt8], isLast: Bool)
    case message(stream: UInt32, payload: [UInt8])
    case cancel(stream: UInt32)
    case credit(stream: UInt32, StreamCredit)
    case ping(UInt64)
    case pong(UInt64)

    /// Appends the frame's bytes.
    package func encode(to output: inout [UInt8], coder: MessageCoder) {
        switch self {
        case .hello(let hello):
            FrameWriter.append(.hello, payload: coder.encodeHello(hello), to: &output)
        case .call(let stream, let header, let payload, let isLast):
            output.reserveCapacity(output.count + payload.count + 256)
            FrameWriter.append(.call, stream: stream, payload: coder.encodeCall(header), to: &output)
            FrameWriter.append(.message, stream: stream, isLast: isLast, payload: payload, to: &output)
        case .message(let stream, let payload):
            FrameWriter.append(.message, stream: stream, payload: payload, to: &output)
        case .cancel(let stream):
            FrameWriter.append(.cancel, stream: stream, payload: [], to: &output)
        case .credit(let stream, let credit):
            FrameWriter.append(.credit, stream: stream, payload: FrameWriter.creditPayload(credit), to: &output)
        case .ping(let token):
            FrameWriter.append(.ping, payload: Self.bytes(token), to: &output)
        case .pong(let token):
            FrameWriter.append(.pong, payload: Self.bytes(token), to: &output)
        }
    }

    private static func bytes(_ token: UInt64) -> [UInt8] {
        withUnsafeBytes(of: token.bigEndian) { Array($0) }
    }
}
