/// A hash over everything that happened: two runs that have the same one were the same run.
struct SimulationTrace {
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func note(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { mix($0) }
    }

    mutating func note(_ text: String) {
        var text = text
        text.withUTF8 { mix(UnsafeRawBufferPointer($0)) }
    }

    mutating func note(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { mix($0) }
    }

    private mutating func mix(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
