import BrumeModel
import Testing

@Suite("Change tags")
struct ChangeTagTests {
    private static func fromBytes(_ text: String) -> ChangeTag? {
        Array(text.utf8).withUnsafeBufferPointer { ChangeTag(utf8: $0) }
    }

    @Test("a tag is read from bytes as it is from text")
    func bytes() {
        for epoch in [0, 1, 35, 36, .max] as [UInt32] {
            for sequence in [0, 1, 36, 1 << 44, .max] as [UInt64] {
                let tag = ChangeTag(epoch: epoch, sequence: sequence)
                #expect(ChangeTagTests.fromBytes(tag.text) == tag)
            }
        }
        // 1z141z4 is 2^32, 3w5e11264sgsg is 2^64.
        for text in [
            "", "-", "1-", "-1", "1-1-1", "1z141z4-1", "1-3w5e11264sgsg", "00000000000001-1", "A-B", "+1-1", "1_1",
            "é-1",
            "1- 1", "z-z",
        ] {
            #expect(ChangeTagTests.fromBytes(text) == ChangeTag(text), "\(text)")
        }
    }
}
