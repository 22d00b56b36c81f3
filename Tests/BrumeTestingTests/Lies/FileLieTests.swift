import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("Files of a server that lies", .timeLimit(.minutes(4)))
struct FileLieTests {
    private let files: AssetFiles

    init() throws { files = try AssetFiles() }

    /// - Parameter isEncrypted: Whether the devices encrypt files.
    private func run(_ isEncrypted: Bool, _ body: (LiedDiary) async throws -> Void) async throws {
        var options = TestServer.Options()
        options.encryptsAssets = isEncrypted
        try await LiedDiary.run(options: options, body)
    }

    @Test(
        "with chunks that were swapped, repeated, changed or cut are not handed out, and come back with the truth",
        arguments: [true, false])
    func contents(isEncrypted: Bool) async throws {
        try await run(isEncrypted) { diary in
            let record = diary.record("album")
            for (key, count) in [("a", 200_000), ("b", 70_000), ("c", 10)] { record[key] = try files.asset(count) }
            try await diary.phone.privateCloudDatabase.save(record)
            let id = record.recordID
            let lies: [(ServerLie, CKError.Code)] = [
                (.swapsChunks(ofFileInField: "a", of: id), .assetNotAvailable),
                (.swapsChunks(ofFileInField: "b", of: id), .assetNotAvailable),
                (.repeatsChunk(ofFileInField: "a", of: id), .assetNotAvailable),
                (.repeatsChunk(ofFileInField: "b", of: id), .assetNotAvailable),
                (.flipsByte(0, ofFileInField: "a", of: id), .assetNotAvailable),
                (.flipsByte(190_000, ofFileInField: "a", of: id), .assetNotAvailable),
                (.flipsByte(5, ofFileInField: "c", of: id), .assetNotAvailable),
                (.cutsFile(inField: "a", of: id, toByteCount: 0), .networkFailure),
                (.cutsFile(inField: "a", of: id, toByteCount: 131_072), .networkFailure),
                (.cutsFile(inField: "b", of: id, toByteCount: 69_999), .networkFailure),
                (.cutsFile(inField: "c", of: id, toByteCount: 9), .networkFailure),
            ]
            for (lie, code) in lies {
                // With nothing in its cache.
                let tablet = try diary.server.device(of: "ada")
                try await diary.phone.letIn(tablet)
                let rule = try await diary.server.lie(lie, to: tablet)
                let error = await failure { try await diary.fetched("album", by: tablet) }
                #expect(error?.code == code, "\(lie): \(String(describing: error))")
                rule.remove()
                let seen = try await diary.fetched("album", by: tablet)
                for key in ["a", "b", "c"] {
                    #expect(seen.content(key) == record.content(key) && seen.content(key) != nil, "\(lie), \(key)")
                }
            }
        }
    }

    @Test("that the server says to have otherwise than it has are kept whole, or not at all", arguments: [true, false])
    func uploads(isEncrypted: Bool) async throws {
        try await run(isEncrypted) { diary in
            let lies: [(byteCount: Int, code: CKError.Code?)] = [
                (0, nil), (1, .invalidArguments), (65_536, .invalidArguments), (100_000, .invalidArguments),
                (200_000, .invalidArguments), (300_000, .internalError),
            ]
            for (number, (byteCount, code)) in lies.enumerated() {
                let record = diary.record("album \(number)")
                record["a"] = try files.asset(200_000)
                let lie = ServerLie.saysUploadsHave(byteCount: byteCount, in: diary.zone.zoneID)
                let rule = try await diary.server.lie(lie, to: diary.laptop)
                let error = await diary.failureOfSave(record, by: diary.laptop)
                #expect(error?.code == code, "\(lie): \(String(describing: error))")
                rule.remove()
                if error != nil { try await diary.laptop.privateCloudDatabase.save(record) }
                #expect(try await diary.fetched("album \(number)", by: diary.phone).content("a") == record.content("a"))
            }
        }
    }

