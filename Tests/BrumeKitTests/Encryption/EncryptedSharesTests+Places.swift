import BrumeEncryption
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// Records that are shown in shared trees, and what bears that out.
extension EncryptedSharesTests {
    /// Ada has shared a root with Bob, and has a private diary with a note below it.
    struct Diary {
        let root: CKRecord
        let diary: CKRecord
        let note: CKRecord
        /// The zone as Bob names it.
        let zoneID: CKRecordZone.ID

        func id(_ name: String, isOwner: Bool = true) -> CKRecord.ID {
            CKRecord.ID(recordName: name, zoneID: isOwner ? root.recordID.zoneID : zoneID)
        }
    }

    func diary(_ ada: CKContainer, _ bob: CKContainer) async throws -> Diary {
        let (root, _, url) = try await shared("shared", by: ada)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let zone = CKRecordZone(zoneID: root.recordID.zoneID)
        let diary = page("diary", in: zone, name: "diary")
        let note = page("note", in: zone, name: "note")
        note.setParent(diary)
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [diary, note], deleting: [])
        return Diary(root: root, diary: diary, note: note, zoneID: zoneID)
    }

    func stamp(_ id: CKRecord.ID, on device: CKContainer) async throws -> [UInt8] {
        let database = device.privateCloudDatabase
        let records = try await database.fetchRaw(
            [id.recordName], id.zoneID, desiredKeys: [], device.core.account, database.callOptions)
        return try #require(records[id.recordName]).system.stamp
    }

    func move(_ record: CKRecord, below parent: CKRecord, on device: CKContainer) async throws {
        record.setParent(parent)
        try await device.privateCloudDatabase.save(record)
    }

    @Test("are not encrypted for guests because a server shows what is above a private record in their tree")
    func falseParent() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let zones = ada.core.account.encryptedZones
        let ring = diary.root.recordID.zoneID.ringID
        zones.updateTrees(ring) { $0.learn("diary", parent: "root") }
        diary.note.encryptedValues["text"] = "secret"
        #expect(
            await code { try await ada.privateCloudDatabase.save(diary.note) } == .accountTemporarilyUnavailable)
        #expect(try await text(diary.note.recordID, on: ada, isOwner: true) == "note")
        // What is new below it has nothing that says otherwise, and what is in the tree is not concerned.
        diary.root.encryptedValues["text"] = "more"
        try await ada.privateCloudDatabase.save(diary.root)
        // The truth.
        _ = try await ada.privateCloudDatabase.record(for: diary.diary.recordID)
        try await ada.privateCloudDatabase.save(diary.note)
        let key = try #require(zones.knownKeys(ring))
        let sealed = try #require(diary.note.sealedFields["text"])
        #expect(!key.ciphers(try .init(of: sealed.bytes)).isEmpty)
    }

    @Test("are not encrypted for guests in a record of which an app has kept the system fields alone")
    func falseParentOfArchive() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let zones = ada.core.account.encryptedZones
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        diary.note.encodeSystemFields(with: coder)
        let archive = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        let note = try #require(CKRecord(coder: archive))
        note.encryptedValues["text"] = "secret"
        zones.updateTrees(diary.root.recordID.zoneID.ringID) { $0.learn("diary", parent: "root") }
        #expect(await code { try await ada.privateCloudDatabase.save(note) } == .accountTemporarilyUnavailable)
        _ = try await ada.privateCloudDatabase.record(for: diary.diary.recordID)
        try await ada.privateCloudDatabase.save(note)
        // Once it has moved, what was kept of its former place is void.
        note.setParent(diary.root)
        try await ada.privateCloudDatabase.save(note)
        note.encryptedValues["text"] = "ours"
        try await ada.privateCloudDatabase.save(note)
        #expect(try await text(diary.id("note", isOwner: false), on: bob) == "ours")
    }

    @Test("stay as they are in a record that moves below one whose place nothing bears out, until that is set again")
    func unprovedMove() async throws {
        let (ada, bob) = (device(0), device(1))
        let zone = CKRecordZone(zoneName: "Diary")
        let database = ada.privateCloudDatabase
        try await database.save(zone)
        // The zone has no keys yet.
        let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "folder", zoneID: zone.zoneID))
        folder.parent = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "root", zoneID: zone.zoneID), action: .none)
        let plain = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "root", zoneID: zone.zoneID))
        _ = try await database.modifyRecords(saving: [plain, folder], deleting: [])
        let note = page("note", in: zone, name: "note")
        try await database.save(note)
        let root = try await database.record(for: plain.recordID)
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readOnly
        _ = try await database.modifyRecords(saving: [root, share], deleting: [])
        let zoneID = try await accept(try #require(share.url), by: bob)
        try await handOutKeys(root.recordID, by: ada)
        note.setParent(folder)
        try await database.save(note)
        let id = CKRecord.ID(recordName: "note", zoneID: zoneID)
        #expect(try await text(id, on: bob) == nil)
        note.encryptedValues["text"] = "ours"
        let error = await #expect(throws: CKError.self) { try await database.save(note) }
        #expect(error?.code == .accountTemporarilyUnavailable && error?.localizedDescription.contains("folder") == true)
        let again = try await database.record(for: folder.recordID)
        again.parent = again.parent
        try await database.save(again)
        try await database.save(note)
        #expect(try await text(id, on: bob) == "ours")
    }

    @Test("are encrypted for guests in records that were plain, and below others, before the zone had keys")
    func latePlainTree() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let zone = CKRecordZone(zoneName: "Diary")
        let database = ada.privateCloudDatabase
        try await database.save(zone)
        let records = ["board", "list", "card"].map {
            CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: $0, zoneID: zone.zoneID))
        }
        for (child, parent) in zip(records.dropFirst(), records) { child.setParent(parent) }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        let card = records[2]
        card.encryptedValues["text"] = "card"
        try await database.save(card)
        let share = CKShare(rootRecord: records[1])
        share.publicPermission = .readWrite
        _ = try await database.modifyRecords(saving: [records[1], share], deleting: [])
        let zoneID = try await accept(try #require(share.url), by: bob)
        try await handOutKeys(records[1].recordID, by: ada)
        // What is of a tree that a guest's device does not know says nothing there.
        let closed = try await bob.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "card", zoneID: zoneID))
        #expect(closed.unreadableFields == ["text": .keyMissing])
        closed.encryptedValues["title"] = "theirs"
        try await bob.sharedCloudDatabase.save(closed)
        let id = CKRecord.ID(recordName: "card", zoneID: zoneID)
        let whole = try await database.record(for: card.recordID)
        whole.encryptedValues["text"] = "ours"
        try await database.save(whole)
        #expect(try await text(id, on: bob) == "ours")
    }

    @Test("are encrypted for guests below a record that a device with the keys has put into their tree")
    func movedAbove() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        try await move(diary.diary, below: diary.root, on: ada)
        diary.note.encryptedValues["text"] = "ours"
        try await ada.privateCloudDatabase.save(diary.note)
        for name in ["diary", "note"] {
            let expected = name == "note" ? "ours" : name
            #expect(try await text(diary.id(name, isOwner: false), on: bob) == expected)
        }
    }

    @Test("keep the key of another tree in a record that moves with another policy, and are set in its new one")
    func movedByPolicy() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        diary.diary.setParent(diary.root)
        let database = ada.privateCloudDatabase
        _ = try await database.modifyRecords(
            saving: [diary.diary], deleting: [], savePolicy: .changedKeys, atomically: true)
        let id = diary.id("diary", isOwner: false)
        #expect(try await text(id, on: bob) == nil)
        diary.diary.encryptedValues["title"] = "ours"
        try await database.save(diary.diary)
        let seen = try await bob.sharedCloudDatabase.record(for: id)
        #expect(seen.encryptedValues["title"] == "ours" && seen.unreadableFields["text"] == .keyMissing)
        #expect(try await text(diary.diary.recordID, on: ada, isOwner: true) == "diary")
    }

    @Test("wait for the parent to be set again where a device without the keys has set it")
    func unstamped() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let web = device(0)
        let seen = try await web.privateCloudDatabase.record(for: diary.diary.recordID)
        try await move(seen, below: diary.root, on: web)
        #expect(try await stamp(diary.diary.recordID, on: ada).isEmpty)
        _ = try await ada.privateCloudDatabase.record(for: diary.diary.recordID)
        diary.note.encryptedValues["text"] = "ours"
        #expect(
            await code { try await ada.privateCloudDatabase.save(diary.note) } == .accountTemporarilyUnavailable)
        let moved = try await ada.privateCloudDatabase.record(for: diary.diary.recordID)
        try await move(moved, below: diary.root, on: ada)
        #expect(try await !stamp(diary.diary.recordID, on: ada).isEmpty)
        try await ada.privateCloudDatabase.save(diary.note)
        #expect(try await text(diary.id("note", isOwner: false), on: bob) == "ours")
    }

    @Test("are not encrypted in one share for what was encrypted in another, by a guest of both")
    func guestOfTwo() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let other = page("other", in: CKRecordZone(zoneID: diary.root.recordID.zoneID), name: "other")
        let share = CKShare(rootRecord: other)
        share.publicPermission = .readWrite
        let (folder, item) = (
            page("folder", in: CKRecordZone(zoneID: diary.root.recordID.zoneID), name: "folder"),
            page("item", in: CKRecordZone(zoneID: diary.root.recordID.zoneID), name: "item")
        )
        folder.setParent(diary.root)
        item.setParent(folder)
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [other, share, folder, item], deleting: [])
        _ = try await accept(try #require(share.url), by: bob)
        try await handOutKeys(other.recordID, by: ada)
        for name in ["other", "folder"] { #expect(try await text(diary.id(name, isOwner: false), on: bob) == name) }
        let seen = try await bob.sharedCloudDatabase.record(for: diary.id("item", isOwner: false))
        bob.core.account.encryptedZones.updateTrees(diary.zoneID.ringID) { $0.learn("folder", parent: "other") }
        seen.encryptedValues["text"] = "secret"
        #expect(await code { try await bob.sharedCloudDatabase.save(seen) } == .accountTemporarilyUnavailable)
        _ = try await bob.sharedCloudDatabase.record(for: diary.id("folder", isOwner: false))
        try await bob.sharedCloudDatabase.save(seen)
        #expect(try await text(item.recordID, on: ada, isOwner: true) == "secret")
    }

    @Test("of a tree are saved with no key of the zone's that a former guest has, once it is shared no more")
    func unshared() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, share, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        #expect(try await text(id, on: bob) == "secret")
        try await ada.privateCloudDatabase.deleteRecord(withID: share.recordID)
        // It learns that the root is shared no more.
        _ = try await ada.privateCloudDatabase.record(for: root.recordID)
        let laptop = device(0)
        try await laptop.useRecoveryCode(try await ada.recoveryCode().text)
        // Whatever the server still shows him.
        let bobs = try #require(
            bob.core.account.encryptedZones.knownKeys(
                ZoneRingID(owner: zoneID.ownerName, zone: zoneID.zoneName, root: "root")))
        let before = try ValueHeader(of: try #require(root.sealedFields["text"]).bytes)
        #expect(bobs.ciphers(before).count == 1)
        // One device knows the tree's ring, and goes on with it; the other one takes the zone's key.
        for (owner, kind) in [(ada, Tree.Kind.isShared), (laptop, .isPrivate)] {
            // Without a fetch, which would have it look for the ring.
            let own = CKRecord(recordType: "Page", recordID: root.recordID)
            own.encryptedValues["text"] = "private"
            _ = try await owner.privateCloudDatabase.modifyRecords(
                saving: [own], deleting: [], savePolicy: .changedKeys, atomically: true)
            let header = try ValueHeader(of: try #require(own.sealedFields["text"]).bytes)
            #expect(header.kind == kind && bobs.ciphers(header).isEmpty)
            #expect(try await text(root.recordID, on: ada, isOwner: true) == "private")
        }
    }

    @Test("are not encrypted for guests in a record that moves below a private one which a server shows in their tree")
    func falseMove() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let database = ada.privateCloudDatabase
        let other = page("other", in: CKRecordZone(zoneID: diary.root.recordID.zoneID), name: "other")
        try await database.save(other)
        // The app has the record without its fields.
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        other.encodeSystemFields(with: coder)
        let fetched = try #require(
            try await database.records(for: [other.recordID], desiredKeys: [])[other.recordID]?.get())
        let zones = ada.core.account.encryptedZones
        zones.updateTrees(diary.root.recordID.zoneID.ringID) { $0.learn("diary", parent: "root") }
        fetched.setParent(diary.diary)
        try await database.save(fetched)
        let keys = try #require(zones.knownKeys(ZoneRingID(zone: "Diary", root: "root")))
        let raw = try await database.fetchRaw(
            ["other"], diary.root.recordID.zoneID, desiredKeys: nil, ada.core.account, database.callOptions)
        guard case .encrypted(let value)? = raw["other"]?.fields["text"] else {
            Issue.record("the value is gone")
            return
        }
        #expect(keys.ciphers(try ValueHeader(of: value.bytes)).isEmpty)
    }

    @Test(
        "are encrypted anew in a move as the app has seen them, and not as an older value that a server shows by then")
    func olderValueInMove() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let database = ada.privateCloudDatabase
        let account = ada.core.account
        let old = try await database.fetchRaw(
            ["diary"], diary.root.recordID.zoneID, desiredKeys: nil, account, database.callOptions)
        diary.diary.encryptedValues["text"] = "newer"
        try await database.save(diary.diary)
        var record = try #require(old["diary"])
        record.system.changeTag = try #require(diary.diary.recordChangeTag)
        diary.diary.setParent(diary.root)
        let part = try #require(
            try database.modification(
                saving: [diary.diary], deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: true
            ).parts.first)
        var sealer = RecordSealer()
        sealer.setKeys(
            try #require(account.encryptedZones.knownKeys(ZoneRingID(zone: "Diary", root: "root"))), root: "root")
        let moved = try await database.valuesToMove(
            part.zones[0], [0], ["diary": record], ["diary": "root"], sealer, account, database.callOptions)
        #expect(moved.values["diary"]?["text"] == .string("newer"))
    }

    @Test("are borne out by the stamp of a parent that is set after a restart, before anything was encrypted")
    func stampAfterRestart() async throws {
        let folder = try TestFolder()
        let first = device(0) { $0.stateFolder = folder.path }
        let (root, _, _) = try await shared("secret", by: first)
        let again = device(0) { $0.stateFolder = folder.path }
        let plain = CKRecord(
            recordType: "Folder", recordID: CKRecord.ID(recordName: "plain", zoneID: root.recordID.zoneID))
        plain.setParent(root)
        try await again.privateCloudDatabase.save(plain)
        #expect(try await !stamp(plain.recordID, on: again).isEmpty)
        // A device without the keys sets a parent as well.
        let web = device(0)
        let other = CKRecord(
            recordType: "Folder", recordID: CKRecord.ID(recordName: "other", zoneID: root.recordID.zoneID))
        other.setParent(root)
        try await web.privateCloudDatabase.save(other)
        #expect(try await stamp(other.recordID, on: web).isEmpty)
        withExtendedLifetime(folder) {}
    }

    @Test(
        "are not encrypted for others by a guest of both shares whose app begins anew, where the server shows one in the other",
        arguments: [false, true])
    func guestOfTwo(isNew: Bool) async throws {
        let (ada, bob, eve) = (device(0), device(1), device(2))
        let diary = try await diary(ada, bob)
        let other = page("other", in: diary.zone, name: "other")
        let share = CKShare(rootRecord: other)
        share.publicPermission = .readWrite
        let (folder, item) = (
            page("folder", in: diary.zone, name: "folder"), page("item", in: diary.zone, name: "item")
        )
        folder.setParent(diary.root)
        item.setParent(folder)
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [other, share, folder, item], deleting: [])
        for guest in [bob, eve] {
            _ = try await accept(try #require(share.url), by: guest)
            try await handOutKeys(other.recordID, by: ada)
        }
        for name in ["other", "folder", "item"] {
            #expect(try await text(diary.id(name, isOwner: false), on: bob) == name)
        }
        let web = device(0)
        let stray = try await web.privateCloudDatabase.record(for: folder.recordID)
        try await move(stray, below: other, on: web)
        let folderOfBob = try bob.core.configuration.resolvedStateFolder()
        let begun = device(1) { $0.stateFolder = folderOfBob }
        let shown = try await begun.sharedCloudDatabase.record(for: diary.id("folder", isOwner: false))
        var saved = try await begun.sharedCloudDatabase.record(for: diary.id("item", isOwner: false))
        if isNew {
            saved = CKRecord(recordType: "Page", recordID: diary.id("new", isOwner: false))
            saved.setParent(shown)
        }
        saved.encryptedValues["text"] = "secret"
        let error = await failure { try await begun.sharedCloudDatabase.save(saved) }
        #expect(error?.encryptionProblem == .placeIsUnproven)
        #expect((try? await text(diary.id(saved.recordID.recordName, isOwner: false), on: eve)) != "secret")
    }
}
