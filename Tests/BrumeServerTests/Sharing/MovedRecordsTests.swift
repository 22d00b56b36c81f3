import BrumeModel
import BrumeTestKit
import Testing

@Suite("What commits move without naming it")
struct MovedRecordsTests {
    @Test("is told to the log, once, so that a start does not have to find too much of it again")
    func telling() throws {
        let server = try SteppedServer(log: ScriptedLogStorage())
        let log = try #require(server.log)
        let ada = try server.connect(account: "a")
        let zone = ZoneID(name: "lists")
        try ada.makeZone("lists")
        try ada.save(["food"], zone: zone)
        #expect(try ada.save(["milk", "bread", "eggs"], below: "food", in: zone, of: .private) == [nil, nil, nil])
        #expect(log.movedRecords == 0)
        let stream = ada.startSharingRecord("food", type: "Note", in: "lists")
        server.settle()
        _ = try ada.url(ofShare: stream)
        let moved = log.movedRecords
        #expect(moved == 5, "the record and the three below it came into the share, and the share itself")
        #expect(try ada.save(["salt"], below: "food", in: zone, of: .private) == [nil])
        #expect(log.movedRecords == moved, "a record that the commit names is none of them")
    }
}
