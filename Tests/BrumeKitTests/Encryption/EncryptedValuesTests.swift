import BrumeEncryption
import BrumeLock
import BrumeModel
import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("Encrypted values of records", .timeLimit(.minutes(1)))
struct EncryptedValuesTests {
    let server: RunningServer
    let token: String
    let zoneID = CKRecordZone.ID(zoneName: "Diary")

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
    }

    private func device(_ name: String = "phone", configure: (inout BrumeConfiguration) -> Void = { _ in })
        -> CKDatabase
    {
        server.device(token: token) {
            $0.deviceName = name
            configure(&$0)
        }.privateCloudDatabase
    }

    /// A device with the zone, and with the account's keys.
    private func firstDevice() async throws -> (CKDatabase, code: String) {
        let phone = device()
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        let code = try await CKContainer(core: phone.core).recoveryCode().text
        return (phone, code)
    }

    private func page(_ name: String = "page", in zone: CKRecordZone.ID? = nil) -> CKRecord {
        CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: name, zoneID: zone ?? zoneID))
    }

    private func fetched(_ name: String = "page", by database: CKDatabase) async throws -> CKRecord {
        try await database.record(for: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    @Test("come back on the account's devices as they were set, and the server never sees them")
    func roundTrip() async throws {
        let (phone, code) = try await firstDevice()
        let values: [String: FieldValue] = [
            "string": .string("a secret word ✎"), "int": .int64(-7), "double": .double(0.5),
            "bytes": .bytes([0, 1, 255]), "date": .date(12.25), "place": .location(Location(latitude: 1, longitude: 2)),
            "strings": .strings(["a secret word ✎", ""]), "ints": .int64s([1, -2]), "doubles": .doubles([1.5]),
            "blobs": .bytesList([[1], []]), "dates": .dates([0, -1]),
            "places": .locations([Location(latitude: 3, longitude: 4)]),
        ]
        let record = page()
        for (key, value) in values {
            record.encryptedValues[key] = value.recordValue(in: zoneID)
        }
        record["title"] = "plain"
        let saved = try await phone.save(record)
        let laptop = device("laptop")
        try await CKContainer(core: laptop.core).useRecoveryCode(code)
        for seen in [record, saved, try await fetched(by: phone), try await fetched(by: laptop)] {
            #expect(seen.snapshot.encrypted.values == values)
            #expect(seen.allKeys() == ["title"] && seen["string"] == nil && seen.unreadableFields.isEmpty)
            #expect(seen.changedKeys().isEmpty && seen.encryptedValues.changedKeys().isEmpty)
            #expect(seen.sealedFields.keys.sorted() == values.keys.sorted())
        }
        server.stop()
        for path in FileManager.default.enumerator(atPath: server.dataFolder)!.compactMap({ $0 as? String }) {
            let bytes = FileManager.default.contents(atPath: server.dataFolder + "/" + path) ?? Data()
            #expect(bytes.range(of: Data("a secret word".utf8)) == nil, "\(path)")
        }
    }

    @Test("are absent on a device without keys, which says so, and saves all else without losing them")
    func deviceWithoutKeys() async throws {
        let (phone, code) = try await firstDevice()
        let record = page()
        record.encryptedValues["secret"] = "word"
        record["title"] = "first"
        try await phone.save(record)

        let tablet = device("tablet")
        let seen = try await fetched(by: tablet)
        #expect(seen.unreadableFields == ["secret": .noKeys] && seen.encryptedValues.allKeys().isEmpty)
        seen["title"] = "second"
        let saved = try await tablet.save(seen)
        #expect(saved.unreadableFields == ["secret": .noKeys] && seen.unreadableFields == ["secret": .noKeys])
        let all = try await tablet.modifyRecords(saving: [seen], deleting: [], savePolicy: .allKeys)
        #expect(try all.saveResults[seen.recordID]?.get()["title"] == "second")
        #expect(try await fetched(by: phone).encryptedValues["secret"] == "word")

        seen.encryptedValues["secret"] = "other"
        let new = page("new")
        new["title"] = "third"
        #expect(await BrumeKitTests.code { try await tablet.save(seen) } == .accountTemporarilyUnavailable)
        let results = try await tablet.modifyRecords(saving: [seen, new], deleting: [], atomically: false)
        #expect((try? results.saveResults[new.recordID]?.get()) != nil)
        #expect(try await fetched(by: phone).encryptedValues["secret"] == "word")

        try await CKContainer(core: tablet.core).useRecoveryCode(code)
        try await tablet.save(seen)
        #expect(try await fetched(by: phone).encryptedValues["secret"] == "other")
    }

    @Test("are there after a restart, and so are the keys that others are saved with")
    func restart() async throws {
        let (phone, _) = try await firstDevice()
        let record = page()
        record.encryptedValues["secret"] = "word"
        try await phone.save(record)
        let folder = try phone.core.configuration.resolvedStateFolder()
        let again = device { $0.stateFolder = folder }
        #expect(try await fetched(by: again).encryptedValues["secret"] == "word")
        let other = page("other")
        other.encryptedValues["secret"] = "word"
        try await again.save(other)
        #expect(try await fetched("other", by: phone).encryptedValues["secret"] == "word")
        #expect(again.core.account.encryptedZones.knownKeys(zone: "Diary")?.newest == 1)
    }

    @Test("are merged as plain ones are, each with the version that both sides started from")
    func conflict() async throws {
        let (phone, code) = try await firstDevice()
        let laptop = device("laptop")
        try await CKContainer(core: laptop.core).useRecoveryCode(code)
        let record = page()
        for key in ["a", "b", "c"] { record.encryptedValues[key] = "old" }
        try await phone.save(record)
        let theirs = try await fetched(by: laptop)
        theirs.encryptedValues["a"] = "theirs"
        theirs.encryptedValues["b"] = "theirs"
        try await laptop.save(theirs)
        record.encryptedValues["b"] = "ours"
        record.encryptedValues["c"] = nil
        let error = try #require(await failure { try await phone.save(record) })
        #expect(error.code == .serverRecordChanged)
        #expect(error.serverRecord?.encryptedValues["a"] == "theirs")
        #expect(error.ancestorRecord?.encryptedValues["b"] == "old")
        #expect(error.clientRecord?.encryptedValues["b"] == "ours")
        let seen = Lock<[CKRecord.FieldConflict]>([])
        let merged = try #require(
            error.mergedRecord(
                .custom { conflict in
                    seen.withLock { $0.append(conflict) }
                    return "both"
                }))
        let conflicts = seen.withLock { $0 }
        #expect(conflicts.map(\.key) == ["b"] && conflicts.allSatisfy(\.isEncrypted))
        #expect(conflicts.first?.ancestorValue as? String == "old")
        try await phone.save(merged)
        let result = try await fetched(by: laptop)
        #expect(result.encryptedValues.allKeys() == ["a", "b"])
        #expect(result.encryptedValues["a"] == "theirs" && result.encryptedValues["b"] == "both")
    }

    @Test("that are set to what they were are sent as the same bytes, so that the save changes nothing")
    func unchanged() async throws {
        let (phone, _) = try await firstDevice()
        let record = page()
        record.encryptedValues["secret"] = "word"
        try await phone.save(record)
        let tag = record.recordChangeTag
        record.encryptedValues["secret"] = "word"
        try await phone.save(record)
        #expect(record.recordChangeTag == tag)
        record.encryptedValues["secret"] = "other"
        try await phone.save(record)
        #expect(record.recordChangeTag != tag)
    }

    @Test("are refused in a public database, in a share, and, without keys, in other users' zones")
    func refusedPlaces() async throws {
        let container = server.device(token: token)
        let public_ = CKRecord(recordType: "Page")
        public_.encryptedValues["secret"] = "word"
        #expect(await code { try await container.publicCloudDatabase.save(public_) } == .invalidArguments)
        let (phone, _) = try await firstDevice()
        let root = page()
        let share = CKShare(rootRecord: root)
        share.encryptedValues["secret"] = "word"
        let results = try await phone.modifyRecords(saving: [root, share], deleting: [])
        #expect(throws: CKError.self) { try results.saveResults[share.recordID]?.get() }
        let shared = container.sharedCloudDatabase
        let theirs = page(in: CKRecordZone.ID(zoneName: "Diary", ownerName: "_" + String(repeating: "1", count: 32)))
        theirs.encryptedValues["secret"] = "word"
        let error = await failure { try await shared.save(theirs) }
        #expect(error?.code == .accountTemporarilyUnavailable, "\(String(describing: error))")
    }

    @Test("of a record below another take its tree's key, and are encrypted anew where it moves into another")
    func trees() async throws {
        let (phone, code) = try await firstDevice()
        let laptop = device("laptop")
        try await CKContainer(core: laptop.core).useRecoveryCode(code)
        let (shelf, book, note) = (page("shelf"), page("book"), page("note"))
        book.setParent(shelf)
        note.setParent(book)
        note.encryptedValues["secret"] = "word"
        note.encryptedValues["other"] = 1
        // The root is the one that the request says, whatever the order.
        _ = try await phone.modifyRecords(saving: [shelf, book, note], deleting: [])
        let keys = try #require(phone.core.account.encryptedZones.knownKeys(zone: "Diary"))
        func trees(_ record: CKRecord) throws -> [[UInt8]] {
            try record.sealedFields.values.map { try ValueHeader(of: $0.bytes).treeID }
        }
        #expect(try trees(note) == Array(repeating: keys.tree(root: "shelf").id, count: 2))
        // A device that has seen none of the records finds the root.
        let seen = try await fetched("note", by: laptop)
        #expect(seen.encryptedValues["secret"] == "word" && seen.unreadableFields.isEmpty)
        seen.encryptedValues["secret"] = "words"
        try await laptop.save(seen)
        #expect(try trees(seen) == Array(repeating: keys.tree(root: "shelf").id, count: 2))

        // Moved by an instance that holds one of the two fields.
        let partial = try await laptop.records(for: [note.recordID], desiredKeys: ["secret"])[note.recordID]!.get()
        partial.parent = nil
        try await laptop.save(partial)
        let moved = try await fetched("note", by: phone)
        #expect(moved.encryptedValues["secret"] == "words" && moved.encryptedValues["other"] == 1)
        #expect(try trees(moved) == Array(repeating: keys.tree(root: "note").id, count: 2))
        // A root that goes below another keeps what it has readable.
        shelf.setParent(moved)
        try await phone.save(shelf)
        let below = page("below")
        below.setParent(shelf)
        below.encryptedValues["secret"] = "deep"
        try await phone.save(below)
        #expect(try await fetched("below", by: laptop).encryptedValues["secret"] == "deep")
    }

    @Test("have new keys in a zone that was made anew, and after a reset")
    func newLives() async throws {
        let (phone, _) = try await firstDevice()
        let record = page()
        record.encryptedValues["secret"] = "word"
        try await phone.save(record)
        let first = try #require(phone.core.account.encryptedZones.knownKeys(zone: "Diary")).place
        _ = try await phone.deleteRecordZone(withID: zoneID)
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        let second = page()
        second.encryptedValues["secret"] = "word"
        try await phone.save(second)
        let place = try #require(phone.core.account.encryptedZones.knownKeys(zone: "Diary")).place
        #expect(place != first)

        _ = try await CKContainer(core: phone.core).resetEncryption()
        second.encryptedValues["secret"] = "words"
        let error = await failure { try await phone.save(second) }
        #expect(error?.code == .zoneNotFound && error?.userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool == true)
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        let third = page()
        third.encryptedValues["secret"] = "word"
        try await phone.save(third)
        #expect(try await fetched(by: phone).encryptedValues["secret"] == "word")
        #expect(phone.core.account.encryptedZones.knownKeys(zone: "Diary")?.place != place)
    }

    @Test("are encrypted with another key once a device was removed, which reads what was before at most")
    func removedDevice() async throws {
        let (phone, code) = try await firstDevice()
        let laptop = device("laptop")
        let container = CKContainer(core: laptop.core)
        try await container.useRecoveryCode(code)
        let record = page()
        record.encryptedValues["secret"] = "before"
        try await phone.save(record)
        let devices = try await container.encryptionDevices()
        try await container.removeEncryptionDevice(try #require(devices.first { !$0.isCurrent }))
        let after = page("after")
        after.encryptedValues["secret"] = "after"
        try await laptop.save(after)
        #expect(laptop.core.account.encryptedZones.knownKeys(zone: "Diary")?.newest == 2)
        #expect(try await fetched(by: laptop).encryptedValues["secret"] == "before")
        let seen = try await fetched("after", by: phone)
        #expect(seen.encryptedValues["secret"] == nil && seen.unreadableFields.count == 1)
    }

    @Test("of a zone with one key for all are encrypted in one tree, which is shared as a whole or not at all")
    func perZone() async throws {
        let (phone, code) = try await firstDevice()
        let zone = CKRecordZone(zoneName: "Whole")
        zone.encryptionScope = .perZone
        // A device without keys makes no such zone.
        let tablet = device("tablet")
        #expect(await BrumeKitTests.code { try await tablet.save(zone) } == .accountTemporarilyUnavailable)
        #expect(await BrumeKitTests.code { try await phone.recordZone(for: zone.zoneID) } == .zoneNotFound)
        #expect(try await phone.save(zone).encryptionScope == .perZone)
        #expect(try await phone.save(CKRecordZone(zoneID: zone.zoneID)).encryptionScope == .perZone)
        #expect(try await phone.recordZone(for: zone.zoneID).encryptionScope == .perZone)
        let (root, child) = (page("root", in: zone.zoneID), page("child", in: zone.zoneID))
        child.setParent(root)
        for record in [root, child] { record.encryptedValues["secret"] = "word" }
        _ = try await phone.modifyRecords(saving: [root, child], deleting: [])
        let trees = try [root, child].flatMap {
            try $0.sealedFields.values.map { try ValueHeader(of: $0.bytes).treeID }
        }
        #expect(Set(trees).count == 1)
        try await CKContainer(core: tablet.core).useRecoveryCode(code)
        #expect(try await tablet.record(for: child.recordID).encryptedValues["secret"] == "word")
        let refused = try await phone.modifyRecords(saving: [root, CKShare(rootRecord: root)], deleting: [])
        #expect(refused.saveResults.values.allSatisfy { (try? $0.get()) == nil })
        _ = try await phone.modifyRecords(saving: [CKShare(recordZoneID: zone.zoneID)], deleting: [])
        #expect(try await phone.recordZone(for: zone.zoneID).share != nil)

        // Other places and zones that have keys of records.
        let record = page()
        record.encryptedValues["secret"] = "word"
        try await phone.save(record)
        let again = CKRecordZone(zoneID: zoneID)
        again.encryptionScope = .perZone
        #expect(await BrumeKitTests.code { try await phone.save(again) } == .invalidArguments)
        let standard = CKRecordZone.default()
        standard.encryptionScope = .perZone
        #expect(await BrumeKitTests.code { try await phone.save(standard) } == .invalidArguments)
    }

    @Test("are saved by a device whose account got other keys on another one meanwhile")
    func replacedKeys() async throws {
        let (phone, code) = try await firstDevice()
        let laptop = device("laptop")
        try await CKContainer(core: laptop.core).useRecoveryCode(code)
        for (number, database) in [phone, laptop].enumerated() {
            let record = page("page \(number)")
            record.encryptedValues["secret"] = "word"
            try await database.save(record)
        }
        _ = try await CKContainer(core: phone.core).replaceRecoveryCode()
        let record = page("after")
        record.encryptedValues["secret"] = "word"
        try await laptop.save(record)
        #expect(laptop.core.account.encryptedZones.knownKeys(zone: "Diary")?.newest == 2)
        #expect(try await fetched("after", by: phone).encryptedValues["secret"] == "word")
    }

    @Test("of a zone that another device made anew are read, and not called damaged")
    func zoneMadeAnewElsewhere() async throws {
        let (phone, code) = try await firstDevice()
        let laptop = device("laptop")
        try await CKContainer(core: laptop.core).useRecoveryCode(code)
        let record = page()
        record.encryptedValues["secret"] = "word"
        try await phone.save(record)
        #expect(try await fetched(by: laptop).encryptedValues["secret"] == "word")
        _ = try await phone.deleteRecordZone(withID: zoneID)
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        let second = page()
        second.encryptedValues["secret"] = "other"
        try await phone.save(second)
        #expect(try await fetched(by: laptop).encryptedValues["secret"] == "other")
        // One that goes on in a zone without having heard of it takes the new keys, too.
        _ = try await phone.deleteRecordZone(withID: zoneID)
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        let (third, fourth) = (page("third"), page("fourth"))
        for record in [third, fourth] { record.encryptedValues["secret"] = "more" }
        try await phone.save(third)
        try await laptop.save(fourth)
        for name in ["third", "fourth"] {
            #expect(try await fetched(name, by: phone).encryptedValues["secret"] == "more")
            #expect(try await fetched(name, by: laptop).encryptedValues["secret"] == "more")
        }
    }

    @Test("don't keep a device that was removed from saving what is plain, below another record as well")
    func plainChild() async throws {
        let (phone, code) = try await firstDevice()
        let laptop = device("laptop")
        let container = CKContainer(core: laptop.core)
        try await container.useRecoveryCode(code)
        let root = page("root")
        root.encryptedValues["secret"] = "word"
        try await phone.save(root)
        let devices = try await container.encryptionDevices()
        try await container.removeEncryptionDevice(try #require(devices.first { !$0.isCurrent }))
        let child = page("child")
        child.setParent(root)
        child["title"] = "plain"
        try await phone.save(child)
        #expect(try await fetched("child", by: laptop).parent?.recordID == root.recordID)
    }

    @Test("of a zone with one key for all keep it from being shared record by record after a restart, too")
    func perZoneAfterRestart() async throws {
        let (phone, _) = try await firstDevice()
        let zone = CKRecordZone(zoneName: "Whole")
        zone.encryptionScope = .perZone
        _ = try await phone.save(zone)
        let folder = try phone.core.configuration.resolvedStateFolder()
        let again = device { $0.stateFolder = folder }
        let root = page("root", in: zone.zoneID)
        let refused = try await again.modifyRecords(saving: [root, CKShare(rootRecord: root)], deleting: [])
        #expect(refused.saveResults.values.allSatisfy { (try? $0.get()) == nil })
    }

    @Test("that can't be encrypted fail their record alone, and texts that only look alike are others")
    func single() async throws {
        let (phone, _) = try await firstDevice()
        let record = page()
        record.encryptedValues["secret"] = "e\u{301}"
        try await phone.save(record)
        record.encryptedValues["secret"] = "\u{e9}"
        try await phone.save(record)
        let seen: String? = try await fetched(by: phone).encryptedValues["secret"]
        #expect(seen.map { Array($0.utf8) } == Array("\u{e9}".utf8))
        let (root, other) = (page("root"), page("other"))
        let share = CKShare(rootRecord: root)
        share.encryptedValues["secret"] = "word"
        other.encryptedValues["secret"] = "word"
        let results = try await phone.modifyRecords(saving: [other, share], deleting: [], atomically: false)
        #expect((try? results.saveResults[other.recordID]?.get()) != nil)
        #expect((try? results.saveResults[share.recordID]?.get()) == nil)
    }

    @Test("of many records in the default zone and a custom one are saved in one go by several devices")
    func many() async throws {
        let (phone, code) = try await firstDevice()
        let laptop = device("laptop")
        try await CKContainer(core: laptop.core).useRecoveryCode(code)
        for zone in [zoneID, .default] {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, database) in [phone, laptop, phone, laptop].enumerated() {
                    group.addTask {
                        let records = (0..<50).map { index in
                            let record = page("record \(number) \(index)", in: zone)
                            record.encryptedValues["number"] = index
                            return record
                        }
                        let results = try await database.modifyRecords(saving: records, deleting: [])
                        for result in results.saveResults.values { _ = try result.get() }
                    }
                }
                try await group.waitForAll()
            }
        }
        let query = CKQuery(recordType: "Page", predicate: NSPredicate(value: true))
        for database in [phone, laptop] {
            var count = 0
            var (matches, cursor) = try await database.records(matching: query, inZoneWith: .default)
            while true {
                for (_, result) in matches where try result.get().encryptedValues["number"] is NSNumber { count += 1 }
                guard let next = cursor else { break }
                (matches, cursor) = try await database.records(continuingMatchFrom: next)
            }
            #expect(count == 200)
            var changed = 0
            var token: CKServerChangeToken?
            while true {
                let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
                for result in page.modificationResultsByID.values {
                    if try result.get().record.encryptedValues["number"] is NSNumber { changed += 1 }
                }
                token = page.changeToken
                if !page.moreComing { break }
            }
            #expect(changed == 200)
        }
    }

    @Test("open at once on a device that has looked for keys of the zone before there were any")
    func keysAfterProbe() async throws {
        let (phone, code) = try await firstDevice()
        let laptop = device("laptop")
        try await CKContainer(core: laptop.core).useRecoveryCode(code)
        // It has something to look for: whether there are keys, or the policy for files.
        #expect(try await laptop.reencryptRecords(in: zoneID).count == 0)
        let record = page()
        record.encryptedValues["secret"] = "word"
        try await phone.save(record)
        let seen = try await laptop.record(for: record.recordID)
        #expect(seen.encryptedValues["secret"] == "word" && seen.unreadableFields.isEmpty)
    }

    @Test("are removed with the keys alone, also by nil for the plain field of their name")
    func removalByPlainName() async throws {
        let (phone, code) = try await firstDevice()
        let record = page()
        record.encryptedValues["secret"] = "word"
        try await phone.save(record)
        let tablet = device("tablet")
        let closed = try await tablet.record(for: record.recordID)
        closed["secret"] = nil as String?
        let error = await failure { try await tablet.save(closed) }
        #expect(error?.encryptionProblem == .deviceHasNoKeys)
        #expect(try await phone.record(for: record.recordID).encryptedValues["secret"] == "word")
        try await CKContainer(core: tablet.core).useRecoveryCode(code)
        let open = try await tablet.record(for: record.recordID)
        open["secret"] = nil as String?
        try await tablet.save(open)
        let removed = try await phone.record(for: record.recordID)
        #expect(removed.encryptedValues["secret"] == nil && removed.unreadableFields.isEmpty)
    }
}
