import BrumeTestKit

/// A protobuf message written by hand: also what no generated code would write.
indirect enum ProtobufField: Sendable {
    case varint(Int, UInt64)
    case bytes(Int, [UInt8])
    case text(Int, String)
    case message(Int, [ProtobufField])
    /// Bytes as they are, valid or not.
    case raw([UInt8])

    static func encode(_ fields: [ProtobufField]) -> [UInt8] {
        fields.reduce(into: []) { $0 += $1.encoded }
    }

    private var encoded: [UInt8] {
        switch self {
        case .varint(let number, let value): ProtoBytes().varint(UInt64(number), value).bytes
        case .bytes(let number, let bytes): ProtoBytes().bytes(UInt64(number), bytes).bytes
        case .text(let number, let text): ProtoBytes().text(UInt64(number), text).bytes
        case .message(let number, let fields): ProtoBytes().bytes(UInt64(number), Self.encode(fields)).bytes
        case .raw(let bytes): bytes
        }
    }
}
