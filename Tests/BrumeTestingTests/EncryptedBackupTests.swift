import BrumeTesting
import CloudKit
import Testing

@Suite("Encrypted values after a backup was restored", .timeLimit(.minutes(1)))
struct EncryptedBackupTests {
    private let zone = CKRecordZone(zoneName: "Lists")

    private func record(_ name: String) -> CKRecord {
        let record = CKRecord(
            recordType: "List", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
        record.encryptedValues["text"] = "secret \(name)"
        return record
    }

    /// A record that is shared with whoever has the link.
    private func share(_ root: CKRecord, by device: TestDevice) async throws -> CKShare {
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        _ = try await device.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
        return share
    }

    private func join(_ share: CKShare, by device: TestDevice) async throws {
        let metadata = try await device.container.shareMetadata(for: try #require(share.url))
        _ = try await device.container.accept(metadata)
    }

    @Test("are saved by a device that came after a guest had left, whom the server does not know any more")
    func formerGuest() async throws {
        try await TestServer.run { server in
            let (phone, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            let database = phone.privateCloudDatabase
            _ = try await database.save(zone)
            let root = record("root")
            let share = try await share(root, by: phone)
            let backup = try await server.backUp()
            try await join(share, by: bob)
            _ = try await database.record(for: share.recordID)
            let owner = try server.account("ada").userRecordID.recordName
            try await bob.sharedCloudDatabase.deleteRecord(
                withID: CKRecord.ID(
                    recordName: share.recordID.recordName,
                    zoneID: CKRecordZone.ID(zoneName: zone.zoneID.zoneName, ownerName: owner)))
            root.encryptedValues["text"] = "without him"
            try await database.save(root)

            let laptop = try server.device(of: "ada")
            try await phone.letIn(laptop)
            let id = root.recordID
            #expect(try await laptop.privateCloudDatabase.record(for: id).encryptedValues["text"] == "without him")
            try await server.restore(backup)
            // The phone is lost: what the laptop has is all that there is of the keys since.
            let seen = try await laptop.privateCloudDatabase.record(for: id)
            #expect(seen.encryptedValues["text"] == "secret root")
            seen.encryptedValues["text"] = "later"
            try await laptop.privateCloudDatabase.save(seen)
            #expect(try await laptop.privateCloudDatabase.record(for: id).encryptedValues["text"] == "later")
        }
    }
}
