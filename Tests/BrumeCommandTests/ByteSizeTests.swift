import Testing

@testable import brume

@Suite("Sizes on the command line")
struct ByteSizeTests {
    @Test("a size is a whole number of bytes or of binary units")
    func sizes() {
        let sizes: [(String, Int)] = [
            ("0", 0), ("65536", 65_536), ("3KiB", 3_072), ("512MiB", 536_870_912), ("2GiB", 2_147_483_648),
            ("1TiB", 1_099_511_627_776),
        ]
        for (text, bytes) in sizes { #expect(ByteSize(text)?.bytes == bytes, "\(text)") }
    }

    @Test("for people a size has its unit and its bytes, in groups of three digits")
    func figures() {
        for (bytes, text) in [
            (0, "0 bytes"), (1, "1 byte"), (100, "100 bytes"), (1_500, "1,500 bytes"),
            (1_536_000, "1500KiB (1,536,000 bytes)"), (5 << 30, "5GiB (5,368,709,120 bytes)"),
        ] { #expect(ByteSize(bytes: bytes).figures == text) }
    }

    @Test("in a sentence a size has one place behind the point of its largest unit")
    func rounded() {
        for (bytes, text) in [
            (0, "0 bytes"), (1, "1 byte"), (1_023, "1023 bytes"), (1_024, "1.0 KiB"), (1_048_575, "1023.9 KiB"),
            (1_572_864, "1.5 MiB"), (5 << 30, "5.0 GiB"), (3 << 40, "3.0 TiB"),
        ] { #expect(ByteSize(bytes: bytes).rounded == text) }
    }

    @Test(
        "what is no size is refused",
        arguments: ["", "MiB", "-1", "+1", "1.5GiB", "512MB", "1 GiB", "9999999999TiB", "１"])
    func refused(_ text: String) {
        #expect(ByteSize(text) == nil)
    }
}
