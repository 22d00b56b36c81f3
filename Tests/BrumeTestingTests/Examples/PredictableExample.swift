import BrumeTesting
import CloudKit
import Testing

/// The README's example of a predictable server: change both.
@Suite("The README's predictable server", .timeLimit(.minutes(1)))
struct PredictableExample {
    @Test("is as the README says")
    func example() async throws {
        try await TestServer.run(options: .predictable) { server in
            let zoneID = CKRecordZone.ID(zoneName: "Notes")
            let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zoneID))
            note["text"] = "milk"

            let phone = TestSyncEngineDelegate()
            let engine = phone.makeEngine(on: try server.device(of: "ada", clock: TestClock()))
            phone.save([note], with: engine)
            try await phone.waitUntilIdle(engine)
            let dump = try await server.dump(of: "ada", showing: .changeTags)
            #expect(
                dump == """
                    zone Notes
                      Note 00000000-0000-0000-0000-000000000001 [tag 0khnrppxp25m0]
                        text: "milk"
                    """)
            #expect(server.calls(.modifyRecords).count == 1)

            // The user removes the app's data in the settings.
            try await server.deleteZones(of: "ada", reason: .purged)
            try await engine.fetchChanges()
            #expect(phone.records.isEmpty)
        }
    }
}