    @Test("that change while they are uploaded are refused, from wherever the server has the upload go on")
    func changedUpload() async throws {
        try await run(true) { diary in
            let cases: [(byteCount: Int, changes: Bool, code: CKError.Code)] = [
                (0, true, .assetFileModified), (65_536, true, .assetFileModified), (100, true, .assetFileModified),
                // What the server has already comes once more.
                (0, false, .invalidArguments),
            ]
            for (number, (byteCount, changes, code)) in cases.enumerated() {
                let record = diary.record("album \(number)")
                record["a"] = try files.asset(2_500_000)
                let url = try #require((record["a"] as? CKAsset)?.fileURL)
                let lie = try await diary.server.lie(
                    .saysUploadsHave(byteCount: byteCount, in: diary.zone.zoneID), to: diary.laptop)
                // What is less than 1 MiB the server does not keep.
                let held = diary.server.script.hold(.uploadAsset, .afterBytes(changes ? 700_000 : 1_500_000))
                async let saved = diary.failureOfSave(record, by: diary.laptop)
                try await held.waitUntilHeld()
                if changes {
                    let file = try FileHandle(forUpdating: url)
                    try file.write(contentsOf: Data(repeating: 7, count: 70_000))
                    try file.close()
                }
                held.release(failingWith: .serviceUnavailable)
                let error = await saved
                #expect(error?.code == code, "\(lie): \(String(describing: error))")
                #expect(lie.firedCount > 1, "the upload goes on")
                #expect(await failure { try await diary.fetched("album \(number)") }?.code == .unknownItem)
                lie.remove()
                if !changes {
                    // The server has kept what came twice, and finds that out at the end.
                    #expect(await diary.failureOfSave(record, by: diary.laptop)?.code == .assetFileModified)
                }
                try await diary.laptop.privateCloudDatabase.save(record)
                let seen = try await diary.fetched("album \(number)", by: diary.phone)
                #expect(seen.content("a") == record.content("a") && seen.content("a")?.count == 2_500_000)
            }
        }
    }

    /// Ada shares a record with a file, and one below it, or the zone with both; Bob has seen them, and his app begins
    /// anew.
    private func runShared(
        isZone: Bool, _ body: (TestServer, _ bob: TestDevice, CKRecordZone.ID) async throws -> Void
    ) async throws {
        try await TestServer.run { server in
            let (ada, bob) = (try server.device(of: "ada"), try server.device(of: "bob"))
            let zone = CKRecordZone(zoneName: "Lists")
            zone.encryptsAssets = true
            _ = try await ada.privateCloudDatabase.save(zone)
            let (root, item) = (
                CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "root", zoneID: zone.zoneID)),
                CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "item", zoneID: zone.zoneID))
            )
            item.setParent(root)
            for record in [root, item] { record["photo"] = try files.asset(40) }
            let share = isZone ? CKShare(recordZoneID: zone.zoneID) : CKShare(rootRecord: root)
            share.publicPermission = .readWrite
            _ = try await ada.privateCloudDatabase.modifyRecords(saving: [root, share, item], deleting: [])
            let shown = try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare
            _ = try await bob.container.recoveryCode()
            let metadata = try await bob.container.shareMetadata(for: try #require(shown?.url))
            _ = try await bob.container.accept(metadata)
            _ = try await ada.privateCloudDatabase.record(for: share.recordID)
            let theirs = CKRecordZone.ID(zoneName: "Lists", ownerName: ada.account!.userRecordID.recordName)
            for name in ["root", "item"] {
                let seen = try await bob.sharedCloudDatabase.record(
                    for: CKRecord.ID(recordName: name, zoneID: theirs))
                #expect(seen.content("photo") != nil && seen.unreadableFields.isEmpty)
            }
            try await body(server, try bob.relaunched(), theirs)
        }
    }

    @Test(
        "are not handed out to a guest whose app begins anew where the server shows them plain",
        arguments: [false, true])
    func plainFileForGuest(isZone: Bool) async throws {
        try await runShared(isZone: isZone) { server, bob, zone in
            let id = CKRecord.ID(recordName: "root", zoneID: zone)
            let lie = try await server.lie(.showsPlainFile(inField: "photo", of: id), to: bob)
            let seen = try await bob.sharedCloudDatabase.record(for: id)
            #expect(seen["photo"] == nil && seen.unreadableFields == ["photo": .notEncrypted])
            lie.remove()
            #expect(try await bob.sharedCloudDatabase.record(for: id).content("photo") != nil)
        }
    }

    @Test(
        "of a guest whose app begins anew are not sent plain where the server shows their record elsewhere",
        arguments: [false, true])
    func plainUploadOfGuest(isZone: Bool) async throws {
        try await runShared(isZone: isZone) { server, bob, zone in
            let id = CKRecord.ID(recordName: "item", zoneID: zone)
            let lie = try await server.lie(
                .showsParent(CKRecord.ID(recordName: "other", zoneID: zone), of: id), to: bob)
            let seen = try await bob.sharedCloudDatabase.record(for: id)
            seen["photo"] = try files.asset(50)
            let error = await failure { try await bob.sharedCloudDatabase.save(seen) }
            #expect(error?.encryptionProblem != .fileIsPlain, "\(String(describing: error))")
            lie.remove()
            // What was saved, if the server took it, is encrypted.
            let whole = try await bob.sharedCloudDatabase.record(for: id)
            #expect(whole.content("photo") != nil && whole.unreadableFields.isEmpty)
        }
    }
}
