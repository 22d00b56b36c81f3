import BrumeModel
import Testing

@Suite("Names of assets")
struct AssetChecksumTests {
    @Test("a checksum keeps its bytes, and is one of 32 of them")
    func checksums() throws {
        let bytes = (0..<32).map { UInt8($0 * 8 + 3) }
        let checksum = try #require(AssetChecksum(bytes))
        #expect(checksum.bytes == bytes)
        #expect(checksum == AssetChecksum(bytes[...]))
        #expect("\(checksum)".hasPrefix("030b131b") && "\(checksum)".utf8.count == 64)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            #expect(AssetChecksum(other) != checksum)
        }
        #expect(AssetChecksum(bytes.dropLast()) == nil && AssetChecksum(bytes + [0]) == nil)
        #expect(UploadID([UInt8](repeating: 1, count: 16)) != nil && UploadID([1]) == nil)
    }

    @Test("hexadecimal digits are read as they are written, and in no other way")
    func hexadecimal() {
        let all = Array(UInt8.min...UInt8.max)
        #expect([UInt8](hexadecimal: all.hexadecimal) == all)
        #expect([UInt8]().hexadecimal == "" && [UInt8](hexadecimal: "") == [])
        for text in ["a", "0A", "0g", "+1", " 1", "0x", "1\u{0}", "é"] {
            #expect([UInt8](hexadecimal: text) == nil, "\(text)")
        }
    }
}
