import BrumeTesting
import CloudKit
import Testing

/// What an app's tests look like with Swift Testing: a server for each test, in parallel.
@Suite("An app's notes, with Swift Testing", .timeLimit(.minutes(1)))
struct SwiftTestingExample {
    let zone = CKRecordZone(zoneName: "Notes")

    @Test("reach the user's other device")
    func twoDevices() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada").privateCloudDatabase
            let laptop = try server.device(of: "ada").privateCloudDatabase
            try await phone.save(zone)
            let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone.zoneID))
            note["text"] = "from the phone"
            try await phone.save(note)
            let changes = try await laptop.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
            let record = try #require(changes.modificationResultsByID[note.recordID]).get().record
            #expect(record["text"] == "from the phone")
        }
    }

    @Test("are saved once, though the server is busy and the connection breaks behind a save")
    func trouble() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada").privateCloudDatabase
            try await phone.save(zone)
            server.script.failSaves(of: "Note", with: .zoneBusy, retryAfterSeconds: 2)
            let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone.zoneID))
            let error = await #expect(throws: CKError.self) { try await phone.save(note) }
            #expect(error?.code == .zoneBusy)
            #expect(error?.retryAfterSeconds == 2)
            server.script.breakConnection(during: .modifyRecords, .afterEffect)
            try await phone.save(note)
            let changes = try await phone.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
            #expect(changes.modificationResultsByID.count == 1)
        }
    }

    @Test("wait while there is no network")
    func offline() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada")
            phone.goOffline()
            let error = await #expect(throws: CKError.self) { try await phone.privateCloudDatabase.save(zone) }
            #expect(error?.code == .networkUnavailable)
            phone.goOnline()
            try await phone.privateCloudDatabase.save(zone)
        }
    }
}
