import BrumeLock
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("Files in records", .timeLimit(.minutes(2)))
struct AssetEndToEndTests {
    private let server: RunningServer
    private let pictures: PictureFolder

    init() throws {
        server = try RunningServer()
        pictures = try PictureFolder()
    }

    private func file(_ name: String, _ content: Data) throws -> CKAsset { try pictures.file(name, content) }

    private func content(_ byteCount: Int) -> Data { PictureFolder.content(byteCount) }

    private func read(_ value: (any CKRecordValueProtocol)?) throws -> Data { try PictureFolder.read(value) }

    @Test("are saved and fetched as they are, on another device, by id, by query and with changes")
    func everyWay() async throws {
        let token = try server.addAccount("ada")
        let (one, two) = (server.device(token: token), server.device(token: token))
        let (here, there) = (one.privateCloudDatabase, two.privateCloudDatabase)
        let zone = try await here.save(CKRecordZone(zoneName: "Photos")).zoneID
        let photo = content(3_000_000)
        let pages = [content(1), content(0), content(70_000)]
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "a", zoneID: zone))
        record["photo"] = try file("photo", photo)
        record["pages"] = try pages.enumerated().map { try file("page\($0)", $1) }
        record["title"] = "Sea"
        let saved = try await here.save(record)
        #expect(try read(saved["photo"]) == photo && record.changedKeys().isEmpty)
        #expect(try read(record["photo"]) == photo)

        let fetched = try await there.record(for: record.recordID)
        #expect(try read(fetched["photo"]) == photo)
        #expect(try (fetched["pages"] as? [CKAsset])?.map { try read($0) } == pages)
        let page = try await there.recordZoneChanges(inZoneWith: zone, since: nil)
        let changed = try #require(page.modificationResultsByID[record.recordID]).get().record
        #expect(try read(changed["photo"]) == photo)
        let partial = try await there.records(for: [record.recordID], desiredKeys: ["title"])
        #expect(try #require(partial[record.recordID]).get()["photo"] == nil)
    }

    @Test("are not sent again when something else changes, and are replaced and removed as other values are")
    func changes() async throws {
        let database = server.device(token: try server.addAccount("ada")).privateCloudDatabase
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "a"))
        record["photo"] = try file("one", content(10_000))
        try await database.save(record)
        // The file may go: the server has it.
        try FileManager.default.removeItem(atPath: pictures.folder.path + "/one")
        record["title"] = "Sea"
        try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        // The same asset under another key, of this record: nothing is uploaded.
        fetched["cover"] = fetched["photo"]
        fetched["photo"] = try file("two", content(20_000))
        try await database.save(fetched)
        let again = try await database.record(for: record.recordID)
        #expect(try read(again["cover"]) == content(10_000) && read(again["photo"]) == content(20_000))
        again["cover"] = again["cover"]
        try await database.save(again)
        #expect(try read(again["cover"]) == content(10_000))
        // In another record it is a file like any other.
        let other = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "b"))
        other["photo"] = again["photo"]
        try await database.save(other)
        again["photo"] = nil
        try await database.save(again)
        #expect(try await database.record(for: record.recordID)["photo"] == nil)
        #expect(try read(try await database.record(for: other.recordID)["photo"]) == content(20_000))
    }

    @Test("that are missing, or no files, fail their record alone")
    func missing() async throws {
        let database = server.device(token: try server.addAccount("ada")).privateCloudDatabase
        let records = ["a", "b", "c"].map { CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: $0)) }
        records[0]["photo"] = CKAsset(fileURL: URL(fileURLWithPath: pictures.folder.path + "/none"))
        records[1]["photo"] = CKAsset(fileURL: URL(fileURLWithPath: pictures.folder.path))
        records[2]["photo"] = try file("there", content(5))
        let results = try await database.modifyRecords(saving: records, deleting: []).saveResults
        for record in records[..<2] {
            let error = #expect(throws: CKError.self) { try #require(results[record.recordID]).get() }
            #expect(error?.code == .assetFileNotFound)
            #expect((record["photo"] as? CKAsset)?.fileURL != nil)
        }
        #expect(try read(try #require(results[records[2].recordID]).get()["photo"]) == content(5))
    }

    @Test("are shown to those with whom their record is shared")
    func shared() async throws {
        let desk = try await SharedZone(loopCount: 2)
        let bob = try desk.desk.user("bob")
        let own = desk.owner.privateCloudDatabase
        let record = CKRecord(recordType: "Photo", recordID: desk.id("a"))
        record["photo"] = try file("photo", content(100_000))
        try await own.save(record)
        let share = try await desk.share { $0.publicPermission = .readWrite }
        let zone = try await desk.accept(share, by: bob).recordID.zoneID
        let seen = try await bob.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "a", zoneID: zone))
        #expect(try read(seen["photo"]) == content(100_000))
        seen["photo"] = try file("other", content(200_000))
        try await bob.sharedCloudDatabase.save(seen)
        #expect(try read(try await own.record(for: record.recordID)["photo"]) == content(200_000))
    }
}
