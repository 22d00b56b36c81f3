import BrumeModel
import BrumeServer
import BrumeService
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("Files in records that are saved again", .timeLimit(.minutes(2)))
struct AssetConflictTests {
    private let pictures: PictureFolder
    private let id = CKRecord.ID(recordName: "a")

    init() throws { pictures = try PictureFolder() }

    private func file(_ name: String, _ content: String) throws -> CKAsset { try pictures.file(name, content) }

    private func read(_ record: CKRecord, _ key: String = "photo") throws -> String {
        String(decoding: try PictureFolder.read(record[key]), as: UTF8.self)
    }

    /// A record with a photo, another device's version of it, and the conflict that this device's new photo meets.
    private func conflict(of here: CKDatabase, and there: CKDatabase) async throws -> CKError {
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["photo"] = try file("one", "one")
        try await here.save(record)
        let theirs = try await there.record(for: id)
        theirs["title"] = "Sea"
        try await there.save(theirs)
        record["photo"] = try file("two", "two")
        return try #require(await #expect(throws: CKError.self) { try await here.save(record) })
    }

    @Test("are uploaded again after a conflict, with the three versions merged or by hand", arguments: [true, false])
    func conflicts(isMerged: Bool) async throws {
        let server = try RunningServer()
        let token = try server.addAccount("ada")
        let (one, two) = (server.device(token: token), server.device(token: token))
        let (here, there) = (one.privateCloudDatabase, two.privateCloudDatabase)
        let error = try await conflict(of: here, and: there)
        #expect(error.code == .serverRecordChanged)
        let client = try #require(error.clientRecord)
        #expect(try read(client) == "two")
        let again = try #require(isMerged ? error.mergedRecord() : error.serverRecord)
        if !isMerged { again["photo"] = client["photo"] }
        try await here.save(again)
        let fetched = try await there.record(for: id)
        #expect(try read(fetched) == "two" && fetched["title"] == "Sea")
    }

    @Test("stay with a merged record where they did not change")
    func merged() async throws {
        let server = try RunningServer()
        let token = try server.addAccount("ada")
        let (one, two) = (server.device(token: token), server.device(token: token))
        let (here, there) = (one.privateCloudDatabase, two.privateCloudDatabase)
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["photo"] = try file("one", "one")
        try await here.save(record)
        let theirs = try await there.record(for: id)
        theirs["title"] = "Sea"
        try await there.save(theirs)
        record["stars"] = 5
        let error = try #require(await #expect(throws: CKError.self) { try await here.save(record) })
        let merged = try #require(error.mergedRecord())
        #expect(try read(merged) == "one" && merged["title"] == "Sea")
        try await here.save(merged)
    }

    @Test("are uploaded for a record of the same id in another database")
    func otherDatabase() async throws {
        let server = try RunningServer()
        let one = server.device(token: try server.addAccount("ada"))
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["photo"] = try file("one", "one")
        try await one.privateCloudDatabase.save(record)
        let published = CKRecord(recordType: "Photo", recordID: id)
        published["photo"] = try await one.privateCloudDatabase.record(for: id)["photo"]
        try await one.publicCloudDatabase.save(published)
        #expect(try read(try await one.publicCloudDatabase.record(for: id)) == "one")
    }

    @Test("stay with a version of the record that was fetched without them")
    func partialVersion() async throws {
        let server = try RunningServer()
        let database = server.device(token: try server.addAccount("ada")).privateCloudDatabase
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["photo"] = try file("one", "one")
        try await database.save(record)
        let partial = try #require(try await database.records(for: [id], desiredKeys: ["title"])[id]).get()
        partial["photo"] = try await database.record(for: id)["photo"]
        #expect(try read(partial) == "one")
        try await database.save(partial)
        #expect(try read(try await database.record(for: id)) == "one")
    }

    @Test("fail their record alone where the server keeps none")
    func noAssets() async throws {
        let server = try RunningServer(adjust: { $0.service.assetLimitBytes = 0 })
        let database = server.device(token: try server.addAccount("ada")).privateCloudDatabase
        let records = ["a", "b"].map { CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: $0)) }
        records[0]["photo"] = try file("one", "one")
        records[1]["title"] = "Sea"
        let results = try await database.modifyRecords(saving: records, deleting: [], atomically: false).saveResults
        let error = #expect(throws: CKError.self) { try #require(results[records[0].recordID]).get() }
        #expect(error?.code == .serverRejectedRequest)
        #expect(throws: Never.self) { try #require(results[records[1].recordID]).get() }
    }

    @Test("that an archive can't hold keep their record from being saved, and nothing is removed on the server")
    func archives() async throws {
        let server = try RunningServer()
        let database = server.device(token: try server.addAccount("ada")).privateCloudDatabase
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["pages"] = [try file("one", "one")]
        try await database.save(record)
        // Without the file: the cache's are not archived.
        let restored = try archived(try await database.record(for: id), as: CKRecord.self)
        restored["pages"] = try #require(restored["pages"] as? [CKAsset]) + [try file("two", "two")]
        let again = try archived(restored, as: CKRecord.self)
        let error = await #expect(throws: CKError.self) { try await database.save(again) }
        #expect(error?.code == .invalidArguments)
        let pages = try #require(try await database.record(for: id)["pages"] as? [CKAsset])
        #expect(pages.count == 1)
        // The record itself can be saved.
        try await database.save(restored)
        #expect((try await database.record(for: id)["pages"] as? [CKAsset])?.count == 2)
    }

    @Test("are saved through a connection that is cut wherever an answer comes")
    func cuts() async throws {
        let server = try RunningServer()
        let token = try server.addAccount("ada")
        let proxy = try FaultyProxy(to: server.port)
        defer { proxy.close() }
        func save(_ name: String) async throws {
            let device = server.device(token: token) { $0.server = proxy.address }
            let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name))
            record["photo"] = try file(name, "the content of \(name)")
            for isLast in Array(repeating: false, count: 1_000) + [true] {
                do {
                    try await device.privateCloudDatabase.save(record)
                    break
                } catch let error as CKError where error.code == .networkUnavailable && !isLast {
                    // Where it was cut before it was open the server could not be reached, which is for the app to
                    // repeat, once the pause before the next attempt is over.
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
            let fetched = try await device.privateCloudDatabase.record(for: record.recordID)
            #expect(try read(fetched) == "the content of \(name)")
        }
        try await save("whole")
        let whole = try #require(proxy.traffic.first).down
        for byteCount in stride(from: 1_000, to: whole, by: 60) {
            proxy.add([FaultyProxy.Fault(isDown: true, byteCount: byteCount)])
            try await save("cut-\(byteCount)")
        }
    }
}
