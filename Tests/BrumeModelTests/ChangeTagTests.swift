import BrumeModel
import Testing

@Suite("Change tags")
struct ChangeTagTests {
    @Test("have one form and length, whatever the number, and another text for each")
    func text() {
        let numbers: [UInt64] = [0, 1, 35, 36, 1 << 43, .max - 1, .max]
        let texts = numbers.map { ChangeTag(number: $0).text }
        #expect(Set(texts).count == numbers.count)
        #expect(texts.first == "0000000000000" && texts.last == "3w5e11264sgsf")
        for (number, text) in zip(numbers, texts) {
            #expect(text.utf8.count == 13 && UInt64(text, radix: 36) == number)
            #expect(Array(text.utf8) == ChangeTag(number: number).utf8)
        }
    }
}
