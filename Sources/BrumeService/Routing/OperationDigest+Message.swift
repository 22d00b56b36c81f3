package import BrumeModel

extension OperationDigest {
    /// The digest of a request's message, byte by byte.
    ///
    /// It detects a client's mistakes and need not withstand attacks: operations are looked up among those of one user,
    /// who gains nothing by deceiving himself. So it is not a cryptographic hash, which would cost a microsecond for a
    /// kilobyte; it costs a tenth of that. Two lanes see each pair of words, and multiply it to 128 bits of which both
    /// halves count. Words are little-endian, the last one is filled with zeros, and the length counts.
    ///
    /// - Parameter kind: Tells requests of different kinds apart, whose messages may have the same bytes.
    package init(of message: UnsafeRawBufferPointer, kind: OperationOutcome.Kind) {
        let start = UInt64(message.count) ^ UInt64(kind.rawValue) << 32
        var first = Self.product(start ^ Self.keys.0, Self.keys.1)
        var second = Self.product(start ^ Self.keys.2, Self.keys.3)
        func take(_ left: UInt64, _ right: UInt64) {
            (first, second) = (
                Self.product(left ^ Self.keys.1, right ^ first), Self.product(right ^ Self.keys.3, left ^ second)
            )
        }
        let wholePairs = message.count & ~15
        var offset = 0
        while offset < wholePairs {
            take(
                UInt64(littleEndian: message.loadUnaligned(fromByteOffset: offset, as: UInt64.self)),
                UInt64(littleEndian: message.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)))
            offset += 16
        }
        if offset < message.count {
            var rest: (UInt64, UInt64) = (0, 0)
            withUnsafeMutableBytes(of: &rest) {
                $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: message[offset...]))
            }
            take(UInt64(littleEndian: rest.0), UInt64(littleEndian: rest.1))
        }
        self.init(front: Self.product(first ^ Self.keys.2, Self.keys.0), back: Self.product(second, Self.keys.2))
    }

    /// Both halves of a product, folded into one.
    @inline(__always)
    private static func product(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let (high, low) = left.multipliedFullWidth(by: right)
        return high ^ low
    }

    /// Odd numbers with as many ones as zeros.
    private static let keys: (UInt64, UInt64, UInt64, UInt64) = (
        0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3, 0x5899_65CC_7537_4CC3
    )
}
