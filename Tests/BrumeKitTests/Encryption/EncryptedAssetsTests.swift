import BrumeEncryption
import BrumeModel
import BrumeRandom
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("Encrypted files of records", .timeLimit(.minutes(2)))
struct EncryptedAssetsTests {
    private let server: RunningServer
    private let pictures: PictureFolder
    private let token: String
    private let zoneID = CKRecordZone.ID(zoneName: "Album")

    init() throws {
        server = try RunningServer()
        pictures = try PictureFolder()
        token = try server.addAccount("ada")
    }

    // MARK: Devices and records

    private func device(
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
    private func devices() async throws -> (phone: CKDatabase, laptop: CKDatabase) {
        let (phone, laptop) = (device(), device("laptop"))
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        try await letIn(laptop, by: phone)
        return (phone, laptop)
    }

    private func letIn(_ new: CKDatabase, by old: CKDatabase) async throws {
        let container = CKContainer(core: old.core)
        // The first one makes the account's keys, and is handed out once.
        if let code = try? await container.recoveryCode().text {
            return try await CKContainer(core: new.core).useRecoveryCode(code)
        }
        let code = try await container.replaceRecoveryCode().text
        try await CKContainer(core: new.core).useRecoveryCode(code)
    }

    private func photo(_ name: String = "photo") -> CKRecord {
        CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    private func fetched(_ name: String = "photo", by database: CKDatabase) async throws -> CKRecord {
        try await database.record(for: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    /// A content of which no 32 bytes are anywhere else.
    private func content(_ byteCount: Int, _ seed: UInt64 = 1) -> Data {
        var generator = SeededGenerator(seed: seed)
        return Data((0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    private func file(_ content: Data) throws -> CKAsset { try pictures.file(UUID().uuidString, content) }

    private func read(_ value: (any CKRecordValueProtocol)?) throws -> Data { try PictureFolder.read(value) }

    private func pages(_ record: CKRecord) throws -> [Data] {
        try (#require(record["pages"] as? [CKAsset])).map { try read($0) }
    }

    /// The files that hold a part of a content, below the server's data folder.
    private func traces(of content: Data) -> [String] {
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
        let (change, _, _, _) = try await {
            let page = try await laptop.recordZoneChanges(inZoneWith: zoneID, since: nil)
            return (try #require(page.modificationResultsByID[record.recordID]).get().record, 0, 0, 0)
        }()
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

    @Test("are absent on a device without keys, which uploads none, and loses none")
    func deviceWithoutKeys() async throws {
        let (phone, _) = try await devices()
        let record = photo()
        record["photo"] = try file(content(10_000))
        try await phone.save(record)
        let tablet = device("tablet")
        let seen = try await fetched(by: tablet)
        #expect(seen.unreadableFields == ["photo": .noKeys] && seen["photo"] == nil && seen.allKeys().isEmpty)
        seen["title"] = "Sea"
        try await tablet.save(seen)
        _ = try await tablet.modifyRecords(saving: [seen], deleting: [], savePolicy: .allKeys)
        #expect(try read(try await fetched(by: phone)["photo"]) == content(10_000))
        let new = photo("new")
        new["photo"] = try file(content(20_000, 2))
        let plain = photo("plain")
        plain["title"] = "Sun"
        let results = try await tablet.modifyRecords(saving: [new, plain], deleting: [], atomically: false)
        let failure = #expect(throws: CKError.self) { try results.saveResults[new.recordID]?.get() }
        #expect(failure?.code == .accountTemporarilyUnavailable)
        #expect((try? results.saveResults[plain.recordID]?.get()) != nil)
        #expect(traces(of: content(20_000, 2)).isEmpty)
        try await letIn(tablet, by: phone)
        try await tablet.save(new)
        #expect(try read(try await fetched("new", by: phone)["photo"]) == content(20_000, 2))
        #expect(try read(try await fetched(by: tablet)["photo"]) == content(10_000))
    }

    @Test("that nobody encrypted, in a zone whose files are, are not taken for the account's")
    func plainInPlace() async throws {
        let (phone, laptop) = try await devices()
        let record = photo()
        record["photo"] = try file(content(10_000))
        record["title"] = "Sea"
        try await phone.save(record)
        // It has never seen the zone's keys.
        let stranger = device("stranger", encryptsAssets: false)
        let planted = photo("planted")
        planted["photo"] = try file(content(300, 3))
        planted["title"] = "Sea"
        try await stranger.save(planted)
        for device in [phone, laptop] {
            let seen = try await fetched("planted", by: device)
            #expect(seen["photo"] == nil && seen["title"] == "Sea")
            #expect(seen.unreadableFields == ["photo": .notEncrypted])
            #expect(try archived(seen, as: CKRecord.self).unreadableFields == ["photo": .notEncrypted])
        }
        // A device that starts knows what it knew, also where the server says that the zone was deleted, and shows
        // none.
        let folder = try phone.core.configuration.resolvedStateFolder()
        let restarted = device(encryptsAssets: false) { $0.stateFolder = folder }
        try await restarted.core.account.encryptedZones.zoneWasDeleted(
            zoneID.zoneName, for: restarted.core.account)
        #expect(
            try await restarted.core.account.encryptedZones.keptAssetPolicy(
                zoneID.zoneName, for: restarted.core.account) == true)
        #expect(try await fetched("planted", by: restarted).unreadableFields == ["photo": .notEncrypted])
        let again = device(encryptsAssets: false) { $0.stateFolder = folder }
        let seen = try await fetched("planted", by: again)
        #expect(seen.unreadableFields == ["photo": .notEncrypted])
        seen["photo"] = try file(content(20_000, 4))
        try await again.save(seen)
        #expect(seen.unreadableFields.isEmpty)
        #expect(try read(try await fetched("planted", by: laptop)["photo"]) == content(20_000, 4))
    }

    @Test("take the place of plain ones that an app had before, which hands these out and sets them anew")
    func migration() async throws {
        let before = device(encryptsAssets: false)
        _ = try await before.save(CKRecordZone(zoneID: zoneID))
        let old = photo("old")
        old["photo"] = try file(content(10_000))
        old["pages"] = [try file(content(300)), try file(content(400))]
        try await before.save(old)
        let folder = try before.core.configuration.resolvedStateFolder()
        func updated(accepts: Bool) -> CKDatabase {
            device {
                $0.stateFolder = folder
                $0.acceptsPlainAssets = accepts
            }
        }
        let strict = updated(accepts: false)
        let new = photo("new")
        new["photo"] = try file(content(500))
        try await strict.save(new)
        #expect(try await fetched("old", by: strict).unreadableFields.keys.sorted() == ["pages", "photo"])
        let lenient = updated(accepts: true)
        let seen = try await fetched("old", by: lenient)
        #expect(try read(seen["photo"]) == content(10_000))
        for key in ["photo", "pages"] { seen[key] = seen[key] }
        try await lenient.save(seen)
        #expect(try read(seen["photo"]) == content(10_000) && seen.sealedFields.keys.sorted() == ["pages", "photo"])
        let migrated = try await fetched("old", by: strict)
        #expect(try read(migrated["photo"]) == content(10_000) && pages(migrated) == [content(300), content(400)])
    }

    @Test("are not removed or replaced by a device that can't open them, nor by a merge there")
    func keptByDevicesWithoutKeys() async throws {
        let (phone, _) = try await devices()
        let record = photo()
        record["photo"] = try file(content(10_000))
        try await phone.save(record)
        let tablet = device("tablet", encryptsAssets: false)
        for value in [nil, try file(content(5))] as [CKAsset?] {
            let seen = try await fetched(by: tablet)
            seen["photo"] = value
            #expect(await BrumeKitTests.code { try await tablet.save(seen) } == .accountTemporarilyUnavailable)
        }
        #expect(try read(try await fetched(by: phone)["photo"]) == content(10_000))
        let emptied = try await fetched(by: tablet)
        emptied["photo"] = nil
        let restored = try archived(emptied, as: CKRecord.self)
        #expect(await BrumeKitTests.code { try await tablet.save(restored) } == .accountTemporarilyUnavailable)
        // With the keys it may, in a merge as well.
        let removing = try await fetched(by: tablet)
        removing["photo"] = nil
        try await letIn(tablet, by: phone)
        record["title"] = "Sea"
        try await phone.save(record)
        let error = try #require(await #expect(throws: CKError.self) { try await tablet.save(removing) })
        let merged = try #require(error.mergedRecord())
        try await tablet.save(merged)
        let last = try await fetched(by: phone)
        #expect(last["photo"] == nil && last["title"] == "Sea" && last.unreadableFields.isEmpty)
    }

    @Test("of shares stay plain, since those who see a share have no keys") func shares() async throws {
        let (phone, laptop) = try await devices()
        let record = photo()
        record["photo"] = try file(content(10_000))
        let share = CKShare(rootRecord: record)
        share["cover"] = try file(content(2_000, 2))
        let results = try await phone.modifyRecords(saving: [record, share], deleting: []).saveResults
        #expect(throws: Never.self) { try results.values.forEach { _ = try $0.get() } }
        let seen = try await laptop.record(for: share.recordID)
        #expect(try read(seen["cover"]) == content(2_000, 2) && seen.unreadableFields.isEmpty)
        #expect(try read(try await fetched(by: laptop)["photo"]) == content(10_000))
        // So a device without keys saves them.
        let tablet = device("tablet")
        let theirs = try #require(try await tablet.record(for: share.recordID) as? CKShare)
        theirs["cover"] = try file(content(3_000, 3))
        try await tablet.save(theirs)
        #expect(try read(try await phone.record(for: share.recordID)["cover"]) == content(3_000, 3))
    }

    @Test("are not lost where another save of the request finds out that the account has other keys")
    func keysChangedBeside() async throws {
        let phone = device(encryptsAssets: false)
        let other = CKRecordZone.ID(zoneName: "Other")
        for zone in [zoneID, other] { _ = try await phone.save(CKRecordZone(zoneID: zone)) }
        func note(_ zone: CKRecordZone.ID) -> CKRecord {
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note", zoneID: zone))
        }
        let (first, second) = (note(zoneID), note(other))
        for record in [first, second] { record.encryptedValues["secret"] = "word" }
        second["photo"] = try file(content(10_000))
        _ = try await phone.modifyRecords(saving: [first, second], deleting: [])
        // Both zones have plain files, which counts for an app that wants encrypted ones from now on.
        let folder = try phone.core.configuration.resolvedStateFolder()
        let laptop = device { $0.stateFolder = folder }
        let tablet = device("tablet")
        try await letIn(tablet, by: laptop)
        let (here, there) = (
            try await laptop.record(for: first.recordID), try await laptop.record(for: second.recordID)
        )
        let container = CKContainer(core: tablet.core)
        let third = device("third")
        try await letIn(third, by: tablet)
        let lost = try await container.encryptionDevices().first { $0.name == "third" }
        try await container.removeEncryptionDevice(try #require(lost))
        here.encryptedValues["secret"] = "words"
        there.encryptedValues["secret"] = "words"
        there["cover"] = there["photo"]
        let results = try await laptop.modifyRecords(saving: [here, there], deleting: []).saveResults
        #expect(throws: Never.self) { try results.values.forEach { _ = try $0.get() } }
        let seen = try await tablet.record(for: second.recordID)
        #expect(seen.encryptedValues["secret"] == "words")
        #expect(try read(seen["photo"]) == content(10_000) && read(seen["cover"]) == content(10_000))
        // The ring could be one that the removed device has begun: files are encrypted from now on.
        seen["photo"] = try file(content(20_000, 2))
        try await tablet.save(seen)
        #expect(seen.sealedFields.keys.contains("photo"))
        let last = try await laptop.record(for: second.recordID)
        #expect(try read(last["photo"]) == content(20_000, 2) && read(last["cover"]) == content(10_000))
    }

    @Test("of a shared record are the participant's to replace, and no keys of his own account are made for that")
    func participants() async throws {
        let desk = try await SharedZone(loopCount: 2)
        let bob = try desk.desk.user("bob")
        let own = desk.owner.privateCloudDatabase
        let record = CKRecord(recordType: "Photo", recordID: desk.id("a"))
        record["title"] = "Sea"
        try await own.save(record)
        let share = try await desk.share { $0.publicPermission = .readWrite }
        let zone = try await desk.accept(share, by: bob).recordID.zoneID
        var configuration = desk.owner.core.configuration
        configuration.encryptsAssets = true
        record["photo"] = try file(content(10_000))
        let encrypting = CKContainer(identifier: desk.owner.containerIdentifier ?? "", configuration: configuration)
        try await encrypting.privateCloudDatabase.save(record)
        let id = CKRecord.ID(recordName: "a", zoneID: zone)
        let seen = try await bob.sharedCloudDatabase.record(for: id)
        #expect(seen.unreadableFields == ["photo": .noKeys])
        seen["photo"] = try file(content(300, 2))
        try await bob.sharedCloudDatabase.save(seen)
        #expect(try await bob.encryptionStatus() == .notSetUp)
        #expect(try read(try await bob.sharedCloudDatabase.record(for: id)["photo"]) == content(300, 2))
    }

    @Test("stay plain in a zone that began so, whatever a device says later, and the other way round")
    func policies() async throws {
        let plain = device(encryptsAssets: false)
        _ = try await plain.save(CKRecordZone(zoneID: zoneID))
        let record = photo()
        record.encryptedValues["secret"] = "word"
        record["photo"] = try file(content(500))
        try await plain.save(record)
        let laptop = device("laptop")
        try await letIn(laptop, by: plain)
        let seen = try await fetched(by: laptop)
        #expect(try read(seen["photo"]) == content(500) && seen.encryptedValues["secret"] == "word")
        seen["photo"] = try file(content(600, 2))
        try await laptop.save(seen)
        #expect(seen.sealedFields.keys.sorted() == ["secret"])
        // In a zone that has no keys yet this device's word counts, and then for all.
        let other = CKRecordZone.ID(zoneName: "Other")
        _ = try await laptop.save(CKRecordZone(zoneID: other))
        let first = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "a", zoneID: other))
        first["photo"] = try file(content(700, 3))
        try await laptop.save(first)
        let theirs = try await plain.record(for: first.recordID)
        theirs["photo"] = try file(content(800, 4))
        try await plain.save(theirs)
        #expect(theirs.sealedFields.keys.sorted() == ["photo"])
        #expect(try read(try await laptop.record(for: first.recordID)["photo"]) == content(800, 4))
    }

    @Test("have new keys after a device was removed, and those from before stay readable")
    func removedDevice() async throws {
        let (phone, laptop) = try await devices()
        let (before, after) = (photo("before"), photo("after"))
        before["photo"] = try file(content(10_000))
        try await phone.save(before)
        let container = CKContainer(core: laptop.core)
        let others = try await container.encryptionDevices().filter { !$0.isCurrent }
        try await container.removeEncryptionDevice(try #require(others.first))
        after["photo"] = try file(content(20_000, 2))
        try await laptop.save(after)
        func number(_ record: CKRecord) throws -> UInt32 {
            try ValueHeader(of: #require(record.sealedFields["photo"]).bytes).keyNumber
        }
        #expect(try number(after) > number(before))
        let seen = try await fetched("before", by: laptop)
        #expect(try read(seen["photo"]) == content(10_000))
        // Named again, it is sealed with the new key, and not uploaded again.
        seen["photo"] = seen["photo"]
        try await laptop.save(seen)
        #expect(try number(seen) == number(after))
        #expect(seen.sealedFields["photo"]?.assets == before.sealedFields["photo"]?.assets)
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
