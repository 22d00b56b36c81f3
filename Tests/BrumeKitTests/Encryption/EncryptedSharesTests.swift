import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// Ada shares what is encrypted with Bob, by a link.
@Suite("Encrypted values of shares", .timeLimit(.minutes(1)))
struct EncryptedSharesTests {
    let server: RunningServer
    let tokens: [String]

    init() throws {
        server = try RunningServer()
        let server = server
        tokens = try ["ada", "bob", "eve"].map { try server.addAccount($0) }
    }

    func device(_ account: Int, _ configure: (inout BrumeConfiguration) -> Void = { _ in }) -> CKContainer {
        server.device(token: tokens[account], configure: configure)
    }

    func page(_ text: String, in zone: CKRecordZone, name: String? = nil) -> CKRecord {
        let id = name.map { CKRecord.ID(recordName: $0, zoneID: zone.zoneID) }
        let record = CKRecord(recordType: "Page", recordID: id ?? CKRecord.ID(zoneID: zone.zoneID))
        record.encryptedValues["text"] = text
        return record
    }

    /// A record with an encrypted text, shared with whoever has the link.
    ///
    /// - Parameter guest: Who is invited, if they alone are: then the link does not open the keys by itself.
    func shared(
        _ text: String, by device: CKContainer, permission: CKShare.ParticipantPermission = .readWrite,
        with guest: CKContainer? = nil
    ) async throws -> (root: CKRecord, share: CKShare, url: URL) {
        let zone = CKRecordZone(zoneName: "Diary")
        let database = device.privateCloudDatabase
        try await database.save(zone)
        let root = try await database.save(page(text, in: zone, name: "root"))
        let share = CKShare(rootRecord: root)
        if let guest {
            let user = CKUserIdentity.LookupInfo(userRecordID: try await guest.userRecordID())
            let participant = CKShare.Participant(lookupInfo: user)
            participant.permission = permission
            share.addParticipant(participant)
        } else {
            share.publicPermission = permission
        }
        _ = try await database.modifyRecords(saving: [root, share], deleting: [])
        return (root, share, try #require(share.url))
    }

    func accept(_ url: URL, by device: CKContainer) async throws -> CKRecordZone.ID {
        let metadata = try await device.shareMetadata(for: url)
        return try await device.accept(metadata).recordID.zoneID
    }

    /// Fetches a record, which has the owner's device hand keys to those who wait.
    func handOutKeys(_ id: CKRecord.ID, by device: CKContainer) async throws {
        _ = try await device.privateCloudDatabase.record(for: id)
    }

    func text(_ id: CKRecord.ID, on device: CKContainer, isOwner: Bool = false) async throws -> String? {
        let database = isOwner ? device.privateCloudDatabase : device.sharedCloudDatabase
        return try await database.record(for: id).encryptedValues["text"]
    }

    @Test("are read and written by whoever came by the link, once a device of the owner's has taken them in")
    func shareOfRecord() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        #expect(url.fragment()?.hasPrefix("1.") == true)
        let zoneID = try await accept(url, by: bob)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        try await handOutKeys(root.recordID, by: ada)
        let seen = try await bob.sharedCloudDatabase.record(for: id)
        #expect(seen.encryptedValues["text"] == "secret")
        seen.encryptedValues["text"] = "ours"
        let child = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "child", zoneID: zoneID))
        child.encryptedValues["text"] = "below"
        child.setParent(seen)
        _ = try await bob.sharedCloudDatabase.modifyRecords(saving: [seen, child], deleting: [])
        #expect(try await text(root.recordID, on: ada, isOwner: true) == "ours")
        let below = CKRecord.ID(recordName: "child", zoneID: root.recordID.zoneID)
        #expect(try await text(below, on: ada, isOwner: true) == "below")
    }

    @Test("of a whole zone are read and written by its participants")
    func shareOfZone() async throws {
        let (ada, bob) = (device(0), device(1))
        let zone = CKRecordZone(zoneName: "Diary")
        try await ada.privateCloudDatabase.save(zone)
        let first = try await ada.privateCloudDatabase.save(page("secret", in: zone, name: "first"))
        let share = CKShare(recordZoneID: zone.zoneID)
        share.publicPermission = .readWrite
        try await ada.privateCloudDatabase.save(share)
        let zoneID = try await accept(try #require(share.url), by: bob)
        try await handOutKeys(share.recordID, by: ada)
        let id = CKRecord.ID(recordName: "first", zoneID: zoneID)
        #expect(try await text(id, on: bob) == "secret")
        let second = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "second", zoneID: zoneID))
        second.encryptedValues["text"] = "ours"
        try await bob.sharedCloudDatabase.save(second)
        let ours = CKRecord.ID(recordName: "second", zoneID: first.recordID.zoneID)
        #expect(try await text(ours, on: ada, isOwner: true) == "ours")
    }

    @Test("reach a guest with the zone's changes, as soon as a device of the owner's has fetched its own")
    func changes() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada, with: bob)
        let before = try await ada.privateCloudDatabase.recordZoneChanges(
            inZoneWith: root.recordID.zoneID, since: nil
        ).changeToken
        let zoneID = try await accept(url, by: bob)
        let waiting = try await bob.sharedCloudDatabase.recordZoneChanges(inZoneWith: zoneID, since: nil)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        let closed = try #require(try waiting.modificationResultsByID[id]?.get().record)
        #expect(closed.unreadableFields == ["text": .keyMissing] && closed.encryptedValues["text"] == nil as String?)
        closed.encryptedValues["text"] = "mine"
        #expect(
            await code { try await bob.sharedCloudDatabase.save(closed) } == .accountTemporarilyUnavailable)

        _ = try await ada.privateCloudDatabase.recordZoneChanges(inZoneWith: root.recordID.zoneID, since: before)
        let after = try await bob.sharedCloudDatabase.recordZoneChanges(
            inZoneWith: zoneID, since: waiting.changeToken)
        let open = try #require(try after.modificationResultsByID[id]?.get().record)
        #expect(open.encryptedValues["text"] == "secret" && open.unreadableFields.isEmpty)
    }

    @Test("are read at once by whoever came by the link of a share for everybody, and written once they are taken in")
    func openLink() async throws {
        let folder = try TestFolder()
        let (ada, bob) = (device(0), device(1) { $0.stateFolder = folder.path })
        let (root, share, url) = try await shared("secret", by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: try await accept(url, by: bob))
        let again = device(1) { $0.stateFolder = folder.path }
        for guest in [bob, again] { #expect(try await text(id, on: guest) == "secret") }
        let seen = try await again.sharedCloudDatabase.record(for: id)
        seen.encryptedValues["text"] = "ours"
        #expect(await code { try await again.sharedCloudDatabase.save(seen) } == .accountTemporarilyUnavailable)
        try await handOutKeys(root.recordID, by: ada)
        try await again.sharedCloudDatabase.save(seen)
        #expect(try await text(root.recordID, on: ada, isOwner: true) == "ours")
        // For those alone who are invited there is another one, which opens nothing.
        let fetched = try #require(try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        fetched.publicPermission = .none
        try await ada.privateCloudDatabase.save(fetched)
        #expect(fetched.url != url && fetched.url?.fragment()?.hasPrefix("1.") == true)
    }

    @Test("that are saved after a guest was removed open for those who stay alone")
    func removal() async throws {
        let (ada, bob, eve) = (device(0), device(1), device(2))
        let (root, share, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(url, by: bob)
        _ = try await accept(url, by: eve)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        for guest in [bob, eve] { #expect(try await text(id, on: guest) == "secret") }
        let bobs = try await bob.userRecordID().recordName
        let fetched = try #require(try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        let participant = fetched.participants.first { $0.userIdentity.userRecordID?.recordName == bobs }
        fetched.removeParticipant(try #require(participant))
        let own = ZoneRingID(zone: zoneID.zoneName, root: "root")
        let before = try #require(ada.core.account.encryptedZones.knownKeys(own)).newest
        try await ada.privateCloudDatabase.save(fetched)
        // The owner's device does not wait for the server to say that somebody is out.
        #expect(ada.core.account.encryptedZones.knownKeys(own)?.newest == before + 1)
        // Eve's save is the first behind that, and makes the new key.
        let seen = try await eve.sharedCloudDatabase.record(for: id)
        seen.encryptedValues["text"] = "without him"
        try await eve.sharedCloudDatabase.save(seen)
        #expect(try await text(root.recordID, on: ada, isOwner: true) == "without him")
        #expect(await code { try await bob.sharedCloudDatabase.record(for: id) } != nil)
        let ring = ZoneRingID(owner: zoneID.ownerName, zone: zoneID.zoneName, root: "root")
        let eves = try #require(eve.core.account.encryptedZones.knownKeys(ring))
        let bobsKeys = try #require(bob.core.account.encryptedZones.knownKeys(ring))
        #expect(eves.newest == bobsKeys.newest + 1)
        let shown = try #require(try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        #expect(shown.url?.fragment() != share.url?.fragment())
    }

    @Test("stay closed for a guest without the link's keys, who gets them by opening the whole link")
    func withoutKeys() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
        parts.fragment = nil
        let zoneID = try await accept(try #require(parts.url), by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        #expect(try await text(id, on: bob) == nil)
        _ = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        #expect(try await text(id, on: bob) == "secret")
    }

    @Test("are read and written by a guest's other device, and after a restart of all")
    func otherDevices() async throws {
        let folders = try [TestFolder(), TestFolder()]
        let devices = folders.indices.map { account in
            device(account) { $0.stateFolder = folders[account].path }
        }
        let (root, _, url) = try await shared("secret", by: devices[0])
        let zoneID = try await accept(url, by: devices[1])
        try await handOutKeys(root.recordID, by: devices[0])
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        let tablet = device(1)
        try await tablet.useRecoveryCode(try await devices[1].recoveryCode().text)
        let again = folders.indices.map { account in
            device(account) { $0.stateFolder = folders[account].path }
        }
        for guest in [tablet, again[1]] {
            let seen = try await guest.sharedCloudDatabase.record(for: id)
            let text: String? = seen.encryptedValues["text"]
            seen.encryptedValues["text"] = (text ?? "nothing") + "!"
            try await guest.sharedCloudDatabase.save(seen)
        }
        #expect(try await self.text(root.recordID, on: again[0], isOwner: true) == "secret!!")
        withExtendedLifetime(folders) {}
    }

    @Test("go on where the owner's or a guest's device is removed")
    func removedDevices() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        for (owner, container) in [(false, bob), (true, ada)] {
            _ = try await container.replaceRecoveryCode()
            let seen =
                owner
                ? try await ada.privateCloudDatabase.record(for: root.recordID)
                : try await bob.sharedCloudDatabase.record(for: id)
            seen.encryptedValues["text"] = owner ? "hers" : "his"
            try await (owner ? ada.privateCloudDatabase : bob.sharedCloudDatabase).save(seen)
            #expect(try await text(id, on: bob) == (owner ? "hers" : "his"))
            #expect(try await text(root.recordID, on: ada, isOwner: true) == (owner ? "hers" : "his"))
        }
    }

    @Test("in records that leave a shared tree stay open for the owner, and are gone for guests")
    func leaving() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let database = ada.privateCloudDatabase
        func below(_ parent: CKRecord, _ name: String) -> CKRecord {
            let record = CKRecord(
                recordType: "Page", recordID: CKRecord.ID(recordName: name, zoneID: root.recordID.zoneID))
            record.encryptedValues["text"] = name
            record.setParent(parent)
            return record
        }
        let item = below(root, "item")
        let deep = below(item, "deep")
        _ = try await database.modifyRecords(saving: [item, deep], deleting: [])
        let ring = ZoneRingID(zone: "Diary", root: "root")
        let id = CKRecord.ID(recordName: "deep", zoneID: zoneID)
        #expect(try await text(id, on: bob) == "deep")
        let other = CKRecord(
            recordType: "Page", recordID: CKRecord.ID(recordName: "other", zoneID: root.recordID.zoneID))
        try await database.save(other)
        item.setParent(other)
        try await database.save(item)
        #expect(ada.core.account.encryptedZones.knownKeys(ring) != nil)
        for name in ["item", "deep"] {
            let id = CKRecord.ID(recordName: name, zoneID: root.recordID.zoneID)
            #expect(try await text(id, on: ada, isOwner: true) == name)
        }
        #expect(await code { try await bob.sharedCloudDatabase.record(for: id) } == .unknownItem)
    }

    @Test("of an app that encrypts nothing are none: its shares have plain URLs, and no ring")
    func plainShare() async throws {
        let (ada, bob) = (device(0), device(1))
        let zone = CKRecordZone(zoneName: "Diary")
        try await ada.privateCloudDatabase.save(zone)
        let root = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "root", zoneID: zone.zoneID))
        root["title"] = "plain"
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
        #expect(share.url?.fragment() == nil)
        let zoneID = try await accept(try #require(share.url), by: bob)
        let seen = try await bob.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "root", zoneID: zoneID))
        seen["title"] = "changed"
        try await bob.sharedCloudDatabase.save(seen)
        for device in [ada, bob] { #expect(try await device.encryptionStatus() == .notSetUp) }
    }

    @Test("and files are shared in zones whose files are encrypted")
    func files() async throws {
        let (ada, bob) = (device(0) { $0.encryptsAssets = true }, device(1))
        let folder = try TestFolder()
        let (root, _, url) = try await shared("secret", by: ada)
        root["photo"] = CKAsset(fileURL: URL(fileURLWithPath: try folder.write("photo", "a photo")))
        try await ada.privateCloudDatabase.save(root)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let seen = try await bob.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "root", zoneID: zoneID))
        let photo = try #require(seen["photo"] as? CKAsset)
        #expect(try Data(contentsOf: try #require(photo.fileURL)) == Data("a photo".utf8))
        seen["photo"] = CKAsset(fileURL: URL(fileURLWithPath: try folder.write("other", "another one")))
        try await bob.sharedCloudDatabase.save(seen)
        let fetched = try await ada.privateCloudDatabase.record(for: root.recordID)
        let other = try #require(fetched["photo"] as? CKAsset)
        #expect(fetched.unreadableFields.isEmpty)
        #expect(try Data(contentsOf: try #require(other.fileURL)) == Data("another one".utf8))
    }
}
