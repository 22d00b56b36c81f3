import BrumeModel
import BrumeRandom
import Testing

@Suite("Objects in the order in which they came")
struct ArrivalsTests {
    private final class Guest {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    @Test("stay in that order, whoever comes and goes", arguments: 0..<8 as Range<UInt64>)
    func order(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var arrivals = Arrivals<Guest>()
        var expected: [Guest] = []
        for number in 0..<1_000 {
            // Times in which many come, and times in which most go.
            if generator.oneIn(number / 200 % 2 == 0 ? 4 : 2), !expected.isEmpty {
                let guest = expected.remove(at: Int.random(in: 0..<expected.count, using: &generator))
                arrivals.remove(guest)
                arrivals.remove(guest)
            } else {
                let guest = Guest(number)
                expected.append(guest)
                arrivals.insert(guest)
                arrivals.insert(expected[0])
            }
            #expect(arrivals.count == expected.count, "seed \(seed)")
        }
        #expect(arrivals.all.map(\.number) == expected.map(\.number), "seed \(seed)")
        #expect(arrivals.sum { $0.number } == expected.reduce(0) { $0 + $1.number }, "seed \(seed)")
        arrivals.removeAll()
        #expect(arrivals.count == 0 && arrivals.all.isEmpty)
    }
}
