import BrumeTesting
import CloudKit
import Testing

/// A zone that one device of an account has deleted, and another one makes anew.
@Suite("A zone that was deleted and is made anew by another device", .timeLimit(.minutes(2)))
struct RevivedZonesTests {
    private func page(_ name: String, _ text: String) -> CKRecord {
        let record = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: name, zoneID: notes.zoneID))
        record.encryptedValues["secret"] = text
        return record
    }

    private func secret(_ name: String, _ device: TestDevice) async throws -> String? {
        try await device.privateCloudDatabase.record(for: page(name, "").recordID).encryptedValues["secret"]
    }

    /// Who makes the zone again that the phone has deleted; the laptop has not heard of that when it saves.
    enum Maker: CaseIterable { case laptop, laptopsEngine, phone }

    @Test(
        "is written to by both of them, whether or not the other one has heard of the deletion",
        arguments: Maker.allCases)
    func both(maker: Maker) async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            _ = try await phone.privateCloudDatabase.save(notes)
            try await save([page("x", "x")], in: phone.privateCloudDatabase)
            try await phone.letIn(laptop)
            #expect(try await secret("x", laptop) == "x")
            try await phone.privateCloudDatabase.deleteRecordZone(withID: notes.zoneID)
            switch maker {
            case .laptop:
                _ = try await laptop.privateCloudDatabase.save(notes)
                try await save([page("y", "laptop")], in: laptop.privateCloudDatabase)
            case .phone:
                _ = try await phone.privateCloudDatabase.save(notes)
                try await save([page("y", "laptop")], in: laptop.privateCloudDatabase)
            case .laptopsEngine:
                let delegate = TestSyncEngineDelegate()
                let engine = delegate.makeEngine(on: laptop, automaticallySync: false)
                delegate.save([page("y", "laptop")], with: engine)
                try await engine.sendChanges()
            }
            #expect(try await secret("y", phone) == "laptop")
            try await save([page("z", "phone")], in: phone.privateCloudDatabase)
            try await save([page("y", "phone")], in: phone.privateCloudDatabase, .changedKeys)
            let again = try phone.relaunched()
            try await save([page("again", "again")], in: again.privateCloudDatabase)
            for (name, text) in [("y", "phone"), ("z", "phone"), ("again", "again")] {
                #expect(try await secret(name, laptop) == text)
            }
        }
    }

    @Test(
        "takes nothing encrypted by the one that deleted it where others have had its keys, until a person decides",
        arguments: [true, false])
    func shared(isWhole: Bool) async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            let bob = try server.device(of: "bob")
            let database = phone.privateCloudDatabase
            _ = try await database.save(notes)
            let root = page("x", "x")
            let share = isWhole ? CKShare(recordZoneID: notes.zoneID) : CKShare(rootRecord: root)
            share.publicPermission = .readWrite
            try await save([root, share], in: database)
            try await phone.letIn(laptop)
            let metadata = try await bob.container.shareMetadata(for: try #require(share.url))
            _ = try await bob.container.accept(metadata)
            _ = try await database.record(for: isWhole ? share.recordID : root.recordID)
            #expect(try await secret("x", laptop) == "x")
            try await database.deleteRecordZone(withID: notes.zoneID)
            _ = try await laptop.privateCloudDatabase.save(notes)
            try await save([page("y", "laptop")], in: laptop.privateCloudDatabase)
            let error = await errorOfSaving(page("z", "phone"), in: database)
            #expect(error?.encryptionProblem == .keysDiffer)
            try await database.acceptEncryptionKeys(of: notes.zoneID)
            try await save([page("z", "phone")], in: database)
            #expect(try await secret("z", laptop) == "phone")
        }
    }
}
