import Testing

@testable import BrumeKit

@Suite("What is believed of rings for a while")
struct ShortMemoryTests {
    private let ring = ZoneRingID(zone: "Diary", root: "page")

    @Test("is forgotten after ten seconds, and when the zone goes")
    func ends() {
        var memory = ShortMemory<Int>()
        memory.note(1, of: ring, at: 5)
        #expect(memory.value(of: ring, at: 10_004) == 1)
        #expect(memory.value(of: ring, at: 10_005) == nil)
        #expect(memory.value(of: ring.zones, at: 5) == nil)
        memory.forget(zone: ring.zones)
        #expect(memory.value(of: ring, at: 5) == nil)
    }

    @Test("is forgotten no later for what is added to it")
    func additions() {
        var memory = ShortMemory<[Int]>()
        for time in [0, 9_999] as [UInt64] { memory.update(ring, at: time, default: []) { $0.append(Int(time)) } }
        #expect(memory.value(of: ring, at: 9_999) == [0, 9_999])
        #expect(memory.value(of: ring, at: 10_000) == nil)
        memory.update(ring, at: 10_000, default: []) { $0.append(3) }
        #expect(memory.value(of: ring, at: 19_999) == [3])
    }

    @Test("takes no more room than for 4,096 rings, whatever rings a server makes up")
    func room() {
        var memory = ShortMemory<Int>()
        func id(_ number: Int) -> ZoneRingID { ZoneRingID(zone: "Zone\(number)") }
        let count = ShortMemory<Int>.ringsMax
        for number in 0...count { memory.note(number, of: id(number), at: 0) }
        #expect(memory.value(of: id(count - 1), at: 1) == count - 1)
        #expect(memory.value(of: id(count), at: 1) == nil, "there was no room")
        memory.note(7, of: id(0), at: 1)
        #expect(memory.value(of: id(0), at: 1) == 7, "what is known changes all the same")
        memory.note(8, of: id(count), at: 10_000)
        #expect(memory.value(of: id(count), at: 10_000) == 8, "others are forgotten by now")
    }
}
