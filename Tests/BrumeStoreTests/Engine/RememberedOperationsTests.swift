import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Answers that are remembered")
struct RememberedOperationsTests {
    @Test("the latest are found and the others are not, also where their numbers begin again", arguments: [1, 2])
    func latest(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        // The last chunk of numbers.
        let firstNumber = Int32.max - Int32(RememberedOperations.chunkOperations) + 1
        var operations = RememberedOperations(countLimit: 200, bytesLimit: .max, firstNumber: firstNumber)
        var known: [(id: [UInt8], answer: [UInt8])] = []
        for round in 0..<2_000 {
            let id = Self.id(Int.random(in: 0..<1_000, using: &generator))
            let answer = Self.id(round)
            let first = known.first { $0.id == id }?.answer
            #expect(operations[id] == first)
            operations.add(id: id, answer: answer)
            if first == nil { known.append((id, answer)) }
            if known.count > 200 { known.removeFirst() }
            #expect(operations.count == known.count && operations[id] == first ?? answer)
        }
        var captured: [[UInt8]] = []
        operations.capture.forEach { captured.append($0.id) }
        #expect(captured == known.map(\.id))
        for number in 0..<1_000 {
            let id = Self.id(number)
            #expect(operations[id] == known.first { $0.id == id }?.answer)
        }
    }

    @Test("the oldest go where their answers are too many bytes, and the newest stays however large it is")
    func bytes() {
        var operations = RememberedOperations(countLimit: 100, bytesLimit: 1_000)
        for number in 0..<5 { operations.add(id: Self.id(number), answer: [UInt8](repeating: 1, count: 300)) }
        #expect(operations.count == 3 && operations.bytes == 900 && operations[Self.id(1)] == nil)
        operations.add(id: Self.id(9), answer: [UInt8](repeating: 2, count: 5_000))
        #expect(operations.count == 1 && operations[Self.id(9)]?.count == 5_000)
        operations.add(id: Self.id(10), answer: [3])
        #expect(operations.count == 1 && operations[Self.id(10)] == [3] && operations.bytes == 1)
    }

    private static func id(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }
}
