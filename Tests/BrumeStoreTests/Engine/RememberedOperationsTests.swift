import BrumeRandom
import BrumeModel
import Testing

@testable import BrumeStore

@Suite("Answers that are remembered")
struct RememberedOperationsTests {
    @Test("the latest of one user are found and the others are not", arguments: [1, 2])
    func latest(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var operations = RememberedOperations(countLimit: 200, bytesLimit: .max)
        var known: [(id: [UInt8], outcome: [UInt8])] = []
        for round in 0..<2_000 {
            let id = Self.id(Int.random(in: 0..<1_000, using: &generator))
            let answer = Self.id(round)
            let first = known.first { $0.id == id }?.outcome
            #expect(operations[id]?.outcome == first)
            operations.add(id: id, outcome: answer)
            if first == nil { known.append((id, answer)) }
            if known.count > 200 { known.removeFirst() }
            #expect(operations.count == known.count && operations[id]?.outcome == first ?? answer)
        }
        #expect(Self.captured(operations) == known.map(\.id))
        for number in 0..<1_000 {
            let id = Self.id(number)
            #expect(operations[id]?.outcome == known.first { $0.id == id }?.outcome)
        }
    }

    @Test("the oldest go where their answers are too many bytes, and the newest stays however large it is")
    func bytes() {
        var operations = RememberedOperations(countLimit: 100, bytesLimit: 1_000)
        for number in 0..<5 { operations.add(id: Self.id(number), outcome: [UInt8](repeating: 1, count: 300)) }
        #expect(operations.count == 3 && operations.bytes == 900 && operations[Self.id(1)] == nil)
        operations.add(id: Self.id(9), outcome: [UInt8](repeating: 2, count: 5_000))
        #expect(operations.count == 1 && operations[Self.id(9)]?.outcome.count == 5_000)
        operations.add(id: Self.id(10), outcome: [3])
        #expect(operations.count == 1 && operations[Self.id(10)]?.outcome == [3] && operations.bytes == 1)
    }

    @Test("a user with large answers, or with many, loses their own and nobody else's")
    func shares() {
        var operations = RememberedOperations(countLimit: 1_000, bytesLimit: 100_000)
        for number in 0..<20 { operations.add(id: Self.id(number), outcome: [1, 2], user: "_quiet\(number % 5)") }
        for number in 100..<400 {
            operations.add(id: Self.id(number), outcome: [UInt8](repeating: 3, count: 5_000), user: "_large")
        }
        for number in 1_000..<4_000 { operations.add(id: Self.id(number), outcome: [4], user: "_many") }
        #expect(operations.bytes <= 100_000 && operations.count <= 1_000)
        for number in 0..<20 { #expect(operations[Self.id(number)]?.outcome == [1, 2]) }
        // The two share the rest: each has the latest of theirs.
        #expect(operations[Self.id(399)] != nil && operations[Self.id(3_999)] != nil)
        #expect(operations[Self.id(100)] == nil && operations[Self.id(1_000)] == nil)
    }

    @Test(
        "the user who has most loses the oldest, as in a list that is searched from end to end", arguments: [3, 4, 5])
    func model(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var operations = RememberedOperations(countLimit: 60, bytesLimit: 6_000)
        var known: [(id: [UInt8], count: Int, user: String)] = []
        for number in 0..<3_000 {
            let user = "_\(Int.random(in: 0..<Int.random(in: 1...9, using: &generator), using: &generator))"
            let count = Int.random(in: 0..<(number % 50 == 0 ? 7_000 : 200), using: &generator)
            operations.add(id: Self.id(number), outcome: [UInt8](repeating: 0, count: count), user: user)
            known.append((Self.id(number), count, user))
            while known.count > 1, known.count > 60 || known.reduce(0, { $0 + $1.count }) > 6_000 {
                // Whoever has nothing but the newest is spared.
                let others = Set(known.dropLast().map(\.user))
                func weight(_ user: String) -> Int {
                    known.filter { $0.user == user }.reduce(0) { $0 + $1.count + 100 }
                }
                let most = others.map(weight).max()!
                known.remove(at: known.firstIndex { others.contains($0.user) && weight($0.user) == most }!)
            }
            #expect(Self.captured(operations) == known.map(\.id), "seed \(seed), operation \(number)")
            #expect(operations.count == known.count && operations.userCount == Set(known.map(\.user)).count)
            #expect(operations.bytes == known.reduce(0) { $0 + $1.count })
        }
        // What is remembered again from a capture goes on in the same way.
        var again = RememberedOperations(countLimit: 60, bytesLimit: 6_000)
        operations.capture.forEach { again.add(id: $0.id, outcome: $0.outcome, digest: $0.digest, user: $0.user) }
        for number in 5_000..<5_500 {
            let user = "_\(Int.random(in: 0..<9, using: &generator))"
            let answer = [UInt8](repeating: 0, count: Int.random(in: 0..<200, using: &generator))
            operations.add(id: Self.id(number), outcome: answer, user: user)
            again.add(id: Self.id(number), outcome: answer, user: user)
            #expect(Self.captured(operations) == Self.captured(again), "seed \(seed), operation \(number)")
        }
    }

    private static func captured(_ operations: RememberedOperations) -> [[UInt8]] {
        var ids: [[UInt8]] = []
        operations.capture.forEach { ids.append($0.id) }
        return ids
    }

    private static func id(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }
}
