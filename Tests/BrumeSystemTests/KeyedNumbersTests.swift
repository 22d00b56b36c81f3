import BrumeSystem
import Testing

@Suite("Keyed numbers")
struct KeyedNumbersTests {
    private let secret = [UInt8](repeating: 7, count: 32)

    @Test("are the same for the same key and input, and others for any other")
    func function() {
        let numbers = KeyedNumbers(secret: secret, label: "a")
        var seen = Set<UInt64>()
        for high in 0..<30 as Range<UInt64> {
            for low in 0..<30 as Range<UInt64> {
                let number = numbers.number(high, low)
                #expect(numbers.number(high, low) == number)
                seen.insert(number)
            }
        }
        #expect(seen.count == 900)
        #expect(KeyedNumbers(secret: secret, label: "a").number(1, 2) == numbers.number(1, 2))
        #expect(KeyedNumbers(secret: secret, label: "b").number(1, 2) != numbers.number(1, 2))
        #expect(KeyedNumbers(secret: secret.map { $0 + 1 }, label: "a").number(1, 2) != numbers.number(1, 2))
    }

    @Test("tell nothing of how far apart their inputs are: each bit is set in half of them")
    func bits() {
        let numbers = KeyedNumbers(secret: secret, label: "a")
        let following = (0..<4_096 as Range<UInt64>).map { numbers.number(0, $0) }
        for bit in 0..<64 as Range<UInt64> {
            let count = following.count { $0 >> bit & 1 == 1 }
            // Six standard deviations.
            #expect((1_856...2_240).contains(count), "bit \(bit): \(count)")
        }
    }
}
