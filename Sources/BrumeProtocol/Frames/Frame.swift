package import BrumeModel

/// What a frame is for. Raw values travel; see proto/README.md, section 2.
package enum FrameType: UInt8, Sendable {
    case hello = 1
    case welcome = 2
    case call = 3
    case message = 4
    case status = 5
    case cancel = 6
    case credit = 7
    case ping = 8
    case pong = 9
    case goaway = 10
}

/// The ten bytes before each payload.
package struct FrameHeader: Equatable, Sendable {
    /// Bytes of an encoded header: length (4), type (1), flags (1), stream (4), big-endian.
    package static let byteCount = 10

    /// The flag that marks the last message of a side on a stream.
    package static let lastFlag: UInt8 = 1

    package var payloadByteCount: Int
    package var type: FrameType
    package var isLast: Bool
    /// The stream's id; 0 stands for the connection itself.
    package var stream: UInt32

    package init(type: FrameType, stream: UInt32 = 0, isLast: Bool = false, payloadByteCount: Int) {
        self.payloadByteCount = payloadByteCount
        self.type = type
        self.isLast = isLast
        self.stream = stream
    }

    /// Writes the header to the first ten bytes of `buffer`.
    package func encode(to buffer: UnsafeMutableRawBufferPointer) {
        precondition(buffer.count >= Self.byteCount, "a frame header needs \(Self.byteCount) bytes")
        buffer.storeBytes(of: UInt32(payloadByteCount).bigEndian, as: UInt32.self)
        buffer.storeBytes(of: type.rawValue, toByteOffset: 4, as: UInt8.self)
        buffer.storeBytes(of: isLast ? Self.lastFlag : 0, toByteOffset: 5, as: UInt8.self)
        buffer.storeBytes(of: stream.bigEndian, toByteOffset: 6, as: UInt32.self)
    }

    /// Appends the header to `bytes`.
    package func append(to bytes: inout [UInt8]) {
        bytes.append(addingCapacity: Self.byteCount) { span in
            span.withUnsafeMutableBufferPointer { room, count in
                encode(to: UnsafeMutableRawBufferPointer(room))
                count = Self.byteCount
            }
        }
    }
}

/// A frame that breaks the protocol. The connection ends with it.
package enum FrameError: Error, Equatable, Sendable {
    case unknownType(UInt8)
    case unknownFlags(UInt8)
    case tooLarge(byteCount: Int, limit: Int)

    /// CloudKit's code for it.
    package var code: ErrorCode {
        switch self {
        case .unknownType, .unknownFlags: .invalidArguments
        case .tooLarge: .limitExceeded
        }
    }

    /// A sentence for the peer.
    package var message: String {
        switch self {
        case .unknownType(let type): "frame type \(type) is not in protocol version 1"
        case .unknownFlags(let flags): "frame flags \(flags) are not in protocol version 1"
        case .tooLarge(let byteCount, let limit):
            "a frame announces \(byteCount) bytes; the limit is \(limit): send smaller requests"
        }
    }
}

extension FrameHeader {
    /// Reads a header from the first ten bytes of `bytes`.
    package init(decoding bytes: UnsafeRawBufferPointer, payloadBytesLimit: Int) throws(FrameError) {
        let length = Int(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        let rawType = bytes.load(fromByteOffset: 4, as: UInt8.self)
        let flags = bytes.load(fromByteOffset: 5, as: UInt8.self)
        guard let type = FrameType(rawValue: rawType) else { throw .unknownType(rawType) }
        guard flags & ~Self.lastFlag == 0 else { throw .unknownFlags(flags) }
        guard length <= payloadBytesLimit else { throw .tooLarge(byteCount: length, limit: payloadBytesLimit) }
        self.init(
            type: type, stream: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 6, as: UInt32.self)),
            isLast: flags & Self.lastFlag != 0, payloadByteCount: length)
    }
}
