import BrumeModel
import Testing

@Suite("The header of what devices encrypt") struct EncryptedHeaderTests {
    private static let tree = [UInt8](1...16)
    private static let header = [1, 1] + tree + [1, 0x34, 0x12, 0, 0]
    private static let value = header + [UInt8](repeating: 9, count: 40 + 32)
    private static let stamp = header + [UInt8](repeating: 9, count: 40)

    private static func value(of bytes: [UInt8]) -> Result<EncryptedHeader, EncryptedHeader.Problem> {
        bytes.withUnsafeBytes { bytes in
            Result { () throws(EncryptedHeader.Problem) in try EncryptedHeader(ofValue: bytes) }
        }
    }

    private static func stamp(of bytes: [UInt8]) -> Result<EncryptedHeader, EncryptedHeader.Problem> {
        bytes.withUnsafeBytes { bytes in
            Result { () throws(EncryptedHeader.Problem) in try EncryptedHeader(ofStamp: bytes) }
        }
    }

    @Test("a value and a stamp say their tree, its kind and the number of the key") func parts() throws {
        for result in [Self.value(of: Self.value), Self.stamp(of: Self.stamp)] {
            let header = try result.get()
            #expect(header.treeID == .init(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10))
            #expect(header.isShared)
            #expect(header.keyNumber == 0x1234)
            #expect(header.bytes == Self.header)
        }
        var isPrivate = Self.value
        isPrivate[18] = 0
        #expect(try !Self.value(of: isPrivate).get().isShared)
    }

    @Test("another format or suite is newer, whatever follows") func newer() {
        for bytes: [UInt8] in [[2, 1], [1, 2], [0, 0] + Self.value.dropFirst(2), [2] + Self.value.dropFirst()] {
            #expect(Self.value(of: bytes) == .failure(.newer))
            #expect(Self.stamp(of: bytes) == .failure(.newer))
        }
    }

    @Test("a value that is cut, longer than its padding, or of an impossible kind or key is malformed")
    func malformed() {
        for count in 0..<Self.value.count {
            #expect(Self.value(of: Array(Self.value.prefix(count))) == .failure(.malformed), "\(count) bytes")
        }
        for extra in 1..<32 {
            let bytes = Self.value + [UInt8](repeating: 0, count: extra)
            #expect(Self.value(of: bytes) == .failure(.malformed), "\(extra) more bytes")
        }
        func changed(_ index: Int, _ bytes: UInt8...) -> [UInt8] {
            var changed = Self.value
            changed.replaceSubrange(index..<index + bytes.count, with: bytes)
            return changed
        }
        for bytes in [changed(18, 2), changed(18, 255), changed(19, 0, 0, 0, 0), changed(19, 1, 0x40, 0, 0)] {
            #expect(Self.value(of: bytes) == .failure(.malformed))
        }
        #expect((try? Self.value(of: changed(19, 0, 0x40, 0, 0)).get().keyNumber) == Limits.keysPerRing)
    }

    @Test("a stamp has exactly its length") func stamps() {
        for count in 0..<100 where count != EncryptedHeader.stampByteCount {
            let bytes = Array((Self.stamp + Self.stamp).prefix(count))
            #expect(Self.stamp(of: bytes) == .failure(.malformed), "\(count) bytes")
        }
        #expect(EncryptedHeader.stampByteCount == 63)
    }

    @Test("what opens assets has exactly the length that as many secrets take, and a value's form otherwise")
    func assetSecrets() {
        func result(_ bytes: [UInt8], _ count: Int, _ isList: Bool) -> Result<EncryptedHeader, EncryptedHeader.Problem>
        {
            bytes.withUnsafeBytes { bytes in
                Result { () throws(EncryptedHeader.Problem) in
                    try EncryptedHeader(ofAssetSecrets: bytes, count: count, isList: isList)
                }
            }
        }
        // Secrets of 74 bytes behind their length, in a list behind their number as well, filled up to 32 bytes, above
        // 1,024 of these to 64 and so on.
        let paddings: [(count: Int, isList: Bool, padded: Int)] = [
            (1, false, 96), (1, true, 96), (2, true, 160), (13, true, 992), (14, true, 1_088), (1_000, true, 75_776),
        ]
        for (count, isList, padded) in paddings {
            #expect(EncryptedHeader.assetSecretsByteCount(count, isList: isList) == 63 + padded)
            let right = Self.header + [UInt8](repeating: 9, count: 40 + padded)
            #expect((try? result(right, count, isList).get())?.keyNumber == 0x1234)
            #expect((try? Self.value(of: right).get())?.keyNumber == 0x1234)
            for length in [0, 1, 22, 23, 63, 95, 63 + padded - 32, 63 + padded - 1, 63 + padded + 1, 63 + padded + 64] {
                let bytes = Array((right + right).prefix(length))
                #expect(result(bytes, count, isList) == .failure(.malformed), "\(length) bytes for \(count)")
            }
            #expect(result([2] + right.dropFirst(), count, isList) == .failure(.newer))
        }
        let right = Self.header + [UInt8](repeating: 9, count: 40 + 96)
        for (index, byte) in [(18, 2), (22, 1)] as [(Int, UInt8)] {
            var bytes = right
            bytes[index] = byte
            #expect(result(bytes, 1, false) == .failure(.malformed))
        }
    }

    @Test("a value has a length that padding gives, and no other", arguments: [32, 1_024, 1_056, 4_096, 1 << 20])
    func lengths(near: Int) {
        // As Documentation/EncryptionFormats.md has it, written down a second time.
        func pad(_ count: Int) -> Int {
            var unit = 32
            if count > 1024 {
                var exponent = 0
                while 1 << (exponent + 1) <= count { exponent += 1 }
                var bits = 0
                while 1 << (bits + 1) <= exponent { bits += 1 }
                unit = 1 << (exponent - bits - 1)
            }
            return (count + unit - 1) / unit * unit
        }
        let range = max(4, near - 300)...near + 300
        let possible = Set(range.map(pad))
        for count in range where count <= range.upperBound - 300 || possible.contains(count) {
            let bytes = Self.header + [UInt8](repeating: 0, count: 40 + count)
            let isPadded = pad(count) == count
            #expect((Self.value(of: bytes) == .failure(.malformed)) == !isPadded, "\(count)")
        }
        for count in range { #expect(EncryptedHeader.valueByteCount(content: count) == 63 + pad(count)) }
    }
}
