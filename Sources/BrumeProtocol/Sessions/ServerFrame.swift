package import BrumeModel

/// A server's frames, decoded and checked as far as is possible for a single frame.
package enum ServerFrame: Equatable, Sendable {
    case welcome(Welcome)
    case message(stream: UInt32, payload: [UInt8], isLast: Bool)
    /// A status on stream 0 ends the connection.
    case status(stream: UInt32, CallStatus)
    case credit(stream: UInt32, StreamCredit)
    case ping(UInt64)
    case pong(UInt64)
    case goaway(Goaway)

    /// A violation of the protocol by one of the server's frames, in words.
    package struct Violation: Error, Equatable, Sendable {
        package let message: String
    }

    /// Decodes a frame; the payload is used during the call only.
    package init(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer, coder: MessageCoder
    ) throws(Violation) {
        switch header.type {
        case .welcome, .ping, .pong, .goaway:
            guard header.stream == 0 else {
                throw Violation(message: "the server sent a \(header.type) frame on stream \(header.stream)")
            }
        case .message, .credit:
            guard header.stream != 0 else {
                throw Violation(message: "the server sent a \(header.type) frame on stream 0")
            }
        case .status: break
        case .hello, .call, .cancel:
            throw Violation(message: "the server sent a \(header.type) frame, which only clients send")
        }
        do throws(ServiceError) {
            switch header.type {
            case .welcome: self = .welcome(try coder.decodeWelcome(payload))
            case .status: self = .status(stream: header.stream, try coder.decodeStatus(payload))
            case .goaway: self = .goaway(try coder.decodeGoaway(payload))
            case .ping: self = .ping(try Self.token(payload))
            case .pong: self = .pong(try Self.token(payload))
            case .credit:
                guard let credit = FrameWriter.credit(in: payload) else {
                    throw ServiceError(.internalError, "it has \(payload.count) bytes instead of 8")
                }
                self = .credit(stream: header.stream, credit)
            case .message, .hello, .call, .cancel:
                self = .message(stream: header.stream, payload: Array(payload), isLast: header.isLast)
            }
        } catch {
            throw Violation(message: "a \(header.type) frame of the server can't be read: \(error.message)")
        }
    }

    private static func token(_ payload: UnsafeRawBufferPointer) throws(ServiceError) -> UInt64 {
        guard payload.count == 8 else {
            throw ServiceError(.internalError, "it has \(payload.count) bytes instead of 8")
        }
        return UInt64(bigEndian: payload.loadUnaligned(as: UInt64.self))
    }
}
