import BrumeTestKit
import Testing

@testable import BrumeStore

@Suite("Posting trees")
struct PostingTreeTests {
    struct Entry: Hashable, Comparable {
        var key: UInt128
        var ordinal: UInt32

        static func < (left: Entry, right: Entry) -> Bool { (left.key, left.ordinal) < (right.key, right.ordinal) }
    }

    @Test("a tree holds what a sorted set does, whatever comes and goes", arguments: 0..<4)
    func againstASet(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var tree = PostingTree()
        var model = Set<Entry>()
        let keys: UInt128 = seed % 2 == 0 ? 5 : 4_000
        for round in 0..<8 {
            let isGrowing = round % 4 != 3
            for _ in 0..<1_500 {
                let key = UInt128.random(in: 0..<keys, using: &generator)
                if isGrowing || generator.oneIn(4) {
                    let entry = Entry(key: key, ordinal: UInt32.random(in: 0..<8_000, using: &generator))
                    let isNew = tree.insert(entry.key, entry.ordinal)
                    #expect(isNew == model.insert(entry).inserted)
                } else if let entry = model.first {
                    model.remove(entry)
                    let removals = [tree.remove(entry.key, entry.ordinal), tree.remove(entry.key, entry.ordinal)]
                    #expect(removals == [true, false])
                }
            }
            let sorted = model.sorted()
            #expect(tree.count == sorted.count)
            #expect(tree.testOnly_entries.map { Entry(key: $0.key, ordinal: $0.ordinal) } == sorted, "seed \(seed)")
            for _ in 0..<50 {
                let wanted = Entry(
                    key: UInt128.random(in: 0..<keys, using: &generator),
                    ordinal: UInt32.random(in: 0..<8_000, using: &generator))
                let found = tree.position(of: wanted.key, wanted.ordinal).map {
                    Entry(key: tree.key(at: $0), ordinal: tree.ordinal(at: $0))
                }
                #expect(found == sorted.first { $0 >= wanted }, "seed \(seed)")
                #expect(tree.key(below: wanted.key) == sorted.last { $0.key < wanted.key }?.key, "seed \(seed)")
                let exact = sorted.count { $0.key == wanted.key }
                let estimate = tree.estimate(wanted.key...wanted.key)
                let isNear = exact <= 500 ? estimate == exact : exact / 3...exact * 3 ~= estimate
                #expect(isNear, "seed \(seed)")
            }
        }
    }

    @Test("rising entries fill leaves, and an emptied tree takes nothing")
    func memory() {
        var tree = PostingTree()
        for ordinal in 0..<UInt32(200_000) { tree.insert(UInt128(ordinal % 3), ordinal) }
        #expect(tree.approximateBytes < 200_000 * 8)
        for ordinal in 0..<UInt32(200_000) { tree.remove(UInt128(ordinal % 3), ordinal) }
        #expect(tree.count == 0 && tree.approximateBytes == 0)
    }

    @Test("a sort in steps gives all elements in order")
    func slicedSort() {
        var generator = SeededGenerator(seed: 1)
        for count in [0, 1, 1_023, 1_024, 1_025, 7_000, 50_000] {
            let numbers = (0..<count).map { _ in Int.random(in: 0..<1_000_000, using: &generator) }
            var sort = SlicedSort<Int>(by: <)
            for number in numbers { sort.add(number) }
            var sorted: [Int]?
            while sorted == nil { sorted = sort.step(777) }
            #expect(sorted == numbers.sorted())
        }
    }
}
