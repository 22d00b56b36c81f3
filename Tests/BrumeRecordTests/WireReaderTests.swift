import Testing

@testable import BrumeRecord

@Suite("A reader of messages")
struct WireReaderTests {
    private func number(_ varint: [UInt8]) -> UInt64? {
        ([0x08] + varint).withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            return (try? reader.next())?.scalar
        }
    }

    @Test("takes numbers of 64 bits in any length of theirs, and none that has more")
    func numbers() {
        let ones = [UInt8](repeating: 0xFF, count: 9)
        #expect(number([0x01]) == 1 && number([0x81, 0x00]) == 1 && number(ones + [0x01]) == .max)
        #expect(number(ones + [0x00]) == .max >> 1)
        for tenth: UInt8 in [0x02, 0x03, 0x7F] {
            #expect(number([UInt8](repeating: 0x80, count: 9) + [tenth]) == nil)
        }
        #expect(number([UInt8](repeating: 0x80, count: 10) + [0x01]) == nil && number(ones) == nil)
    }
}
