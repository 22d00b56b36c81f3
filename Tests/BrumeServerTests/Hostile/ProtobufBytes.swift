/// A protobuf message written by hand: also what no generated code would write.
indirect enum ProtobufField: Sendable {
    case varint(Int, UInt64)
    case bytes(Int, [UInt8])
    case text(Int, String)
    case message(Int, [ProtobufField])
    /// Bytes as they are, valid or not.
    case raw([UInt8])

    static func encode(_ fields: [ProtobufField]) -> [UInt8] {
        var output: [UInt8] = []
        for field in fields {
            switch field {
            case .varint(let number, let value):
                appendVarint(UInt64(number) << 3, to: &output)
                appendVarint(value, to: &output)
            case .bytes(let number, let bytes):
                appendVarint(UInt64(number) << 3 | 2, to: &output)
                appendVarint(UInt64(bytes.count), to: &output)
                output += bytes
            case .text(let number, let text):
                output += encode([.bytes(number, Array(text.utf8))])
            case .message(let number, let fields):
                output += encode([.bytes(number, encode(fields))])
            case .raw(let bytes):
                output += bytes
            }
        }
        return output
    }

    private static func appendVarint(_ value: UInt64, to output: inout [UInt8]) {
        var value = value
        while value >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        output.append(UInt8(value))
    }
}

/// The fields of a message that the server sent, by number.
struct ProtobufReader {
    private var varints: [Int: [UInt64]] = [:]
    private var chunks: [Int: [[UInt8]]] = [:]

    /// nil when the bytes are not a message of varints, 64-bit values and byte strings.
    init?(_ bytes: [UInt8]) {
        var offset = 0
        func readVarint() -> UInt64? {
            var value: UInt64 = 0
            var shift: UInt64 = 0
            while offset < bytes.count, shift < 64 {
                let byte = bytes[offset]
                offset += 1
                value |= UInt64(byte & 0x7f) << shift
                if byte & 0x80 == 0 { return value }
                shift += 7
            }
            return nil
        }
        while offset < bytes.count {
            guard let key = readVarint() else { return nil }
            let number = Int(key >> 3)
            switch key & 7 {
            case 0:
                guard let value = readVarint() else { return nil }
                varints[number, default: []].append(value)
            case 1:
                guard bytes.count - offset >= 8 else { return nil }
                offset += 8
            case 2:
                guard let length = readVarint(), length <= bytes.count - offset else { return nil }
                chunks[number, default: []].append(Array(bytes[offset..<offset + Int(length)]))
                offset += Int(length)
            default:
                return nil
            }
        }
    }

    func varint(_ number: Int) -> UInt64 { varints[number]?.last ?? 0 }

    /// A `sint32` or `sint64`.
    func signed(_ number: Int) -> Int {
        let raw = varint(number)
        return Int(Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1))
    }

    func bytes(_ number: Int) -> [UInt8] { chunks[number]?.last ?? [] }
    func all(_ number: Int) -> [[UInt8]] { chunks[number] ?? [] }
    func has(_ number: Int) -> Bool { chunks[number] != nil || varints[number] != nil }
    func text(_ number: Int) -> String { String(decoding: bytes(number), as: UTF8.self) }
    func message(_ number: Int) -> ProtobufReader? { chunks[number]?.last.flatMap(ProtobufReader.init) }
    func messages(_ number: Int) -> [ProtobufReader] { all(number).compactMap(ProtobufReader.init) }
}
