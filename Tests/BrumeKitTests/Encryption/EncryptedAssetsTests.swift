import BrumeEncryption
import BrumeModel
import BrumeRandom
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("Encrypted files of records", .timeLimit(.minutes(2)))
struct EncryptedAssetsTests {
    let server: RunningServer
    let pictures: PictureFolder
    let token: String
    let zoneID = CKRecordZone.ID(zoneName: "Album")

    init() throws {
        server = try RunningServer()
        pictures = try PictureFolder()
        token = try server.addAccount("ada")
    }

    // MARK: Devices and records

    func device(
        _ name: String = "phone", encryptsAssets: Bool = true,
        configure: (inout BrumeConfiguration) -> Void = { _ in }
    ) -> CKDatabase {
        server.device(token: token) {
            $0.deviceName = name
            $0.encryptsAssets = encryptsAssets
            configure(&$0)
        }.privateCloudDatabase
    }

    /// Two devices with the account's keys, and the zone.
    func devices() async throws -> (phone: CKDatabase, laptop: CKDatabase) {
        let (phone, laptop) = (device(), device("laptop"))
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        try await letIn(laptop, by: phone)
        return (phone, laptop)
    }

    func letIn(_ new: CKDatabase, by old: CKDatabase) async throws {
        let container = CKContainer(core: old.core)
        // The first one makes the account's keys, and is handed out once.
        if let code = try? await container.recoveryCode().text {
            return try await CKContainer(core: new.core).useRecoveryCode(code)
        }
        let code = try await container.replaceRecoveryCode().text
        try await CKContainer(core: new.core).useRecoveryCode(code)
    }

