import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("A share that the server refuses", .timeLimit(.minutes(2)))
struct RefusedSharesTests {
    private static let root = CKRecord.ID(recordName: "root", zoneID: notes.zoneID)

    private func shared(
        _ body: (
            _ server: TestServer, _ phone: TestDevice, _ laptop: TestDevice, _ seen: CKRecord
        ) async throws -> Void
    ) async throws {
        try await TestServer.run { server in
            let (phone, laptop) = (try server.device(of: "ada"), try server.device(of: "ada"))
            _ = try await phone.privateCloudDatabase.save(notes)
            let root = CKRecord(recordType: "Page", recordID: Self.root)
            root.encryptedValues["secret"] = "r"
            try await save([root], in: phone.privateCloudDatabase)
            try await phone.letIn(laptop)
            let seen = try await laptop.privateCloudDatabase.record(for: Self.root)
            try await body(server, phone, laptop, seen)
        }
    }

    /// What somebody reads who comes by a URL.
    private func secret(by url: URL?, _ server: TestServer, _ owner: TestDevice) async throws -> String? {
        let bob = try server.device(of: "bob")
        let metadata = try await bob.container.shareMetadata(for: try #require(url))
        let zone = try await bob.container.accept(metadata).recordID.zoneID
        _ = try await owner.privateCloudDatabase.record(for: Self.root)
        let id = CKRecord.ID(recordName: "root", zoneID: zone)
        return try await bob.sharedCloudDatabase.record(for: id).encryptedValues["secret"]
    }

    @Test(
        "since another device has shared the record before leaves that one's links as they are",
        arguments: [false, true])
    func second(isForOne: Bool) async throws {
        try await shared { server, phone, laptop, seen in
            let once = CKShare.Participant.oneTimeURLParticipant()
            once.permission = .readWrite
            let root = try await phone.privateCloudDatabase.record(for: Self.root)
            let standing = CKShare(rootRecord: root)
            if isForOne { standing.addParticipant(once) } else { standing.publicPermission = .readWrite }
            try await save([root, standing], in: phone.privateCloudDatabase)
            let url = isForOne ? standing.oneTimeURL(for: once.participantID) : standing.url
            _ = try await laptop.privateCloudDatabase.recordZoneChanges(inZoneWith: notes.zoneID, since: nil)
            let late = CKShare(rootRecord: seen)
            if isForOne { late.publicPermission = .readWrite }
            let results = try await laptop.privateCloudDatabase.modifyRecords(saving: [seen, late], deleting: [])
            #expect(throws: CKError.self) { try results.saveResults[late.recordID]?.get() }
            #expect(try await secret(by: url, server, phone) == "r")
        }
    }

    @Test("since another device has changed it leaves its links as they are") func stale() async throws {
        try await shared { server, phone, laptop, _ in
            let root = try await phone.privateCloudDatabase.record(for: Self.root)
            let made = CKShare(rootRecord: root)
            made.publicPermission = .readWrite
            try await save([root, made], in: phone.privateCloudDatabase)
            let stale = try #require(
                try await laptop.privateCloudDatabase.record(for: made.recordID) as? CKShare)
            let now = try #require(try await phone.privateCloudDatabase.record(for: made.recordID) as? CKShare)
            now[CKShare.SystemFieldKey.title] = "Title"
            try await save([now], in: phone.privateCloudDatabase)
            stale.publicPermission = .none
            #expect(await errorOfSaving(stale, in: laptop.privateCloudDatabase)?.code == .serverRecordChanged)
            #expect(try await secret(by: now.url, server, phone) == "r")
        }
    }
}
