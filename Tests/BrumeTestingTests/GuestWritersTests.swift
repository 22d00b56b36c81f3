import BrumeTesting
import CloudKit
import Testing

/// Guests who make entries of a share's keys: where others come and go, they are the next to save.
@Suite("A guest who writes to a share goes on", .timeLimit(.minutes(2)))
struct GuestWritersTests {
    private static let root = CKRecord.ID(recordName: "root", zoneID: notes.zoneID)

    private struct Scene {
        let server: TestServer
        let ada: TestDevice
        let bob: TestDevice
        let share: CKShare
        /// Ada's zone, as guests name it.
        let zone: CKRecordZone.ID

        func id(_ name: String, for device: TestDevice) -> CKRecord.ID {
            CKRecord.ID(recordName: name, zoneID: device.account?.name == "ada" ? notes.zoneID : zone)
        }

        func database(of device: TestDevice) -> CKDatabase {
            device.account?.name == "ada" ? device.privateCloudDatabase : device.sharedCloudDatabase
        }

        func write(_ text: String, by device: TestDevice) async throws {
            let record = try await database(of: device).record(for: id("root", for: device))
            record.encryptedValues["secret"] = text
            try await save([record], in: database(of: device))
        }

        func read(by device: TestDevice) async throws -> String? {
            try await database(of: device).record(for: id("root", for: device)).encryptedValues["secret"]
        }

        func accept(_ guest: TestDevice) async throws {
            let share = try #require(
                try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare)
            let metadata = try await guest.container.shareMetadata(for: try #require(share.url))
            _ = try await guest.container.accept(metadata)
            _ = try await ada.privateCloudDatabase.record(for: root)
        }

        func invite(_ name: String) async throws {
            let share = try #require(
                try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare)
            try await add(name, to: share)
            try await save([share], in: ada.privateCloudDatabase)
        }

        func add(_ name: String, to share: CKShare, _ role: CKShare.ParticipantRole = .privateUser) async throws {
            let user = try server.account(name).userRecordID
            let participant = try await ada.container.shareParticipant(forUserRecordID: user)
            (participant.permission, participant.role) = (.readWrite, role)
            share.addParticipant(participant)
        }

        func remove(_ name: String, by device: TestDevice) async throws {
            let fetched = try await database(of: device).record(for: id(share.recordID.recordName, for: device))
            let share = try #require(fetched as? CKShare)
            let user = try server.account(name).userRecordID
            share.removeParticipant(
                try #require(share.participants.first { $0.userIdentity.userRecordID == user }))
            try await save([share], in: database(of: device))
        }

        func leave(_ device: TestDevice) async throws {
            _ = try await device.sharedCloudDatabase.deleteRecord(
                withID: id(share.recordID.recordName, for: device))
        }
    }

    /// A record that Ada shares with Bob, who manages the share or writes, and others by invitation.
    private func scene(
        _ others: [String] = [], bobIs role: CKShare.ParticipantRole = .privateUser,
        _ body: (Scene) async throws -> Void
    ) async throws {
        try await TestServer.run { server in
            let (ada, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            for name in others { _ = try server.device(of: name) }
            _ = try await ada.privateCloudDatabase.save(notes)
            let root = CKRecord(recordType: "Page", recordID: Self.root)
            root.encryptedValues["secret"] = "r"
            let share = CKShare(rootRecord: root)
            let zone = CKRecordZone.ID(
                zoneName: notes.zoneID.zoneName, ownerName: try server.account("ada").userRecordID.recordName)
            let scene = Scene(server: server, ada: ada, bob: bob, share: share, zone: zone)
            try await scene.add("bob", to: share, role)
            for name in others { try await scene.add(name, to: share) }
            try await save([root, share], in: ada.privateCloudDatabase)
            try await scene.accept(bob)
            try await body(scene)
        }
    }

    @Test("when somebody else leaves, and the guest has let in another device since they came", arguments: [0, 1])
    func secondDevice(order: Int) async throws {
        try await scene(["eve"]) { scene in
            let eve = try scene.server.device(of: "eve")
            let tablet = try scene.server.device(of: "bob")
            if order == 0 { try await scene.bob.letIn(tablet) }
            try await scene.accept(eve)
            if order == 1 { try await scene.bob.letIn(tablet) }
            try await scene.leave(eve)
            try await scene.write("bob's", by: scene.bob)
            for device in [scene.ada, scene.bob, tablet] {
                #expect(try await scene.read(by: device) == "bob's")
            }
            try await scene.write("tablet's", by: tablet)
            #expect(try await scene.read(by: scene.ada) == "tablet's")
        }
    }

    @Test("after taking back an invitation that nobody had accepted") func invitation() async throws {
        try await scene(["carl", "dora"], bobIs: .administrator) { scene in
            try await scene.remove("carl", by: scene.bob)
            try await scene.write("bob's", by: scene.bob)
            #expect(try await scene.read(by: scene.ada) == "bob's")
            let dora = try scene.server.device(of: "dora")
            try await scene.accept(dora)
            #expect(try await scene.read(by: dora) == "bob's")
            // Whoever is invited again by somebody else is not taken out again.
            let carl = try scene.server.device(of: "carl")
            try await scene.invite("carl")
            try await scene.accept(carl)
            #expect(try await scene.read(by: carl) == "bob's")
            try await scene.write("again", by: scene.bob)
            #expect(try await scene.read(by: carl) == "again")
        }
    }

    @Test("after taking somebody out, and takes none out who came since then") func newcomer() async throws {
        try await scene(["carl"], bobIs: .administrator) { scene in
            let carl = try scene.server.device(of: "carl")
            let erin = try scene.server.device(of: "erin")
            try await scene.accept(carl)
            #expect(try await scene.read(by: carl) == "r")
            try await scene.remove("carl", by: scene.bob)
            try await scene.write("ada's", by: scene.ada)
            try await scene.invite("erin")
            try await scene.accept(erin)
            #expect(try await scene.read(by: erin) == "ada's")
            try await scene.write("bob's", by: scene.bob)
            for device in [scene.ada, scene.bob, erin] { #expect(try await scene.read(by: device) == "bob's") }
        }
    }
}