    func photo(_ name: String = "photo") -> CKRecord {
        CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    func fetched(_ name: String = "photo", by database: CKDatabase) async throws -> CKRecord {
        try await database.record(for: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    /// A content of which no 32 bytes are anywhere else.
    func content(_ byteCount: Int, _ seed: UInt64 = 1) -> Data {
        var generator = SeededGenerator(seed: seed)
        return Data((0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    func file(_ content: Data) throws -> CKAsset { try pictures.file(UUID().uuidString, content) }

    func read(_ value: (any CKRecordValueProtocol)?) throws -> Data { try PictureFolder.read(value) }

    func pages(_ record: CKRecord) throws -> [Data] {
        try (#require(record["pages"] as? [CKAsset])).map { try read($0) }
    }

    /// The files that hold a part of a content, below the server's data folder.
    func traces(of content: Data) -> [String] {
        let part = content.dropFirst(content.count / 2).prefix(32)
        let paths = FileManager.default.enumerator(atPath: server.dataFolder)!.compactMap { $0 as? String }
        return paths.filter { path in
            FileManager.default.contents(atPath: server.dataFolder + "/" + path)?.range(of: part) != nil
        }
    }

    // MARK: Tests

    @Test("come back on the account's devices as they were, and the server never sees them")
    func roundTrip() async throws {
        let (phone, laptop) = try await devices()
        let whole = content(1_500_000)
        let list = [content(1), content(0), content(65_496), content(65_497), content(200_000)]
        let record = photo()
        record["photo"] = try file(whole)
        record["pages"] = try list.map { try file($0) }
        record["title"] = "Sea"
        let saved = try await phone.save(record)
        #expect(record.changedKeys().isEmpty && record.unreadableFields.isEmpty)
        let page = try await laptop.recordZoneChanges(inZoneWith: zoneID, since: nil)
        let change = try #require(page.modificationResultsByID[record.recordID]).get().record
        let query = CKQuery(recordType: "Photo", predicate: NSPredicate(value: true))
        let found = try await laptop.records(matching: query, inZoneWith: zoneID).matchResults[0].1.get()
        let byID = try await fetched(by: laptop)
        for seen in [saved, record, byID, change, found] {
            #expect(try read(seen["photo"]) == whole)
            #expect(try pages(seen) == list)
            #expect(seen.allKeys() == ["pages", "photo", "title"] && seen.encryptedValues.allKeys().isEmpty)
            #expect(seen.sealedFields.keys.sorted() == ["pages", "photo"])
        }
        #expect((byID["photo"] as? CKAsset)?.storedByteCount == whole.count)
        server.stop()
        #expect(traces(of: whole).isEmpty && traces(of: list[4]).isEmpty)
    }

    @Test("are seen by the server where they are not encrypted") func control() async throws {
        let phone = device(encryptsAssets: false)
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        let record = photo()
        record["photo"] = try file(content(100_000))
        try await phone.save(record)
        #expect(record.sealedFields.isEmpty)
        server.stop()
        #expect(!traces(of: content(100_000)).isEmpty)
    }

    @Test("are not sent again when something else changes, and change hands as plain ones do")
    func changes() async throws {
        let (phone, laptop) = try await devices()
        let record = photo()
        record["photo"] = try file(content(10_000))
        try await phone.save(record)
        let first = record.sealedFields
        record["title"] = "Sea"
        try await phone.save(record)
        #expect(record.sealedFields == first)
        let seen = try await fetched(by: laptop)
        // The same asset: the server gets the same bytes.
        seen["photo"] = seen["photo"]
        try await laptop.save(seen)
        #expect(seen.sealedFields == first)
        // Under another key it is the same content, sealed for that.
        seen["cover"] = seen["photo"]
        seen["photo"] = try file(content(20_000, 2))
        try await laptop.save(seen)
        #expect(seen.sealedFields["cover"]?.assets == first["photo"]?.assets)
        let again = try await fetched(by: phone)
        #expect(try read(again["cover"]) == content(10_000) && read(again["photo"]) == content(20_000, 2))
        // In another record it is a file like any other, with a key of its own.
        let other = photo("other")
        other["photo"] = again["photo"]
        try await phone.save(other)
        #expect(other.sealedFields["photo"]?.assets != again.sealedFields["photo"]?.assets)
        let all = try await phone.modifyRecords(saving: [again], deleting: [], savePolicy: .allKeys)
        #expect(try all.saveResults[again.recordID]?.get().sealedFields == again.sealedFields)
        again["photo"] = nil
        try await phone.save(again)
        let last = try await fetched(by: laptop)
        #expect(last["photo"] == nil && last.sealedFields.keys.sorted() == ["cover"])
        #expect(try read(try await fetched("other", by: laptop)["photo"]) == content(20_000, 2))
    }

    @Test("are readable from an archive of their record, and saved from it")
    func archives() async throws {
        let (phone, laptop) = try await devices()
        let record = photo()
        record["photo"] = try file(content(10_000))
        record["pages"] = [try file(content(3)), try file(content(4))]
        try await phone.save(record)
        let restored = try archived(try await fetched(by: laptop), as: CKRecord.self)
        #expect(restored.unreadableFields.isEmpty && restored.allKeys() == ["pages", "photo"])
        restored["title"] = "Sea"
        let results = try await laptop.modifyRecords(saving: [restored], deleting: [], savePolicy: .allKeys)
        #expect(try results.saveResults[record.recordID]?.get().sealedFields == record.sealedFields)
        restored["cover"] = restored["photo"]
        try await laptop.save(restored)
        let seen = try await fetched(by: phone)
        #expect(try read(seen["cover"]) == content(10_000) && pages(seen) == [content(3), content(4)])
        // An archive of one that can't be read says so, and loses nothing.
        let tablet = device("tablet")
        let closed = try archived(try await fetched(by: tablet), as: CKRecord.self)
        #expect(closed.unreadableFields.keys.sorted() == ["cover", "pages", "photo"])
        closed["title"] = "Sun"
        try await tablet.save(closed)
        #expect(try read(try await fetched(by: phone)["photo"]) == content(10_000))
    }

    @Test("are sealed anew where their record gets another parent") func moves() async throws {
        let (phone, laptop) = try await devices()
        let (album, record) = (photo("album"), photo())
        record["photo"] = try file(content(10_000))
        _ = try await phone.modifyRecords(saving: [album, record], deleting: [])
        func tree(_ record: CKRecord) throws -> [UInt8] {
            try ValueHeader(of: #require(record.sealedFields["photo"]).bytes).treeID
        }
        let before = try tree(record)
        // By an instance that does not hold the file, on a device that knows the zone's keys.
        _ = try await fetched(by: laptop)
        let partial = try #require(try await laptop.records(for: [record.recordID], desiredKeys: [])[record.recordID])
        let moved = try partial.get()
        moved.setParent(album)
        try await laptop.save(moved)
        let seen = try await fetched(by: phone)
        #expect(try tree(seen) != before && read(seen["photo"]) == content(10_000))
        #expect(seen.sealedFields["photo"]?.assets == record.sealedFields["photo"]?.assets)
    }

    @Test("take part in conflicts and merges") func conflicts() async throws {
        let (phone, laptop) = try await devices()
        let record = photo()
        record["photo"] = try file(content(10_000))
        try await phone.save(record)
        let theirs = try await fetched(by: laptop)
        theirs["photo"] = try file(content(20_000, 2))
        try await laptop.save(theirs)
        record["title"] = "Sea"
        record["cover"] = try file(content(30_000, 3))
        let error = try #require(await #expect(throws: CKError.self) { try await phone.save(record) })
        #expect(error.code == .serverRecordChanged)
        let merged = try #require(error.mergedRecord())
        try await phone.save(merged)
        let seen = try await fetched(by: laptop)
        #expect(try read(seen["photo"]) == content(20_000, 2) && read(seen["cover"]) == content(30_000, 3))
        #expect(seen["title"] == "Sea")
        // What both started from can be put back.
        let former = try #require(error.ancestorRecord?["photo"] as? CKAsset)
        #expect(former.secret != nil)
    }

    @Test("of which the server has lost the content are uploaded anew") func lost() async throws {
        let (phone, laptop) = try await devices()
        let record = photo()
        record["photo"] = try file(content(100_000))
        try await phone.save(record)
        let seen = try await fetched(by: phone)
        // Removed on the server, and named by a save that knows it.
        let other = try await fetched(by: laptop)
        other["photo"] = nil
        try await laptop.save(other)
        seen["cover"] = seen["photo"]
        let results = try await phone.modifyRecords(saving: [seen], deleting: [], savePolicy: .allKeys)
        #expect(throws: Never.self) { try results.saveResults[seen.recordID]?.get() }
        let again = try await fetched(by: laptop)
        #expect(try read(again["cover"]) == content(100_000) && read(again["photo"]) == content(100_000))
        #expect(again.sealedFields["photo"]?.assets != record.sealedFields["photo"]?.assets)
    }

    @Test("are saved through a connection that is cut wherever an answer comes, and fetched through one")
    func cuts() async throws {
        let proxy = try FaultyProxy(to: server.port)
        defer { proxy.close() }
        let (phone, laptop) = try await devices()
        let folder = try phone.core.configuration.resolvedStateFolder()
        func away() -> CKDatabase {
            device {
                $0.server = proxy.address
                $0.stateFolder = folder
            }
        }
        let saver = away()
        try await letIn(saver, by: phone)
        let whole = content(400_000)
        for (number, byteCount) in stride(from: 1_000, to: 500_000, by: 61_003).enumerated() {
            proxy.add([FaultyProxy.Fault(isDown: false, byteCount: byteCount)])
            let record = photo("up\(number)")
            record["photo"] = try file(whole)
            try await saver.save(record)
            #expect(try read(try await fetched("up\(number)", by: laptop)["photo"]) == whole)
            proxy.add([FaultyProxy.Fault(isDown: true, byteCount: byteCount)])
            #expect(try read(try await fetched("up\(number)", by: away())["photo"]) == whole)
        }
    }

    @Test("go on after the app was ended, with the key that they began with, which is forgotten then")
    func restarts() async throws {
        let proxy = try FaultyProxy(to: server.port)
        defer { proxy.close() }
        let (phone, laptop) = try await devices()
        let folder = try TestFolder()
        func saver() -> CKDatabase {
            device("saver") {
                $0.server = proxy.address
                $0.stateFolder = folder.path
            }
        }
        try await letIn(saver(), by: phone)
        let whole = content(6_000_000)
        let source = try file(whole)
        func keptKeys() throws -> [String] {
            let names = FileManager.default.enumerator(atPath: folder.path)!.compactMap { $0 as? String }
            return names.filter { $0.contains("/uploads/") }
        }
        func save(_ name: String) async throws {
            let record = photo(name)
            record["photo"] = source
            try await saver().save(record)
        }
        // The app ends in the middle of the upload.
        proxy.add([FaultyProxy.Fault(kind: .stall, isDown: false, byteCount: 5_000_000)])
        let cut = Task { try await save("first") }
        while try keptKeys().isEmpty || !proxy.traffic.contains(where: { $0.up > 4_900_000 }) {
            try await Task.sleep(for: .milliseconds(5))
        }
        cut.cancel()
        _ = try? await cut.value
        let kept = try keptKeys()
        let before = proxy.traffic.reduce(0) { $0 + $1.up }
        try await save("first")
        let sent = proxy.traffic.reduce(0) { $0 + $1.up } - before
        #expect(sent < 5_000_000, "\(sent) bytes were sent, of 6,000,000")
        #expect(try kept.count == 1 && keptKeys().isEmpty)
        #expect(try read(try await fetched("first", by: laptop)["photo"]) == whole)
        // Another upload of the file has another key.
        try await save("second")
        let (first, second) = (try await fetched("first", by: laptop), try await fetched("second", by: laptop))
        #expect(first.sealedFields["photo"]?.assets != second.sealedFields["photo"]?.assets)
    }

    @Test("are saved by a sync engine as others are") func engine() async throws {
        let (phone, laptop) = try await devices()
        let device = NotesDevice(CKContainer(core: phone.core), isAutomatic: false)
        let url = try #require(file(content(300_000)).fileURL)
        let id = CKRecord.ID(recordName: "note", zoneID: zoneID)
        device.write("note", picture: url, id)
        try await device.engine.sendChanges()
        #expect(device.engine.state.pendingRecordZoneChanges.isEmpty)
        let seen = try await fetched("note", by: laptop)
        #expect(try read(seen["picture"]) == content(300_000) && seen.sealedFields["picture"] != nil)

        // On a device without keys all else is saved, and the file once it has them.
        let tablet = self.device("tablet")
        let without = NotesDevice(CKContainer(core: tablet.core), isAutomatic: false)
        let (held, free) = (
            CKRecord.ID(recordName: "held", zoneID: zoneID), CKRecord.ID(recordName: "free", zoneID: zoneID)
        )
        without.write("held", picture: url, held)
        without.write("free", free)
        try? await without.engine.sendChanges()
        #expect(without.engine.state.pendingRecordZoneChanges == [.saveRecord(held)])
        #expect(try await fetched("free", by: laptop)["text"] != nil)
        try await letIn(tablet, by: phone)
        try await without.engine.sendChanges()
        #expect(without.engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(try read(try await fetched("held", by: laptop)["picture"]) == content(300_000))
    }
}
