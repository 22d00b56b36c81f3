import BrumeRandom
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

    @Test("a tree of many branches is searched, cut and emptied as a small one", arguments: [1, 40, 512])
    func branches(run: Int) {
        var generator = SeededGenerator(seed: UInt64(run))
        var tree = PostingTree()
        // Key by key a run of even ordinals, so that each second place is free.
        let keys = 300_000 / run
        for key in 0..<keys { tree.append(UInt128(key), (0..<UInt32(run)).map { 2 * $0 }) }
        #expect(tree.count == keys * run && tree.estimate(0...UInt128(keys)) == keys * run)
        for _ in 0..<3_000 {
            let key = UInt128.random(in: 0..<UInt128(keys), using: &generator)
            let ordinal = 2 * UInt32.random(in: 0..<UInt32(run), using: &generator)
            let place = tree.position(of: key, ordinal)
            #expect(place.map { [tree.key(at: $0) == key, tree.ordinal(at: $0) == ordinal] } == [true, true])
            tree.insert(key, ordinal + 1)
            let next = tree.position(of: key, ordinal).flatMap { tree.position(after: $0) }
            #expect(next.map { tree.ordinal(at: $0) } == ordinal + 1)
            let sought = tree.position(of: key).flatMap { tree.position($0, of: key, to: ordinal + 1) }
            #expect(sought.map { tree.ordinal(at: $0) } == ordinal + 1)
            #expect(tree.key(below: key) == (key == 0 ? nil : key - 1))
        }
        let isGone = (0..<keys).allSatisfy { key in
            (0..<UInt32(run)).allSatisfy { ordinal in
                _ = tree.remove(UInt128(key), 2 * ordinal + 1)
                return tree.remove(UInt128(key), 2 * ordinal)
            }
        }
        #expect(isGone && tree.count == 0 && tree.approximateBytes == 0)
    }

    @Test("a table of many keys that no two records share becomes a tree in small steps")
    func manyKeys() {
        var generator = SeededGenerator(seed: 3)
        let records = 20_000
        let table = TermTable(recordCount: records, recordBytes: records * 256)
        for ordinal in 0..<UInt32(records) {
            for _ in 0..<20 { _ = table.add(UInt64.random(in: .min ... .max, using: &generator), ordinal) }
        }
        var tree = PostingTree()
        var longest = 0
        var steps = 0
        while true {
            let before = tree.count
            guard table.movePart(to: &tree) != nil else { break }
            longest = max(longest, tree.count - before)
            steps += 1
        }
        #expect(tree.count == records * 20 && steps >= records / 16)
        #expect(longest < 2_000, "one step sorted \(longest) keys")
    }

    @Test(
        "what a table of terms gathers becomes the tree that insertions make", arguments: [1, 200, 5_000],
        [1, 10_000, 10_000_000])
    func termTable(keys: Int, recordCount: Int) {
        var generator = SeededGenerator(seed: UInt64(keys))
        let names = (0..<keys).map { _ in UInt64.random(in: .min ... .max, using: &generator) }
        let table = TermTable(recordCount: recordCount, recordBytes: recordCount * 64)
        var inserted = PostingTree()
        for ordinal in 0..<UInt32(4_000) {
            for _ in 0..<5 {
                let key = generator.pick(names)
                _ = table.add(key, ordinal)
                inserted.insert(UInt128(key), ordinal)
            }
        }
        var moved = PostingTree()
        while table.movePart(to: &moved) != nil {}
        let isEqual = moved.testOnly_entries.elementsEqual(inserted.testOnly_entries) { $0 == $1 }
        #expect(isEqual && moved.count == inserted.count)
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
