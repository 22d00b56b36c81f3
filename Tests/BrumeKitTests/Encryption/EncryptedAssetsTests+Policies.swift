import BrumeEncryption
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// Which files are encrypted, and by whom, and what becomes of those that are not.
extension EncryptedAssetsTests {
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

    @Test("are encrypted or not as the app says of a zone, whatever holds for the others", arguments: [false, true])
    func zonePolicy(isEncrypted: Bool) async throws {
        let phone = device(encryptsAssets: !isEncrypted)
        let zone = CKRecordZone(zoneID: zoneID)
        zone.encryptsAssets = isEncrypted
        #expect(try await phone.save(zone).encryptsAssets == isEncrypted)
        #expect(try await phone.recordZone(for: zoneID).encryptsAssets == isEncrypted)
        let record = photo()
        record["photo"] = try file(content(10_000))
        try await phone.save(record)
        #expect(record.sealedFields.keys.contains("photo") == isEncrypted)
        // Another device goes by the zone's keys, also where nothing was said there.
        let laptop = device("laptop", encryptsAssets: !isEncrypted)
        try await letIn(laptop, by: phone)
        let other = photo("other")
        other["photo"] = try file(content(300, 3))
        try await laptop.save(other)
        #expect(other.sealedFields.keys.contains("photo") == isEncrypted)
        #expect(try read(try await fetched("other", by: phone)["photo"]) == content(300, 3))
        let stranger = device("stranger", encryptsAssets: false)
        let seen = try await fetched(by: stranger)
        #expect((seen["photo"] as? CKAsset != nil) == !isEncrypted)
        // What an answer shows is no wish: it needs no keys, and a default zone is saved with it.
        let answer = try await phone.recordZone(for: zoneID)
        #expect(try await stranger.save(answer).encryptsAssets == nil)
        #expect(try archived(answer, as: CKRecordZone.self).encryptsAssets == nil)
        // What was said holds.
        #expect(try await phone.save(CKRecordZone(zoneID: zoneID)).encryptsAssets == isEncrypted)
        zone.encryptsAssets = !isEncrypted
        #expect(await BrumeKitTests.code { try await phone.save(zone) } == .invalidArguments)
        #expect(await BrumeKitTests.code { try await stranger.save(zone) } == .accountTemporarilyUnavailable)
        let standard = CKRecordZone.default()
        standard.encryptsAssets = isEncrypted
        #expect(await BrumeKitTests.code { try await phone.save(standard) } == .invalidArguments)
    }

    @Test("that nobody encrypted, in a zone whose files are, are not taken for the account's")
    func plainInPlace() async throws {
        let (phone, laptop) = try await devices()
        // The zone has no keys yet, or the server would refuse it.
        let planted = photo("planted")
        planted["photo"] = try file(content(300, 3))
        planted["title"] = "Sea"
        try await device("stranger", encryptsAssets: false).save(planted)
        let record = photo()
        record["photo"] = try file(content(10_000))
        record["title"] = "Sea"
        try await phone.save(record)
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

    @Test("are no company for plain ones: the server refuses these of an app that has no keys, but what a record has")
    func plainBeside() async throws {
        let (phone, _) = try await devices()
        let stranger = device("stranger", encryptsAssets: false)
        let before = photo("before")
        before["photo"] = try file(content(300, 3))
        try await stranger.save(before)
        let record = photo()
        record["photo"] = try file(content(10_000))
        try await phone.save(record)
        let (new, list, plain) = (photo("new"), photo("list"), photo("plain"))
        new["photo"] = try file(content(400, 4))
        list["pages"] = [try file(content(500, 5)), try file(content(600, 6))]
        plain["title"] = "Sun"
        let results = try await stranger.modifyRecords(saving: [new, list, plain], deleting: [], atomically: false)
        for record in [new, list] {
            let failure = #expect(throws: CKError.self) { try results.saveResults[record.recordID]?.get() }
            // It is about the record, and not about the account or the way to the server.
            #expect(failure?.code == .accountTemporarilyUnavailable && failure?.encryptionProblem == .fileIsPlain)
            #expect(failure?.saysKeysChanged == false, "what is not encrypted can't be encrypted again")
            #expect(failure?.localizedDescription.contains("encrypted by its owner's devices") == true)
        }
        #expect((try? results.saveResults[plain.recordID]?.get()) != nil)
        // What was there stays, whatever else is saved.
        let kept = try await fetched("before", by: stranger)
        kept["title"] = "Sea"
        try await stranger.save(kept)
        for policy in [CKModifyRecordsOperation.RecordSavePolicy.allKeys, .changedKeys] {
            kept["title"] = "Sky \(policy.rawValue)"
            let results = try await stranger.modifyRecords(saving: [kept], deleting: [], savePolicy: policy)
            #expect(throws: Never.self) { try results.saveResults.values.forEach { _ = try $0.get() } }
        }
        #expect(try read(try await fetched("before", by: stranger)["photo"]) == content(300, 3))
        kept["photo"] = try file(content(700, 7))
        #expect(await BrumeKitTests.code { try await stranger.save(kept) } == .accountTemporarilyUnavailable)
        // With the keys it encrypts them.
        try await letIn(stranger, by: phone)
        try await stranger.save(new)
        #expect(new.sealedFields.keys.sorted() == ["photo"])
        #expect(try read(try await fetched("new", by: phone)["photo"]) == content(400, 4))
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

    @Test("of a shared record are not replaced by the participant's, whose account gets no keys for that")
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
        #expect(
            await BrumeKitTests.code { try await bob.sharedCloudDatabase.save(seen) }
                == .accountTemporarilyUnavailable)
        let other = try await bob.sharedCloudDatabase.record(for: id)
        other["title"] = "Sky"
        try await bob.sharedCloudDatabase.save(other)
        #expect(try await bob.encryptionStatus() == .notSetUp)
        let last = try await encrypting.privateCloudDatabase.record(for: desk.id("a"))
        #expect(try read(last["photo"]) == content(10_000) && last["title"] == "Sky")
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

    @Test("whose zone has no keys here fail by themselves, and not the uploads of other zones")
    func failuresOfOneZone() {
        let ofOne = [
            CKError.notEncrypted(.waitsForOwner, "no keys"), CKError(.incompatibleVersion),
            CKError(.serviceUnavailable),
        ]
        for error in ofOne { #expect(!error.isOfEveryTransfer, "\(error)") }
        for code in [CKError.Code.networkFailure, .networkUnavailable, .notAuthenticated] {
            #expect(CKError(code).isOfEveryTransfer, "\(code)")
        }
    }

    @Test("are no reason to wait longer for a server that can't be reached", arguments: [false, true])
    func unreachable(encryptsAssets: Bool) async throws {
        let phone = device(encryptsAssets: encryptsAssets) {
            // Nobody listens there.
            $0.server = "127.0.0.1:1"
        }
        let record = photo()
        record["photo"] = try file(content(100))
        if encryptsAssets { record.encryptedValues["secret"] = "word" }
        let clock = ContinuousClock()
        let start = clock.now
        let error = await #expect(throws: CKError.self) { try await phone.save(record) }
        #expect(error?.code == .networkUnavailable || error?.code == .networkFailure)
        #expect(clock.now - start < .seconds(30), "it waited \(clock.now - start)")
    }
}
