/// The fields of a message that the server sent, by number.
package struct ProtobufReader {
    private var varints: [Int: [UInt64]] = [:]
    private var chunks: [Int: [[UInt8]]] = [:]

    /// nil when the bytes are not a message of varints, 64-bit values and byte strings.
    package init?(_ bytes: [UInt8]) {
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

    package func varint(_ number: Int) -> UInt64 { varints[number]?.last ?? 0 }

    /// A `sint32` or `sint64`.
    package func signed(_ number: Int) -> Int {
        let raw = varint(number)
        return Int(Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1))
    }

    package func bytes(_ number: Int) -> [UInt8] { chunks[number]?.last ?? [] }
    package func all(_ number: Int) -> [[UInt8]] { chunks[number] ?? [] }
    package func has(_ number: Int) -> Bool { chunks[number] != nil || varints[number] != nil }
    package func text(_ number: Int) -> String { String(decoding: bytes(number), as: UTF8.self) }
    package func message(_ number: Int) -> ProtobufReader? { chunks[number]?.last.flatMap(ProtobufReader.init) }
    package func messages(_ number: Int) -> [ProtobufReader] { all(number).compactMap(ProtobufReader.init) }
}
