import BrumeEncryption
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// What is encrypted below records that move into another tree.
extension EncryptedSharesTests {
    private static let zone = ZoneRingID(zone: "Diary")

    /// Has a device encrypt nothing anew by itself, from the start of a test on: sharing something has it look.
    func holdReencryption(on device: CKContainer) {
        #expect(device.core.account.encryptedZones.withMovedZones { $0.begin(Self.zone) })
    }

    /// A list below a record, and a card below that.
    private func cards(
        below parent: CKRecord, on device: CKContainer, count: Int = 1, text: String = "card"
    ) async throws -> (list: CKRecord, cards: [CKRecord]) {
        let zone = CKRecordZone(zoneID: parent.recordID.zoneID)
        let list = page("list", in: zone, name: "list")
        list.setParent(parent)
        let cards = (0..<count).map { page(text, in: zone, name: "card\($0)") }
        for card in cards { card.setParent(list) }
        let database = device.privateCloudDatabase
        try await database.save(list)
        for part in stride(from: 0, to: count, by: 200) {
            let records = Array(cards[part..<min(part + 200, count)])
            let results = try await database.modifyRecords(saving: records, deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
        }
        return (list, cards)
    }

    /// The trees of a record's values on the server.
    private func trees(of id: CKRecord.ID, on device: CKContainer) async throws -> Set<[UInt8]> {
        let database = device.privateCloudDatabase
        let records = try await database.fetchRaw(
            [id.recordName], id.zoneID, desiredKeys: nil, device.core.account, database.callOptions)
        return Set(try #require(records[id.recordName]).valueHeaders.map(\.treeID))
    }

    private func tree(_ root: String, on device: CKContainer) throws -> Set<[UInt8]> {
        let place = try #require(device.core.account.encryptedZones.knownKeys(Self.zone)).place
        return [Tree(place: place, root: root, kind: .isPrivate).id]
    }

    private func note(on device: CKContainer) async throws -> Bool {
        try await device.core.account.keyFolders.folder(of: device.core.account).hasMoves("Diary")
    }

    /// The parents of the records that a device has noted to have moved.
    private func noted(on device: CKContainer) async throws -> [String: String] {
        let folder = try await device.core.account.keyFolders.folder(of: device.core.account)
        guard case .done(let noted) = try folder.loadMoves("Diary") else { throw Steps.Broken() }
        return noted.moved.mapValues(\.parent)
    }

    @Test("are read below what has left a share on a device of the owner's that never saw the share")
    func leftTree() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.root, on: ada)
        try await move(list, below: diary.diary, on: ada)
        let laptop = device(0)
        try await laptop.useRecoveryCode(try await ada.recoveryCode().text)
        #expect(try await text(cards[0].recordID, on: laptop, isOwner: true) == "card")
        #expect(laptop.core.account.encryptedZones.knownRoots(Self.zone) == ["root"])
    }

