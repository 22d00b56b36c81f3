/// Protobuf written by hand: for requests that no encoder of ours would make.
struct ProtoBytes {
    private(set) var bytes: [UInt8] = []

    init() {}

    func varint(_ number: UInt64, _ value: UInt64) -> ProtoBytes {
        appending(Self.varint(number << 3) + Self.varint(value))
    }

    func double(_ number: UInt64, _ value: Double) -> ProtoBytes {
        appending(Self.varint(number << 3 | 1) + withUnsafeBytes(of: value.bitPattern.littleEndian, Array.init))
    }

    func bytes(_ number: UInt64, _ value: [UInt8]) -> ProtoBytes {
        appending(Self.varint(number << 3 | 2) + Self.varint(UInt64(value.count)) + value)
    }

    func raw(_ bytes: [UInt8]) -> ProtoBytes { appending(bytes) }

    func text(_ number: UInt64, _ value: String) -> ProtoBytes { bytes(number, Array(value.utf8)) }

    func message(_ number: UInt64, _ value: ProtoBytes) -> ProtoBytes { bytes(number, value.bytes) }

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

/// SplitMix64: the same numbers from the same seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
