import BrumeModel
import Foundation
import Testing

@testable import BrumeKit

/// What lies between a record and the root whose keys it takes.
extension EncryptedSharesTests {
    @Test("are not encrypted for guests below more records than are looked at")
    func deepPath() async throws {
        let (ada, bob) = (device(0), device(1))
        holdReencryption(on: ada)
        let diary = try await diary(ada, bob)
        func showPath() {
            ada.core.account.encryptedZones.updateTrees(diary.root.recordID.zoneID.ringID) { trees in
                let names = ["diary"] + (0..<ZoneTrees.depthMax - 1).map { "p\($0)" } + ["root"]
                for (name, parent) in zip(names, names.dropFirst()) { trees.learn(name, parent: parent) }
                #expect(trees.root(of: "note", parent: "diary") == .root("root"))
                #expect(!trees.path(of: "note", parent: "diary").contains("root"))
            }
        }
        showPath()
        diary.note.encryptedValues["text"] = "secret"
        #expect(
            await code { try await ada.privateCloudDatabase.save(diary.note) } == .accountTemporarilyUnavailable)
        // Nor is what the app puts there.
        showPath()
        let new = page("secret", in: diary.zone, name: "new")
        new.setParent(diary.diary)
        #expect(await code { try await ada.privateCloudDatabase.save(new) } == .accountTemporarilyUnavailable)
    }

    @Test("are saved by a device that has seen as many records of a zone as it keeps in mind")
    func manyRecordsSeen() async throws {
        let ada = device(0)
        let zone = try await diary(ada, device(1)).zone
        let database = ada.privateCloudDatabase
        let folder = page("folder", in: zone, name: "folder")
        try await database.save(folder)
        let other = device(0).privateCloudDatabase
        for room in 0...2 {
            ada.core.account.encryptedZones.updateTrees(zone.zoneID.ringID) { trees in
                trees = ZoneTrees()
                for number in 0..<ZoneTrees.recordsMax - room { trees.learn("r\(number)", parent: nil) }
            }
            let below = (0..<2).map { number in
                let record = page("secret", in: zone, name: "\(room)-\(number)")
                record.setParent(folder)
                return record
            }
            let results = try await database.modifyRecords(saving: below, deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
            _ = try await other.record(for: below[1].recordID)
        }
    }

    @Test("are refused with the reason below more records than are looked at, and saved without encrypted fields")
    func deepRecords() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        var parent = diary.root
        var chain: [CKRecord] = []
        for number in 1...ZoneTrees.depthMax + 2 {
            let record = CKRecord(recordType: "Folder", recordID: diary.id("deep\(number)"))
            record.setParent(parent)
            chain.append(record)
            parent = record
        }
        let database = ada.privateCloudDatabase
        let results = try await database.modifyRecords(saving: chain, deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
        let seen = try await bob.sharedCloudDatabase.record(for: diary.id(parent.recordID.recordName, isOwner: false))
        for (last, database) in [(parent, database), (seen, bob.sharedCloudDatabase)] {
            last.encryptedValues["text"] = "secret"
            let error = await failure { try await database.save(last) }
            #expect(error?.code == .limitExceeded && error?.localizedDescription.contains("64 records") == true)
        }
        let near = chain[ZoneTrees.depthMax - 2]
        near.encryptedValues["text"] = "secret"
        try await database.save(near)
        #expect(try await text(diary.id(near.recordID.recordName, isOwner: false), on: bob) == "secret")
    }

    @Test("get no stamp in a shared tree for a parent that the server alone has named")
    func stampOnTrust() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let web = device(0)
        let plain = CKRecord(recordType: "Folder", recordID: diary.id("plain"))
        plain.setParent(diary.root)
        try await web.privateCloudDatabase.save(plain)
        let seen = try await ada.privateCloudDatabase.record(for: plain.recordID)
        seen.encryptedValues["text"] = "ours"
        try await ada.privateCloudDatabase.save(seen)
        #expect(try await stamp(plain.recordID, on: ada).isEmpty)
        // Nor later: it would bear out what is below the record.
        seen.encryptedValues["text"] = "more"
        try await ada.privateCloudDatabase.save(seen)
        #expect(try await stamp(plain.recordID, on: ada).isEmpty)
    }

    @Test("of new records are of no private tree into which the server alone has put what is above them")
    func newBelowStrayInPrivateTree() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let database = ada.privateCloudDatabase
        let other = page("other", in: diary.zone, name: "other")
        try await database.save(other)
        let web = device(0)
        let stray = try await web.privateCloudDatabase.record(for: diary.diary.recordID)
        try await move(stray, below: other, on: web)
        _ = try await database.record(for: diary.diary.recordID)
        let new = page("secret", in: diary.zone, name: "new")
        new.setParent(diary.diary)
        let moved = page("secret", in: diary.zone, name: "moved")
        try await database.save(moved)
        try await database.save(new)
        try await move(moved, below: diary.diary, on: ada)
        // Whoever gets the keys of that tree opens neither.
        let share = CKShare(rootRecord: other)
        share.publicPermission = .readOnly
        _ = try await database.modifyRecords(saving: [other, share], deleting: [])
        _ = try await accept(try #require(share.url), by: bob)
        for name in ["new", "moved", "note"] {
            #expect(try await text(diary.id(name, isOwner: false), on: bob) == nil, "\(name)")
            #expect(try await text(diary.id(name), on: ada, isOwner: true) == (name == "note" ? "note" : "secret"))
        }
    }

    @Test("are not encrypted for guests in a record of which the server hides that something was encrypted in it")
    func hiddenValues() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let web = device(0)
        let stray = try await web.privateCloudDatabase.record(for: diary.note.recordID)
        _ = try await ada.privateCloudDatabase.record(for: diary.note.recordID)
        try await move(stray, below: diary.root, on: web)
        // As the server shows it: without what is encrypted in it.
        let shown = try #require(
            try await ada.privateCloudDatabase.records(for: [diary.note.recordID], desiredKeys: [])[
                diary.note.recordID]?.get())
        shown.encryptedValues["title"] = "secret"
        #expect(await code { try await ada.privateCloudDatabase.save(shown) } == .accountTemporarilyUnavailable)
    }

    @Test("of a record of which the server hides them get it no stamp for where the server has put it")
    func hiddenValuesInPrivateTree() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let database = ada.privateCloudDatabase
        let list = page("list", in: diary.zone, name: "list")
        list.setParent(diary.diary)
        try await database.save(list)
        let web = device(0)
        try await move(try await web.privateCloudDatabase.record(for: diary.note.recordID), below: list, on: web)
        let shown = try #require(
            try await database.records(for: [diary.note.recordID], desiredKeys: [])[diary.note.recordID]?.get())
        shown.encryptedValues["title"] = "secret"
        try await database.save(shown)
        #expect(try await stamp(diary.note.recordID, on: ada).isEmpty)
    }

    @Test("are not forgotten for others that a server makes up")
    func madeUpTrees() {
        var trees = ZoneTrees()
        func ids(_ range: ClosedRange<UInt8>) -> Set<[UInt8]> { Set(range.map { [UInt8](repeating: $0, count: 16) }) }
        #expect(!trees.knowsTrees(of: "note"))
        trees.learn("note", treeIDs: [], isWhole: true)
        #expect(trees.knowsTrees(of: "note") && trees.treeIDs(of: "note").isEmpty)
        trees.learn("note", treeIDs: ids(1...1))
        trees.learn("note", treeIDs: ids(2...9))
        #expect(trees.treeIDs(of: "note") == ids(1...1).union([ZoneTrees.moreTrees]))
        trees.learn("note", treeIDs: ids(2...7))
        trees.learn("note", treeIDs: [], isWhole: true)
        #expect(trees.treeIDs(of: "note") == ids(1...7).union([ZoneTrees.moreTrees]))
        // Nor do they pass a record for one in which nothing is encrypted that was not seen before.
        trees.learn("other", treeIDs: ids(1...9))
        trees.learn("other", treeIDs: [], isWhole: true)
        #expect(trees.treeIDs(of: "other") == [ZoneTrees.moreTrees])
        trees.forgetTrees(of: ["note"])
        #expect(!trees.knowsTrees(of: "note"))
    }

    @Test("of new records are not encrypted for guests below what the server alone has put into their tree")
    func newBelowStray() async throws {
        let (ada, bob) = (device(0), device(1))
        let diary = try await diary(ada, bob)
        let web = device(0)
        let stray = try await web.privateCloudDatabase.record(for: diary.diary.recordID)
        try await move(stray, below: diary.root, on: web)
        // Whatever a guest writes in it.
        let guests = try await bob.sharedCloudDatabase.record(for: diary.id("diary", isOwner: false))
        guests.encryptedValues["title"] = "theirs"
        try await bob.sharedCloudDatabase.save(guests)
        #expect(try await stamp(diary.diary.recordID, on: ada).isEmpty)
        let (page, below) = (
            page("secret", in: diary.zone, name: "page"), self.page("secret", in: diary.zone, name: "below")
        )
        page.setParent(stray)
        below.setParent(page)
        let error = await #expect(throws: CKError.self) { try await ada.privateCloudDatabase.save(page) }
        #expect(error?.code == .accountTemporarilyUnavailable && error?.unprovenRecordID == diary.diary.recordID)
        let results = try await ada.privateCloudDatabase.modifyRecords(
            saving: [page, below], deleting: [], atomically: false)
        #expect(results.saveResults.values.allSatisfy { (try? $0.get()) == nil })
        // Nor on a device that has not seen it before.
        let laptop = device(0)
        try await laptop.useRecoveryCode(try await ada.recoveryCode().text)
        // Nor where it was seen in parts.
        _ = try await laptop.privateCloudDatabase.record(for: diary.root.recordID)
        _ = try await laptop.privateCloudDatabase.records(for: [diary.diary.recordID], desiredKeys: [])
        #expect(await code { try await laptop.privateCloudDatabase.save(page) } == .accountTemporarilyUnavailable)
        // A person's app says that it belongs there.
        let seen = try await ada.privateCloudDatabase.record(for: try #require(error?.unprovenRecordID))
        seen.parent = seen.parent
        try await ada.privateCloudDatabase.save(seen)
        try await ada.privateCloudDatabase.save(page)
        #expect(try await text(diary.id("page", isOwner: false), on: bob) == "secret")
    }

    @Test("are fetched in parts where there are more records than a request may name")
    func manyPaths() async throws {
        let ada = device(0)
        let (root, _, _) = try await shared("secret", by: ada)
        let database = ada.privateCloudDatabase
        let names = (0..<2 * Limits.itemsPerRequest + 1).map { "none\($0)" } + ["root"]
        let records = try await database.fetchRaw(
            names, root.recordID.zoneID, desiredKeys: [], ada.core.account, database.callOptions)
        #expect(Array(records.keys) == ["root"])
    }

    @Test("take the tree's keys in the request that shares a record in the midst of another tree")
    func middleShare() async throws {
        let (ada, bob) = (device(0), device(1))
        let zone = CKRecordZone(zoneName: "Diary")
        let database = ada.privateCloudDatabase
        try await database.save(zone)
        let (board, list, card) = (
            page("board", in: zone, name: "board"), page("list", in: zone, name: "list"),
            page("card", in: zone, name: "card")
        )
        list.setParent(board)
        _ = try await database.modifyRecords(saving: [board, list], deleting: [])
        card.setParent(list)
        let share = CKShare(rootRecord: list)
        share.publicPermission = .readOnly
        _ = try await database.modifyRecords(saving: [list, share, card], deleting: [])
        let zoneID = try await accept(try #require(share.url), by: bob)
        #expect(try await text(CKRecord.ID(recordName: "card", zoneID: zoneID), on: bob) == "card")
    }
}
