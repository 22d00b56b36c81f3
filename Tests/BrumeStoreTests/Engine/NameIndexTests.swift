import BrumeModel
import BrumeRandom
import BrumeRecord
import Testing

@testable import BrumeStore

@Suite("Look-ups that grow a little at a time")
struct NameIndexTests {
    private static func record(_ name: String) -> RecordSlot {
        RecordSlot(
            new: SharedBytes(StoredRecord.encode(SystemFields(name: name, type: "Note"), fields: [])),
            marks: [], position: .start)
    }

    @Test("an index of names finds what a dictionary finds, through leaves that grow and split", arguments: [1, 2])
    func names(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var slots = RecordSlots()
        for number in 0..<20_000 { _ = slots.append(NameIndexTests.record("name \(number)")) }
        var index = NameIndex()
        var known: Set<Int32> = []
        for round in 0..<60_000 {
            let slot = Int32.random(in: 0..<20_000, using: &generator)
            let hash = NameIndex.hash(slots[slot].name)
            // It grows first, and shrinks then.
            if known.contains(slot) {
                #expect(index.found(slots[slot].name, hash: hash, in: slots) == slot)
                if round > 30_000 || Bool.random(using: &generator) {
                    index.remove(slot, hash: hash)
                    known.remove(slot)
                }
            } else if round < 30_000 || generator.oneIn(8) {
                #expect(index.found(slots[slot].name, hash: hash, in: slots) == nil)
                index.insert(slot, hash: hash)
                known.insert(slot)
            }
        }
        for slot in 0..<Int32(20_000) {
            let name = slots[slot].name
            let found = index.slot(of: name, in: slots)
            #expect((found == slot) == known.contains(slot))
        }
    }

    @Test("slots of one hash are all found, and each can go")
    func collisions() {
        var slots = RecordSlots()
        var index = NameIndex()
        for number in 0..<40 {
            let slot = slots.append(NameIndexTests.record("n\(number)"))
            index.insert(slot, hash: number % 3 == 0 ? 7 : 15)
        }
        for number in stride(from: 1, to: 40, by: 2) { index.remove(Int32(number), hash: number % 3 == 0 ? 7 : 15) }
        for number in 0..<40 {
            let found = index.found("n\(number)", hash: number % 3 == 0 ? 7 : 15, in: slots)
            #expect(found == (number % 2 == 0 ? Int32(number) : nil))
        }
    }

    @Test("a feed that is compacted a chunk at a time keeps what is current, and little else", arguments: [1, 2])
    func feed(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var feed = Feed()
        var latest: [Int32: UInt64] = [:]
        for position in 1..<80_000 as Range<UInt64> {
            // Some slots change often, others hardly ever.
            let range: Range<Int32> = generator.oneIn(4) ? 0..<6_000 : 0..<40
            let slot = Int32.random(in: range, using: &generator)
            feed.append(ChangePosition(rawValue: position), slot: slot, replacesEntry: latest[slot] != nil)
            latest[slot] = position
            if feed.needsCompaction { feed.compact { latest[$0.slot] == $0.position.rawValue } }
        }
        let current = feed.entries().filter { latest[$0.slot] == $0.position.rawValue }
        #expect(current.map(\.position.rawValue) == latest.values.sorted())
        #expect(feed.count < 2 * latest.count + 2 * Feed.chunkEntries && feed.count == Array(feed.entries()).count)
        for place in stride(from: 0, to: 80_000, by: 997) as StrideTo<UInt64> {
            let behind = Array(feed.entries(after: ChangePosition(rawValue: place)))
            #expect(behind == feed.entries().filter { $0.position.rawValue > place })
        }
    }
}

extension NameIndex {
    fileprivate func found(_ name: String, hash: Hash, in slots: RecordSlots) -> Int32? {
        var name = name
        return name.withUTF8 { slot(of: UnsafeRawBufferPointer($0), hash: hash, in: slots) }
    }
}
