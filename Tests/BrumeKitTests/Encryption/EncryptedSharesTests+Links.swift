import BrumeEncryption
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// Where a share's URL has keys, and what stays closed beside what is open.
extension EncryptedSharesTests {
    private func hasKeys(_ url: URL?) -> Bool { url?.fragment()?.hasPrefix("1.") == true }

    private func share(_ id: CKRecord.ID, on device: CKContainer) async throws -> CKShare {
        try #require(try await device.privateCloudDatabase.record(for: id) as? CKShare)
    }

    @Test("are shared with the list that an account encrypts first, in the request that makes its keys")
    func firstSave() async throws {
        let (ada, bob) = (device(0), device(1))
        let zone = CKRecordZone(zoneName: "Diary")
        try await ada.privateCloudDatabase.save(zone)
        let root = page("secret", in: zone, name: "root")
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readOnly
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
        #expect(hasKeys(share.url))
        let zoneID = try await accept(try #require(share.url), by: bob)
        try await handOutKeys(root.recordID, by: ada)
        #expect(try await text(CKRecord.ID(recordName: "root", zoneID: zoneID), on: bob) == "secret")
    }

    @Test("are handed out by the device that made the share, also after a restart, and by no other one of the owner's")
    func urls() async throws {
        let folder = try TestFolder()
        let phone = device(0) { $0.stateFolder = folder.path }
        let (root, share, url) = try await shared("secret", by: phone)
        let again = device(0) { $0.stateFolder = folder.path }
        let fetched = try await self.share(share.recordID, on: again)
        #expect(fetched.url?.absoluteString == url.absoluteString)
        // Which record a share is of only that device knows: a server could name another one.
        let laptop = device(0)
        try await laptop.useRecoveryCode(try await phone.recoveryCode().text)
        _ = try await laptop.privateCloudDatabase.record(for: root.recordID)
        let other = try await self.share(share.recordID, on: laptop)
        #expect(other.url != nil && !hasKeys(other.url))
        other.publicPermission = .readOnly
        try await laptop.privateCloudDatabase.save(other)
        #expect(!hasKeys(other.url))
        let last = try await self.share(share.recordID, on: again)
        #expect(hasKeys(last.url))
    }

    @Test("have their newest link shown by the device that made the share, also where another one has made it")
    func newestLink() async throws {
        let clock = ManualClientClock()
        let (phone, laptop, bob) = (device(0) { $0.clock = clock }, device(0), device(1))
        let (root, share, url) = try await shared("secret", by: phone)
        try await laptop.useRecoveryCode(try await phone.recoveryCode().text)
        // With the account's former keys go the links that a lost device may know.
        _ = try await laptop.replaceRecoveryCode()
        let seen = try await laptop.privateCloudDatabase.record(for: root.recordID)
        seen.encryptedValues["text"] = "later"
        try await laptop.privateCloudDatabase.save(seen)
        #expect(try await self.share(share.recordID, on: phone).url == url)
        clock.advance(byMilliseconds: 10_000)
        let newest = try #require(try await self.share(share.recordID, on: phone).url)
        #expect(newest != url && hasKeys(newest))
        let id = CKRecord.ID(recordName: "root", zoneID: try await accept(newest, by: bob))
        #expect(try await text(id, on: bob) == "later")
    }

    @Test("take another key when their share is deleted, by the device that made it, and those of zones, too")
    func endedShare() async throws {
        let (ada, bob) = (device(0), device(1))
        let zones = ada.core.account.encryptedZones
        let (root, share, url) = try await shared("secret", by: ada)
        _ = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let ring = ZoneRingID(zone: "Diary", root: "root")
        let before = try #require(zones.knownKeys(ring)).newest
        try await ada.privateCloudDatabase.deleteRecord(withID: share.recordID)
        #expect(zones.knownKeys(ring)?.newest == before + 1)
        #expect(try await text(root.recordID, on: ada, isOwner: true) == "secret")

        let zone = CKRecordZone(zoneName: "Whole")
        try await ada.privateCloudDatabase.save(zone)
        let whole = CKShare(recordZoneID: zone.zoneID)
        whole.publicPermission = .readWrite
        try await ada.privateCloudDatabase.save(whole)
        _ = try await accept(try #require(whole.url), by: bob)
        try await handOutKeys(whole.recordID, by: ada)
        let wholes = ZoneRingID(zone: "Whole")
        let former = try #require(zones.knownKeys(wholes)).newest
        try await ada.privateCloudDatabase.deleteRecord(withID: whole.recordID)
        #expect(zones.knownKeys(wholes)?.newest == former + 1)
    }

    @Test("are taken from whom the app has removed, also where the server still has them in the share")
    func removedByApp() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, share, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        #expect(try await text(id, on: bob) == "secret")
        let users: Set = [try await bob.userRecordID().recordName]
        let database = ada.privateCloudDatabase
        let removed = RemovedParticipants(share: share, departures: Departures(named: users))
        await database.takeKeys(from: [removed], ada.core.account, database.callOptions)
        root.encryptedValues["text"] = "without him"
        try await database.save(root)
        let seen = try await bob.sharedCloudDatabase.record(for: id)
        #expect(seen.unreadableFields == ["text": .keyMissing])
    }

    @Test("have another key for what is saved with the removal of somebody")
    func removalWithRecords() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, share, url) = try await shared("secret", by: ada)
        _ = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let (database, ring) = (ada.privateCloudDatabase, root.recordID.treeRingID)
        let shown = try #require(try await database.record(for: share.recordID) as? CKShare)
        let before = try #require(ada.core.account.encryptedZones.knownKeys(ring)).newest
        shown.removeParticipant(try #require(shown.participants.last))
        root.encryptedValues["text"] = "without him"
        let results = try await database.modifyRecords(saving: [shown, root], deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
        let raw = try await database.fetchRaw(
            ["root"], root.recordID.zoneID, desiredKeys: nil, ada.core.account, database.callOptions)
        #expect(try #require(raw["root"]).valueHeaders.map(\.keyNumber) == [before + 1])
    }

    @Test("are taken from whom the app has removed on a device that did not make the share")
    func removedOnOtherDevice() async throws {
        let (ada, bob, laptop) = (device(0), device(1), device(0))
        let (root, share, url) = try await shared("secret", by: ada)
        try await laptop.useRecoveryCode(try await ada.recoveryCode().text)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        #expect(try await text(id, on: bob) == "secret")
        let users: Set = [try await bob.userRecordID().recordName]
        let database = laptop.privateCloudDatabase
        let seen = try await database.record(for: root.recordID)
        let shown = try #require(try await database.record(for: share.recordID) as? CKShare)
        let removed = RemovedParticipants(share: shown, departures: Departures(named: users))
        await database.takeKeys(from: [removed], laptop.core.account, database.callOptions)
        seen.encryptedValues["text"] = "without him"
        try await database.save(seen)
        let bobs = try await bob.sharedCloudDatabase.record(for: id)
        #expect(bobs.unreadableFields == ["text": .keyMissing])
    }

    @Test("are set by a guest on the shared record itself after the app was started again")
    func rootOfGuest() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        let seen = try await bob.sharedCloudDatabase.record(for: id)
        let folder = try bob.core.configuration.resolvedStateFolder()
        let begun = device(1) { $0.stateFolder = folder }
        // The app has kept the record.
        seen.encryptedValues["text"] = "theirs"
        try await begun.sharedCloudDatabase.save(seen)
        #expect(try await text(root.recordID, on: ada, isOwner: true) == "theirs")
    }

