import BrumeLock
import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("Transfers of files", .timeLimit(.minutes(2)))
struct TransferTests {
    private let pictures: PictureFolder
    private let server: RunningServer

    init() throws {
        pictures = try PictureFolder()
        server = try RunningServer()
    }

    private func file(_ name: String, _ content: Data) throws -> CKAsset { try pictures.file(name, content) }

    private func content(_ byteCount: Int, _ kind: UInt8 = 0) -> Data { PictureFolder.content(byteCount, kind) }

    private func read(_ value: (any CKRecordValueProtocol)?) throws -> Data { try PictureFolder.read(value) }

    private func record(_ name: String) -> CKRecord {
        CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name))
    }

    /// Runs an operation until its result block.
    private func run(_ operation: CKModifyRecordsOperation, in database: CKDatabase) async throws {
        try await withCheckedThrowingContinuation { continuation in
            operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
    }

    @Test("run side by side for many records, and each record gets its own")
    func many() async throws {
        let token = try server.addAccount("ada")
        let (here, there) = (server.device(token: token), server.device(token: token))
        let records = try (0..<30).map { number in
            let record = record("r\(number)")
            record["photo"] = try file("p\(number)", content(5_000 + number, UInt8(number)))
            record["cover"] = try file("c\(number)", content(1_500_000))
            record["pages"] = [
                try file("a\(number)", content(number, 50)), try file("b\(number)", content(number + 1, 90)),
            ]
            return record
        }
        let results = try await here.privateCloudDatabase.modifyRecords(saving: records, deleting: []).saveResults
        for record in records { _ = try #require(results[record.recordID]).get() }
        let fetched = try await there.privateCloudDatabase.records(for: records.map(\.recordID))
        for (number, record) in records.enumerated() {
            let record = try #require(fetched[record.recordID]).get()
            #expect(try read(record["photo"]) == content(5_000 + number, UInt8(number)))
            #expect(try read(record["cover"]).count == 1_500_000)
            let pages = try #require(record["pages"] as? [CKAsset])
            #expect(try pages.map { try read($0) } == [content(number, 50), content(number + 1, 90)])
        }
    }

    @Test("tell how far they are, in hundredths, and 1.0 comes with the record")
    func progress() async throws {
        let token = try server.addAccount("ada")
        let (here, there) = (server.device(token: token), server.device(token: token))
        let record = record("a")
        record["photo"] = try file("photo", content(3_000_000))
        record["page"] = try file("page", content(1_000_000, 9))
        let told = Lock<[Double]>([])
        let save = CKModifyRecordsOperation(recordsToSave: [record])
        save.perRecordProgressBlock = { saved, fraction in
            #expect(saved === record)
            told.withLock { $0.append(fraction) }
        }
        try await run(save, in: here.privateCloudDatabase)
        let sent = told.withLock { exchange(&$0, with: []) }
        #expect(sent.count > 20 && sent == sent.sorted() && sent.last == 1 && Set(sent).count == sent.count)

        let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
        fetch.perRecordProgressBlock = { id, fraction in
            #expect(id == record.recordID)
            told.withLock { $0.append(fraction) }
        }
        try await withCheckedThrowingContinuation { continuation in
            fetch.fetchRecordsResultBlock = { continuation.resume(with: $0) }
            there.privateCloudDatabase.add(fetch)
        }
        let come = told.withLock { $0 }
        #expect(come.count > 10 && come == come.sorted() && come.last == 1 && Set(come).count == come.count)
    }

    @Test("go on where they were after the app was ended and started again")
    func appRestarts() async throws {
        let token = try server.addAccount("ada")
        let proxy = try FaultyProxy(to: server.port)
        defer { proxy.close() }
        let state = pictures.folder.path + "/state"
        func launch() -> CKDatabase {
            server.device(token: token) {
                $0.server = proxy.address
                $0.stateFolder = state
            }.privateCloudDatabase
        }
        let byteCount = 12_000_000
        let photo = try file("photo", content(byteCount))
        // The first launch ends in the midst of it.
        let first = record("a")
        first["photo"] = photo
        let operation = CKModifyRecordsOperation(recordsToSave: [first])
        operation.perRecordProgressBlock = { [unowned operation] _, fraction in
            if fraction >= 0.6 { operation.cancel() }
        }
        let error = await #expect(throws: CKError.self) { try await run(operation, in: launch()) }
        #expect(error?.code == .operationCancelled)
        let sentBefore = proxy.traffic.reduce(0) { $0 + $1.up }

        let second = record("a")
        second["photo"] = photo
        let database = launch()
        try await database.save(second)
        let sentLater = proxy.traffic.reduce(0) { $0 + $1.up } - sentBefore
        #expect(sentBefore > byteCount / 2 && sentLater < byteCount * 3 / 4, "\(sentBefore), then \(sentLater)")
        #expect(try read(try await database.record(for: second.recordID)["photo"]) == content(byteCount))
        // Again, in another record: the server has it all.
        let third = record("b")
        third["photo"] = photo
        try await database.save(third)
        #expect(proxy.traffic.reduce(0) { $0 + $1.up } - sentBefore - sentLater < 100_000)
    }

    @Test("are made again for what a save kept and the server's record no longer has")
    func keptAndGone() async throws {
        let token = try server.addAccount("ada")
        let (one, two) = (server.device(token: token), server.device(token: token))
        let (here, there) = (one.privateCloudDatabase, two.privateCloudDatabase)
        for isAtomic in [false, true] {
            let zone = try await here.save(CKRecordZone(zoneName: "Photos-\(isAtomic)")).zoneID
            let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "a", zoneID: zone))
            record["photo"] = try file("one", content(2_000))
            try await here.save(record)
            // Meanwhile it gets another photo; here the same one goes under another key.
            let theirs = try await there.record(for: record.recordID)
            theirs["photo"] = try file("two", content(3_000, 9))
            try await there.save(theirs)
            let mine = record
            mine["cover"] = mine["photo"]
            let other = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "b", zoneID: zone))
            other["photo"] = try file("three", content(4_000, 7))
            let results = try await here.modifyRecords(
                saving: [mine, other], deleting: [], savePolicy: .changedKeys, atomically: isAtomic
            ).saveResults
            for result in results.values { _ = try result.get() }
            #expect(results.count == 2)
            let fetched = try await there.record(for: record.recordID)
            #expect(try read(fetched["cover"]) == content(2_000) && read(fetched["photo"]) == content(3_000, 9))
        }
    }

    @Test("are made again for a list of which one was kept, and not with another content than that")
    func keptInLists() async throws {
        let token = try server.addAccount("ada")
        let (one, two) = (server.device(token: token), server.device(token: token))
        let (here, there) = (one.privateCloudDatabase, two.privateCloudDatabase)
        let record = record("a")
        let page = try file("one", content(2_000))
        record["pages"] = [page]
        try await here.save(record)
        let theirs = try await there.record(for: record.recordID)
        theirs["pages"] = nil
        try await there.save(theirs)
        func saveWithAnother() async throws {
            let kept = try #require(record["pages"] as? [CKAsset])
            record["pages"] = [kept[0], try file("two", content(3_000, 9))]
            let results = try await here.modifyRecords(saving: [record], deleting: [], savePolicy: .changedKeys)
            _ = try #require(results.saveResults[record.recordID]).get()
        }
        // The app uses the file's name for something else: the record must not show that.
        try content(2_000, 77).write(to: try #require(page.fileURL))
        let error = await #expect(throws: CKError.self) { try await saveWithAnother() }
        #expect(error?.code == .assetFileModified)
        try content(2_000).write(to: try #require(page.fileURL))
        record["pages"] = [try #require(record["pages"] as? [CKAsset])[0]]
        try await saveWithAnother()
        let pages = try #require(try await there.record(for: record.recordID)["pages"] as? [CKAsset])
        #expect(try pages.map { try read($0) } == [content(2_000), content(3_000, 9)])
    }

    @Test("that the server has no room for fail their records alone, with a time to come back")
    func refused() async throws {
        let server = try RunningServer { $0.assetFreePercent = 100 }
        let database = server.device(token: try server.addAccount("ada")).privateCloudDatabase
        let (photo, note) = (record("photo"), CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note")))
        photo["photo"] = try file("one", content(2_000))
        note["text"] = "Sea"
        let results = try await database.modifyRecords(saving: [photo, note], deleting: [], atomically: false)
        _ = try #require(results.saveResults[note.recordID]).get()
        let error = #expect(throws: CKError.self) { try #require(results.saveResults[photo.recordID]).get() }
        #expect(error?.code == .serviceUnavailable && error?.retryAfterSeconds != nil)
    }

    @Test("of a record that names another file by now bring the new one")
    func changed() async throws {
        let token = try server.addAccount("ada")
        let (one, two) = (server.device(token: token), server.device(token: token))
        let (here, there) = (one.privateCloudDatabase, two.privateCloudDatabase)
        let record = record("a")
        record["photo"] = try file("one", content(2_000))
        try await here.save(record)
        let account = there.core.account
        func answer() async throws -> Record {
            let request = FetchRecordsRequest(
                database: .private, zones: [.init(zone: .defaultZone, names: ["a"])], desiredKeys: nil)
            let answers = try await account.call(
                .recordsFetch, encode: { coder in coder.encodeFetchRecordsRequest(request) },
                decode: { (coder, bytes) throws(ServiceError) in try coder.decodeFetchRecordsResponse(bytes) })
            guard case .record(let record) = answers[0][0] else { throw TestFailure("no record") }
            return record
        }
        let old = FetchedRecord(id: nil, zoneID: .default, record: try await answer(), keys: .wanted(nil))
        record["photo"] = try file("two", content(3_000, 9))
        record["caption"] = "Sea"
        try await here.save(record)
        let fetched = try await there.records([old], account, CallOptions())
        #expect(fetched.count == 1 && fetched[0].1 == nil)
        // As it is now, with fields that it did not have.
        #expect(fetched[0].0["caption"] == "Sea")
        #expect(try read(fetched[0].0["photo"]) == content(3_000, 9))
        #expect(fetched[0].0.recordChangeTag == record.recordChangeTag)
        // One that has none any more is handed out without.
        let newer = FetchedRecord(id: nil, zoneID: .default, record: try await answer(), keys: .wanted(nil))
        record["photo"] = nil
        try await here.save(record)
        func fetchElsewhere() async throws -> (CKRecord, CKError?) {
            let database = server.device(token: token).privateCloudDatabase
            _ = try await database.allRecordZones()
            return try await database.records([newer], database.core.account, CallOptions())[0]
        }
        let without = try await fetchElsewhere()
        #expect(without.0["photo"] == nil && without.1 == nil)
        // And one that is gone fails by itself.
        try await here.deleteRecord(withID: record.recordID)
        #expect(try await fetchElsewhere().1?.code == .assetNotAvailable)
    }

    @Test("leave nothing in the cache of a device whose account was signed out")
    func signOut() async throws {
        let token = try server.addAccount("ada")
        let record = record("a")
        record["photo"] = try file("one", content(2_000))
        try await server.device(token: token).privateCloudDatabase.save(record)
        let there = server.device(token: token)
        let fetched = try await there.privateCloudDatabase.record(for: record.recordID)
        let cached = try #require((fetched["photo"] as? CKAsset)?.fileURL)
        #expect(FileManager.default.fileExists(atPath: cached.path))
        there.signOut()
        try await waitUntil("the files are removed") { !FileManager.default.fileExists(atPath: cached.path) }
    }

    @Test("are left out where nobody wants the files")
    func withoutFiles() async throws {
        let token = try server.addAccount("ada")
        let record = record("a")
        record["photo"] = try file("one", content(2_000))
        try await server.device(token: token).privateCloudDatabase.save(record)
        let there = server.device(token: token) { $0.downloadsAssets = false }.privateCloudDatabase
        let fetched = try await there.record(for: record.recordID)
        let asset = try #require(fetched["photo"] as? CKAsset)
        #expect(asset.fileURL == nil && asset.stored?.byteCount == 2_000)
        fetched["title"] = "Sea"
        try await there.save(fetched)
    }

    @Test("are none of encrypted contents, and a save leaves these fields as they are")
    func encrypted() async throws {
        let token = try server.addAccount("ada")
        let here = server.device(token: token).privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Photos")
        try await here.save(zone)
        let id = CKRecord.ID(recordName: "a", zoneID: zone.zoneID)
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["photo"] = try file("one", content(2_000))
        let stored = try #require((try await here.save(record)["photo"] as? CKAsset)?.stored)
        let session = try ClientSession.unshared(server.clientConfiguration(token: token))
        try await session.makeRings(in: ["Photos"], container: RunningServer.container)
        let fields = ["photo": EncryptedSamples.asset(stored), "photos": EncryptedSamples.assets([stored, stored])]
        _ = try await session.modifyRecords(
            ModifyRecordsRequest(
                database: .private, savePolicy: .changedKeys,
                zones: [
                    ZoneModification(
                        zone: ZoneID(name: "Photos"),
                        saves: [RecordSave(name: "a", type: "Photo", fields: fields.mapValues { .some($0) })])
                ]))
        // Whoever asked for the content would be told that it is gone.
        try FileManager.default.removeItem(atPath: server.dataFolder + "/assets")
        let there = server.device(token: token).privateCloudDatabase
        let fetched = try await there.record(for: id)
        #expect(fetched.allKeys() == [] && fetched["photo"] == nil)
        #expect(fetched.unreadableFields == ["photo": .noKeys, "photos": .noKeys])
        fetched["title"] = "Sea"
        try await there.save(fetched)
        let page = try await session.zoneChanges(ZoneChangesRequest(database: .private, zone: ZoneID(name: "Photos")))
        #expect(page.records.first?.fields == fields.merging(["title": .string("Sea")]) { $1 })
    }
}
