import BrumeModel
import BrumeRecord
import Testing

@testable import BrumeStore

@Suite("Numbers of records")
struct OrdinalTableTests {
    private func record(_ number: Int, _ position: ChangePosition) -> RecordSlot {
        let system = SystemFields(name: "r\(number)", type: "Note", changeTag: "7-1")
        return RecordSlot(
            new: SharedBytes(StoredRecord.encode(system, fields: [])), marks: [], position: position)
    }

    @Test("numbers rise with creation, also where a commit comes while they are given", arguments: 0...6)
    func commitBetween(units: Int) {
        var zone = RecordSlots()
        for number in 0..<4 { _ = zone.append(record(number, ChangePosition(sequence: 1, index: UInt32(number)))) }
        var table = OrdinalTable()
        table.step(zone, units)
        // Two records are made again, one on each side of what may have been looked at, and a new one comes.
        for (index, slot) in [3, 0, 4].enumerated() {
            let created = ChangePosition(sequence: 2, index: UInt32(index))
            table.noteDeletion(slot: Int32(slot))
            if slot < zone.count {
                zone[Int32(slot)] = record(slot, created)
            } else {
                _ = zone.append(record(slot, created))
            }
            _ = table.noteCreation(slot: Int32(slot), created: created)
        }
        while !table.isReady { table.step(zone, 1) }
        let live = (0..<UInt32(table.count)).filter { table.slot(of: $0) != nil }
        #expect(live.map { table.slot(of: $0)! } == [1, 2, 3, 0, 4])
        let first = table.firstOrdinal(createdAfter: ChangePosition(sequence: 2, index: 0))
        #expect(live.filter { $0 >= first }.map { table.slot(of: $0)! } == [0, 4])
    }
}