    @Test("are noted with the first look in a key folder that is older than the note")
    func notedLate() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        #expect(try await text(id, on: bob) == "secret")
        let folder = try await bob.core.account.keyFolders.folder(of: bob.core.account).path + "/zones"
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
        try FileManager.default.removeItem(atPath: folder)
        let stateFolder = try bob.core.configuration.resolvedStateFolder()
        let begun = device(1) { $0.stateFolder = stateFolder }
        #expect(try await text(id, on: begun) == "secret")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    }

    @Test("below one root are saved while those below another wait for keys")
    func twoTrees() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let other = page("other", in: CKRecordZone(zoneID: root.recordID.zoneID), name: "other")
        let share = CKShare(rootRecord: other)
        let user = CKUserIdentity.LookupInfo(userRecordID: try await bob.userRecordID())
        let guest = CKShare.Participant(lookupInfo: user)
        guest.permission = .readWrite
        share.addParticipant(guest)
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [other, share], deleting: [])
        _ = try await accept(try #require(share.url), by: bob)
        let ids = ["root", "other"].map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        var records: [CKRecord] = []
        for id in ids { records.append(try await bob.sharedCloudDatabase.record(for: id)) }
        #expect(records[1].unreadableFields == ["text": .keyMissing])
        for record in records { record.encryptedValues["text"] = "changed" }
        let results = try await bob.sharedCloudDatabase.modifyRecords(
            saving: records, deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: false)
        #expect(try results.saveResults[ids[0]]?.get() != nil)
        let refusal = try #require(results.saveResults[ids[1]])
        #expect(throws: CKError.self) { try refusal.get() }
        #expect(try await text(root.recordID, on: ada, isOwner: true) == "changed")
    }

    @Test("are what files are uploaded as, too, where a device of the guest's does not know the zone's keys yet")
    func earlyUploads() async throws {
        let (ada, bob) = (device(0), device(1))
        let (_, _, url) = try await shared("secret", by: ada)
        func isEncrypted(_ device: CKContainer, to zoneID: CKRecordZone.ID) async throws -> Bool {
            let database = device.sharedCloudDatabase
            return try await database.encryptsUpload(to: zoneID, device.core.account, database.callOptions)
        }
        let plain = device(2)
        let zoneID = try await accept(url, by: bob)
        // The ring is known, and leaves the zone's files plain.
        #expect(try await isEncrypted(bob, to: zoneID) == false)
        let unknown = CKRecordZone.ID(zoneName: "Unknown", ownerName: zoneID.ownerName)
        #expect(try await isEncrypted(bob, to: unknown) == true)
        #expect(try await isEncrypted(plain, to: unknown) == false)
        let careful = device(2) { $0.encryptsAssets = true }
        #expect(try await isEncrypted(careful, to: unknown) == true)
        #expect(
            await code {
                try await careful.sharedCloudDatabase.encryptsAssets(in: unknown)
            } == .accountTemporarilyUnavailable)
    }
}
