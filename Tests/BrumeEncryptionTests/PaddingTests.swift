import Testing

@testable import BrumeEncryption

@Suite struct PaddingTests {
    @Test("small things are filled up to a multiple of 32 bytes")
    func small() {
        #expect([0, 1, 31, 32, 33, 1000, 1024].map(Padding.padded) == [0, 32, 32, 32, 64, 1024, 1024])
    }

    @Test("larger things get Padmé's lengths, whose last bits are zeros")
    func large() {
        // E = 10, S = 4: multiples of 64; E = 20, S = 5: of 32 KiB.
        #expect([1025, 1088, 1089, 2047].map(Padding.padded) == [1088, 1088, 1152, 2048])
        #expect([1_048_577, 1_500_000].map(Padding.padded) == [1_081_344, 1_507_328])
    }

    @Test("nothing becomes shorter, nor longer by more than 7 % or 31 bytes")
    func bounds() {
        let powers = (12..<40).flatMap { (exponent: UInt64) -> [UInt64] in
            [(1 << exponent) - 1, 1 << exponent, (1 << exponent) + 1]
        }
        for length in Array(0..<5000) + powers {
            let padded = Padding.padded(length)
            #expect(padded >= length)
            #expect(padded - length <= max(31, length * 7 / 100), "\(length)")
            #expect(Padding.padded(padded) == padded, "a length that was filled up stays")
        }
    }
}