    @Test("are encrypted anew for guests below what moves into a share, behind the save and by the app")
    func movesIn() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.diary, on: ada)
        let stamp = try await stamp(cards[0].recordID, on: ada)
        try await move(list, below: diary.root, on: ada)
        // Whoever is first.
        #expect(try await ada.privateCloudDatabase.reencryptRecords(in: list.recordID.zoneID).failures.isEmpty)
        #expect(try await text(diary.id("card0", isOwner: false), on: bob) == "card")
        #expect(try await trees(of: cards[0].recordID, on: ada) == tree("root", on: ada))
        // What guests could not have made stays, and bears out what is below it.
        let after = try await self.stamp(cards[0].recordID, on: ada)
        #expect(!stamp.isEmpty && after == stamp)
        let again = try await ada.privateCloudDatabase.reencryptRecords(in: list.recordID.zoneID)
        #expect(again.count == 0 && again.failures.isEmpty)
        // The app's own instances are older versions of the same content.
        cards[0].encryptedValues["text"] = "more"
        cards[0]["plain"] = "word"
        try await ada.privateCloudDatabase.save(cards[0])
        let seen = try await bob.sharedCloudDatabase.record(for: diary.id("card0", isOwner: false))
        #expect(seen.encryptedValues["text"] == "more" && seen["plain"] == "word")
    }

    @Test("are encrypted anew without an app that asks for it, and nothing stays noted")
    func background() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let (list, _) = try await cards(below: diary.diary, on: ada)
        // What the share had it look for.
        try await until { try await !note(on: ada) }
        try await move(list, below: diary.root, on: ada)
        try await until { try await text(diary.id("card0", isOwner: false), on: bob) == "card" }
        try await until { try await !note(on: ada) }
    }

    @Test("are encrypted anew after a restart where a device has ended meanwhile")
    func restart() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let folder = try ada.core.configuration.resolvedStateFolder()
        let diary = try await diary(ada, bob)
        let (list, _) = try await cards(below: diary.diary, on: ada)
        try await move(list, below: diary.root, on: ada)
        #expect(try await note(on: ada))
        #expect(try await text(diary.id("card0", isOwner: false), on: bob) == nil)
        let restarted = device(0) { $0.stateFolder = folder }
        _ = try await restarted.privateCloudDatabase.record(for: diary.root.recordID)
        try await until { try await text(diary.id("card0", isOwner: false), on: bob) == "card" }
        try await until { try await !note(on: restarted) }
    }

    @Test("are encrypted anew by another device of the owner's, which has not moved them, where the app asks for it")
    func otherDevice() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.diary, on: ada)
        try await move(list, below: diary.root, on: ada)
        let laptop = device(0)
        try await laptop.useRecoveryCode(try await ada.recoveryCode().text)
        let database = laptop.privateCloudDatabase
        _ = try await database.record(for: diary.root.recordID)
        _ = try await database.record(for: list.recordID)
        // What it sees has it look, and guests of the share could have made the stamp of the list.
        _ = try await database.record(for: cards[0].recordID)
        try await until { laptop.core.account.encryptedZones.withMovedZones { $0.mayBegin(Self.zone, at: .max) } }
        #expect(try await text(diary.id("card0", isOwner: false), on: bob) == nil)
        #expect(laptop.core.account.encryptedZones.withMovedZones { !$0.mayBegin(Self.zone, at: 0) })
        let done = try await database.reencryptRecords(in: list.recordID.zoneID)
        #expect(done.count == 1 && done.failures.isEmpty)
        #expect(try await text(diary.id("card0", isOwner: false), on: bob) == "card")
    }

    @Test("are encrypted anew by a device that knows where they were before")
    func formerPlace() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.diary, on: ada)
        let laptop = device(0)
        try await laptop.useRecoveryCode(try await ada.recoveryCode().text)
        for record in [diary.root, diary.diary, list, cards[0]] {
            _ = try await laptop.privateCloudDatabase.record(for: record.recordID)
        }
        try await move(list, below: diary.root, on: ada)
        #expect(try await laptop.privateCloudDatabase.reencryptRecords(in: list.recordID.zoneID).count == 1)
        #expect(try await text(diary.id("card0", isOwner: false), on: bob) == "card")
    }

    @Test("are encrypted anew below what goes from one share into another", arguments: [false, true])
    func secondShare(hasFollowed: Bool) async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.diary, on: ada)
        let database = ada.privateCloudDatabase
        let zone = list.recordID.zoneID
        for name in ["second", "third"] {
            let root = page(name, in: diary.zone, name: name)
            let share = CKShare(rootRecord: root)
            share.publicPermission = .readOnly
            _ = try await database.modifyRecords(saving: [root, share], deleting: [])
            _ = try await accept(try #require(share.url), by: bob)
        }
        try await move(list, below: diary.root, on: ada)
        #expect(try await database.reencryptRecords(in: zone).count == 1)
        #expect(try await trees(of: cards[0].recordID, on: ada) == tree("root", on: ada))
        for name in hasFollowed ? ["second"] : ["second", "third"] {
            try await move(
                list, below: try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone)), on: ada)
        }
        let done = try await database.reencryptRecords(in: zone)
        #expect(done.count == 1 && done.failures.isEmpty)
        #expect(
            try await trees(of: cards[0].recordID, on: ada) == tree(hasFollowed ? "second" : "third", on: ada))
        #expect(try await text(diary.id("card0", isOwner: false), on: bob) == "card")
    }

    @Test("do not follow what has moved away again, nor later what moves stayed noted for")
    func endedMoves() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let (list, _) = try await cards(below: diary.diary, on: ada)
        try await move(list, below: diary.root, on: ada)
        #expect(try await noted(on: ada) == ["list": "root"])
        try await move(list, below: diary.root, on: ada)
        #expect(try await noted(on: ada) == ["list": "root"], "the same again")
        try await move(list, below: diary.diary, on: ada)
        #expect(try await Set(noted(on: ada).keys) == [])
        #expect(try await note(on: ada))
        // A device without keys puts something into the share, about which nobody can say anything.
        let web = device(0)
        let seen = try await web.privateCloudDatabase.record(for: diary.note.recordID)
        try await move(seen, below: diary.root, on: web)
        try await move(list, below: diary.root, on: ada)
        let zones = ada.core.account.encryptedZones
        #expect(zones.withMovedZones { $0.goesOn(Self.zone, after: .isDone, at: 0) }, "something has moved")
        let done = try await ada.privateCloudDatabase.reencryptRecords(in: list.recordID.zoneID)
        #expect(done.count == 1 && done.failures.keys.map(\.recordName) == ["note"])
        #expect(try await Set(noted(on: ada).keys) == [])
        #expect(try await note(on: ada))
    }

    @Test("do not follow what an app started anew has begun to move away, whatever comes of it")
    func begunMoves() async throws {
        let folder = try TestFolder()
        let (ada, bob) = (device(0) { $0.stateFolder = folder.path }, device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let (list, _) = try await cards(below: diary.diary, on: ada)
        try await move(list, below: diary.root, on: ada)
        #expect(try await noted(on: ada) == ["list": "root"])
        let again = device(0) { $0.stateFolder = folder.path }
        // A server that keeps the answer back can have done it all the same.
        let moved = CKRecord(recordType: "Page", recordID: list.recordID)
        moved.setParent(diary.diary)
        #expect(await code { try await again.privateCloudDatabase.save(moved) } == .serverRecordChanged)
        #expect(try await noted(on: again).isEmpty)
        withExtendedLifetime(folder) {}
    }

    @Test(
        "follow no move that was noted before the record was put elsewhere, whatever else was",
        arguments: [false, true])
    func overtaken(isOvertaken: Bool) async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.diary, on: ada)
        try await move(list, below: diary.root, on: ada)
        let (database, account, id) = (ada.privateCloudDatabase, ada.core.account, cards[0].recordID)
        let zones = account.encryptedZones
        let noted = await zones.notedMoves(Self.zone, for: account, database.callOptions)
        zones.withMovedZones { $0.haveRead(movesOf: noted.moved.keys, in: Self.zone) }
        let other = page("other", in: diary.zone, name: "other")
        other.setParent(diary.diary)
        try await database.save(other)
        if isOvertaken { zones.withMovedZones { $0.movesEnd(of: ["list"], in: Self.zone) } }
        let raw = try await database.fetchRaw(
            [id.recordName], id.zoneID, desiredKeys: nil, account, database.callOptions)
        var modification = try database.modification(
            saving: [try await database.record(for: id)], deleting: [], savePolicy: .ifServerRecordUnchanged,
            atomically: false)
        modification.encryptAnew(raw, moved: noted.moved, believesStamps: false)
        let result = try #require(try await database.send(modification, database.callOptions).saveResults[id])
        #expect((try? result.get()) == nil ? isOvertaken : !isOvertaken)
        #expect(try await trees(of: id, on: ada) == tree(isOvertaken ? "diary" : "root", on: ada))
    }

    @Test("stay as they are below what leaves a share, and what is new there guests can't read")
    func movesOut() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.root, on: ada)
        try await move(list, below: diary.diary, on: ada)
        let done = try await ada.privateCloudDatabase.reencryptRecords(in: list.recordID.zoneID)
        #expect(done.count == 0 && done.failures.isEmpty)
        #expect(try await trees(of: cards[0].recordID, on: ada) == tree("root", on: ada))
        cards[0].encryptedValues["title"] = "ours"
        try await ada.privateCloudDatabase.save(cards[0])
        #expect(try await trees(of: cards[0].recordID, on: ada) == tree("root", on: ada).union(tree("diary", on: ada)))
        #expect(try await text(cards[0].recordID, on: ada, isOwner: true) == "card")
    }

    @Test("are of no other private tree where nothing but the server says that they are in it")
    func falsePrivateParent() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        _ = try await cards(below: diary.root, on: ada)
        let zones = ada.core.account.encryptedZones
        // The list is shown apart from the share, and the note below it.
        zones.updateTrees(Self.zone) { trees in
            trees.learn("list", parent: nil)
            trees.learn("diary", parent: "list")
        }
        diary.note.encryptedValues["text"] = "secret"
        let before = try await stamp(diary.note.recordID, on: ada)
        try await ada.privateCloudDatabase.save(diary.note)
        #expect(try await trees(of: diary.note.recordID, on: ada) == tree("note", on: ada))
        #expect(try await stamp(diary.note.recordID, on: ada) == before)
        // The truth about the list, and then a lie about the note again.
        zones.updateTrees(Self.zone) { $0.learn("list", parent: "root") }
        diary.note.encryptedValues["text"] = "more"
        #expect(await code { try await ada.privateCloudDatabase.save(diary.note) } == .accountTemporarilyUnavailable)
    }

    @Test("are of no private tree, and say of none that they are in it, where the server shows what was shared there")
    func unprovedWayOut() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.root, on: ada)
        // To a device with keys what one without them does is the server's word.
        let web = device(0)
        let seen = try await web.privateCloudDatabase.record(for: list.recordID)
        try await move(seen, below: diary.diary, on: web)
        _ = try await ada.privateCloudDatabase.record(for: list.recordID)
        let before = try await stamp(cards[0].recordID, on: ada)
        cards[0].encryptedValues["title"] = "title"
        try await ada.privateCloudDatabase.save(cards[0])
        #expect(try await trees(of: cards[0].recordID, on: ada) == tree("root", on: ada).union(tree("card0", on: ada)))
        #expect(try await stamp(cards[0].recordID, on: ada) == before)
        #expect(try await text(cards[0].recordID, on: ada, isOwner: true) == "card")
    }

    @Test("are encrypted anew for guests below a record that is shared in the midst of a tree")
    func middle() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let (list, _) = try await cards(below: diary.diary, on: ada)
        let share = CKShare(rootRecord: list)
        share.publicPermission = .readOnly
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
        _ = try await accept(try #require(share.url), by: bob)
        _ = try await ada.privateCloudDatabase.reencryptRecords(in: list.recordID.zoneID)
        for name in ["list", "card0"] {
            let expected = name == "list" ? "list" : "card"
            #expect(try await text(diary.id(name, isOwner: false), on: bob) == expected)
        }
    }

    @Test(
        "are read by guests of a later share that another device of the owner's has saved after the first one",
        arguments: [false, true])
    func sharedAgain(isAskedFor: Bool) async throws {
        let (ada, bob, laptop) = (device(0), device(1), device(0))
        let (root, share, url) = try await shared("secret", by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: try await accept(url, by: bob))
        try await handOutKeys(root.recordID, by: ada)
        try await ada.privateCloudDatabase.deleteRecord(withID: share.recordID)
        // It has seen nothing of the share, and takes the zone's keys, of which the share's guests have none.
        try await laptop.useRecoveryCode(try await ada.recoveryCode().text)
        let own = CKRecord(recordType: "Page", recordID: root.recordID)
        own.encryptedValues["text"] = "later"
        _ = try await cards(below: own, on: laptop)
        _ = try await laptop.privateCloudDatabase.modifyRecords(
            saving: [own], deleting: [], savePolicy: .changedKeys, atomically: true)
        #expect(try ValueHeader(of: try #require(own.sealedFields["text"]).bytes).kind == .isPrivate)

        let newer = try await ada.privateCloudDatabase.record(for: root.recordID)
        let again = CKShare(rootRecord: newer)
        again.publicPermission = .readOnly
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: [newer, again], deleting: [])
        _ = try await accept(try #require(again.url), by: bob)
        let names = ["root", "list", "card0"].map { CKRecord.ID(recordName: $0, zoneID: id.zoneID) }
        if isAskedFor {
            // Whoever is first.
            #expect(try await ada.privateCloudDatabase.reencryptRecords(in: root.recordID.zoneID).failures.isEmpty)
        } else {
            try await until { try await text(names[2], on: bob) == "card" }
        }
        for (id, expected) in zip(names, ["later", "list", "card"]) { #expect(try await text(id, on: bob) == expected) }
        let done = try await ada.privateCloudDatabase.reencryptRecords(in: root.recordID.zoneID)
        #expect(done.count == 0 && done.failures.isEmpty)
    }

    @Test("are encrypted anew in parts where there are many of them, or large ones")
    func parts() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.diary, on: ada, count: Limits.itemsPerRequest + 1)
        let large = (0..<3).map { page(String(repeating: "x", count: 700_000), in: diary.zone, name: "large\($0)") }
        for record in large {
            record.setParent(list)
            try await ada.privateCloudDatabase.save(record)
        }
        try await move(list, below: diary.root, on: ada)
        let done = try await ada.privateCloudDatabase.reencryptRecords(in: list.recordID.zoneID)
        #expect(done.count == cards.count + large.count && done.failures.isEmpty)
        #expect(try await text(diary.id("card\(Limits.itemsPerRequest)", isOwner: false), on: bob) == "card")
        #expect(try await text(diary.id("large2", isOwner: false), on: bob)?.count == 700_000)
    }

    @Test("are not encrypted anew where nothing says where a record is, nor by a device without the keys")
    func reencryptionRefusals() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let web = device(0)
        let seen = try await web.privateCloudDatabase.record(for: diary.diary.recordID)
        try await move(seen, below: diary.root, on: web)
        let zone = diary.root.recordID.zoneID
        let done = try await ada.privateCloudDatabase.reencryptRecords(in: zone)
        #expect(done.count == 0 && Set(done.failures.keys.map(\.recordName)) == ["diary", "note"])
        #expect(done.failures.values.allSatisfy { $0.encryptionProblem == .placeIsUnproven })
        #expect(try await text(diary.id("note", isOwner: false), on: bob) == nil)
        #expect(
            await code { try await web.privateCloudDatabase.reencryptRecords(in: zone) }
                == .accountTemporarilyUnavailable)
        // A person's app says where it is.
        let moved = try await ada.privateCloudDatabase.record(for: diary.diary.recordID)
        try await move(moved, below: diary.root, on: ada)
        _ = try await ada.privateCloudDatabase.reencryptRecords(in: zone)
        #expect(try await text(diary.id("note", isOwner: false), on: bob) == "note")
        for database in [ada.publicCloudDatabase, ada.sharedCloudDatabase] {
            #expect(await code { try await database.reencryptRecords(in: zone) } == .invalidArguments)
        }
        let missing = CKRecordZone.ID(zoneName: "Missing")
        #expect(await code { try await ada.privateCloudDatabase.reencryptRecords(in: missing) } == .zoneNotFound)
    }

    @Test("that somebody else changed since are a conflict all the same", arguments: [false, true])
    func conflict(isPlain: Bool) async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.diary, on: ada)
        try await move(list, below: diary.root, on: ada)
        _ = try await ada.privateCloudDatabase.reencryptRecords(in: list.recordID.zoneID)
        let theirs = try await bob.sharedCloudDatabase.record(for: diary.id("card0", isOwner: false))
        if isPlain { theirs["plain"] = "theirs" } else { theirs.encryptedValues["text"] = "theirs" }
        try await bob.sharedCloudDatabase.save(theirs)
        cards[0].encryptedValues["title"] = "ours"
        let error = await #expect(throws: CKError.self) { try await ada.privateCloudDatabase.save(cards[0]) }
        #expect(error?.code == .serverRecordChanged)
        let shown = error?.serverRecord
        #expect((isPlain ? shown?["plain"] : shown?.encryptedValues["text"]) == "theirs")
    }

    @Test("are saved in one request with what the keys were replaced for")
    func conflictBesideStaleKeys() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        let (list, cards) = try await cards(below: diary.diary, on: ada)
        try await move(list, below: diary.root, on: ada)
        _ = try await ada.privateCloudDatabase.reencryptRecords(in: list.recordID.zoneID)
        // Once somebody has left, the server takes no more saves with the share's last key.
        let root = try await bob.sharedCloudDatabase.record(for: diary.id("root", isOwner: false))
        _ = try await bob.sharedCloudDatabase.deleteRecord(withID: try #require(root.share).recordID)
        cards[0].encryptedValues["title"] = "ours"
        let other = page("other", in: diary.zone, name: "other")
        other.setParent(list)
        let results = try await ada.privateCloudDatabase.modifyRecords(
            saving: [other, cards[0]], deleting: [], atomically: false)
        for result in results.saveResults.values { _ = try result.get() }
        #expect(try await text(cards[0].recordID, on: ada, isOwner: true) == "card")
    }

    @Test("are encrypted anew below a record that an app has put there without having fetched it")
    func upsert() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let (list, _) = try await cards(below: diary.diary, on: ada)
        let blind = CKRecord(recordType: "Page", recordID: list.recordID)
        blind.setParent(diary.root)
        let results = try await ada.privateCloudDatabase.modifyRecords(
            saving: [blind], deleting: [], savePolicy: .changedKeys)
        _ = try results.saveResults[list.recordID]?.get()
        try await until { try await text(diary.id("card0", isOwner: false), on: bob) == "card" }
        try await until { try await text(diary.id("list", isOwner: false), on: bob) == "list" }
    }

    /// Waits for something that is done in the background.
    private func until(_ isMet: () async throws -> Bool) async throws {
        for _ in 0..<1_000 {
            if try await isMet() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("nothing was done in the background")
    }
}

extension EncryptedSharesTests.Diary {
    var zone: CKRecordZone { CKRecordZone(zoneID: root.recordID.zoneID) }
}
