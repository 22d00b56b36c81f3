/// Protobuf written by hand: for requests that no encoder of ours would make.
package struct ProtoBytes {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package func varint(_ number: UInt64, _ value: UInt64) -> ProtoBytes {
        appending(Self.varint(number << 3) + Self.varint(value))
    }

    package func double(_ number: UInt64, _ value: Double) -> ProtoBytes {
        appending(Self.varint(number << 3 | 1) + withUnsafeBytes(of: value.bitPattern.littleEndian, Array.init))
    }

    package func bytes(_ number: UInt64, _ value: [UInt8]) -> ProtoBytes {
        appending(Self.varint(number << 3 | 2) + Self.varint(UInt64(value.count)) + value)
    }

    package func raw(_ bytes: [UInt8]) -> ProtoBytes { appending(bytes) }

    package func text(_ number: UInt64, _ value: String) -> ProtoBytes { bytes(number, Array(value.utf8)) }

    package func message(_ number: UInt64, _ value: ProtoBytes) -> ProtoBytes { bytes(number, value.bytes) }

    private func appending(_ more: [UInt8]) -> ProtoBytes {
        var copy = self
        copy.bytes += more
        return copy
    }

    private static func varint(_ value: UInt64) -> [UInt8] {
        var value = value
        var bytes: [UInt8] = []
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        return bytes + [UInt8(value)]
    }
}
