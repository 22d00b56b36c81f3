import BrumeKit
import BrumeTestKit
import Foundation
import Testing

@Suite("Shares of single records and a server", .timeLimit(.minutes(2)))
struct RecordShareTests {
    /// On several loops most shares belong to another loop than the user who takes part.
    private static let loopCounts = [1, 4]

    @Test("show the record, what is below it and the share, and nothing else of the zone", arguments: loopCounts)
    func view(loopCount: Int) async throws {
        let desk = try await RecordShareDesk(loopCount: loopCount)
        try await desk.saveList("shops", items: ["milk", "tea"])
        try await desk.saveList("books", items: ["atlas"])
        _ = try await desk.save([desk.make("Item", "oat milk", below: "milk")])
        let bob = try desk.desk.user("bob")
        let share = try await desk.share("shops") { share in
            share.addParticipant(try await desk.owner.shareParticipant(forEmailAddress: "bob@example.com"))
        }
        let url = try #require(share.url)
        #expect(try await bob.shareMetadata(for: url).hierarchicalRootRecordID?.recordName == "shops")
        let before = try await bob.sharedCloudDatabase.databaseChanges(since: nil).changeToken
        let accepted = try await desk.accept(share, by: bob)
        let zoneID = try await desk.sharedZoneID
        let view = SharedZoneView(bob, zoneID)
        #expect(accepted.recordID == view.id("share of shops"))
        #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)
        #expect(try await desk.accept(share, by: bob).recordID == accepted.recordID, "again")
        let changes = try await view.database.databaseChanges(since: before)
        #expect(changes.modifications.map(\.zoneID) == [zoneID] && changes.deletions.isEmpty)

        let names: Set = ["shops", "milk", "tea", "oat milk", "share of shops"]
        #expect(try await view.changes().saved == names)
        let root = try await view.record("shops")
        #expect(root.parent == nil && root.share?.recordID == accepted.recordID)
        #expect(try await view.record("oat milk").parent?.recordID == view.id("milk"))
        #expect((try await view.record("share of shops") as? CKShare)?.participants.count == 2)
        for hidden in ["folder", "books", "atlas", "no record"] {
            #expect(await code { try await view.record(hidden) } == .unknownItem, "\(hidden)")
            try await view.database.deleteRecord(withID: view.id(hidden))
        }
        #expect(try await desk.ownDatabase.records(for: [desk.id("folder"), desk.id("atlas")]).count == 2)
        #expect(try await desk.ownDatabase.record(for: desk.id("shops")).parent?.recordID == desk.id("folder"))
        #expect(try await view.found("List", "Item", "Folder") == ["shops", "milk", "tea", "oat milk"])
        let query = CKQuery(recordType: "Item", predicate: NSPredicate(format: "text BEGINSWITH 'oat'"))
        let found = try await view.database.records(matching: query, inZoneWith: zoneID).matchResults
        #expect(found.map(\.0) == [view.id("oat milk")])
    }

    @Test("are none of their zone as a whole")
    func zoneShare() async throws {
        let desk = try await RecordShareDesk()
        try await desk.saveList("shops", items: [])
        let bob = try desk.desk.user("bob")
        let view = SharedZoneView(bob, try await desk.accept(desk.share("shops"), by: bob).recordID.zoneID)
        #expect(try await desk.ownDatabase.recordZone(for: ShareLinkDesk.zoneID).share == nil)
        let zones = try await [view.database.recordZone(for: view.zoneID)] + view.database.allRecordZones()
        #expect(zones.map(\.share) == [nil, nil])
    }

    @Test("don't tell what deletions of records do that a participant doesn't see")
    func unseenDeletions() async throws {
        let desk = try await RecordShareDesk()
        try await desk.saveList("shops", items: ["milk"])
        try await desk.saveList("books", items: [])
        let bob = try desk.desk.user("bob")
        let view = SharedZoneView(bob, try await desk.accept(desk.share("shops"), by: bob).recordID.zoneID)
        _ = try await desk.share("books")
        /// What becomes of the deletion of a record beside a save that fails, each by itself.
        func deletion(of name: String) async throws -> CKError.Code? {
            let results = try await view.database.modifyRecords(
                saving: [view.make("stray", below: nil)], deleting: [view.id(name)], atomically: false)
            return await code { try results.deleteResults[view.id(name)]?.get() }
        }
        for name in ["no record", "folder", "books", "share of books"] {
            #expect(try await deletion(of: name) == nil, "\(name)")
        }
    }

    @Test("keep from participants what the root's parent is")
    func parentOfRoot() async throws {
        let desk = try await RecordShareDesk()
        try await desk.saveList("shops", items: ["milk"])
        let bob = try desk.desk.user("bob")
        let view = SharedZoneView(bob, try await desk.accept(desk.share("shops"), by: bob).recordID.zoneID)
        let stale = try await view.record("shops")
        let current = try await desk.ownDatabase.record(for: desk.id("shops"))
        current["text"] = "changed"
        try await desk.ownDatabase.save(current)
        stale["text"] = "changed too"
        let conflict = await failure { try await view.database.save(stale) }
        let server = try #require(conflict?.serverRecord)
        #expect(conflict?.code == .serverRecordChanged && server["text"] == "changed" && server.parent == nil)
        server["text"] = "merged"
        #expect(try await view.database.save(server).parent == nil)
        let results = try await view.database.records(for: [view.id("shops")], desiredKeys: ["text"])
        #expect(try results[view.id("shops")]?.get().parent == nil)
        let own = try await desk.ownDatabase.record(for: desk.id("shops"))
        #expect(own["text"] == "merged" && own.parent?.recordID == desk.id("folder"))
        func found(below parent: String) async throws -> [String] {
            var names: [String] = []
            for type in ["List", "Item"] {
                let query = CKQuery(
                    recordType: type, predicate: NSPredicate(format: "parent == %@", view.reference(parent)))
                names += try await view.database.records(matching: query, inZoneWith: view.zoneID).matchResults
                    .map(\.0.recordName)
            }
            return names
        }
        #expect(try await found(below: "shops") == ["milk"])
        #expect(try await found(below: "folder").isEmpty, "not even to whoever guesses its name")
    }

    @Test("and what each participant has of them outlive the server", arguments: loopCounts)
    func restart(loopCount: Int) async throws {
        let desk = try await RecordShareDesk(loopCount: loopCount)
        try await desk.saveList("shops", items: ["milk"])
        try await desk.saveList("books", items: ["atlas"])
        let bob = try desk.desk.user("bob")
        let view = SharedZoneView(bob, try await desk.sharedZoneID)
        for name in ["shops", "books"] { _ = try await desk.accept(desk.share(name), by: bob) }
        let known = try await view.changes()
        #expect(known.saved.count == 6)
        try await desk.move("atlas", below: "folder")
        desk.desk.server.stop()
        try desk.desk.server.start()
        let moved = try await view.changes(since: known.token)
        #expect(moved.saved.isEmpty && moved.deleted == ["atlas"])
        try await view.database.save(view.make("bread", below: "shops"))
        try await view.database.deleteRecord(withID: view.id("share of books"))
        desk.desk.server.stop()
        try desk.desk.server.start()
        let left = try await view.changes(since: known.token)
        #expect(left.saved == ["bread"] && left.deleted == ["atlas", "books", "share of books"])
        #expect(try await view.changes(since: moved.token).deleted == ["books", "share of books"])
        #expect(try await view.changes().saved == ["shops", "milk", "bread", "share of shops"])
        #expect(await code { try await view.record("books") } == .unknownItem)
    }

    @Test("are followed by one of their whole zone, and the other way round, with tokens of their own")
    func wholeZone() async throws {
        let desk = try await RecordShareDesk()
        try await desk.saveList("shops", items: ["milk"])
        let bob = try desk.desk.user("bob")
        let view = SharedZoneView(bob, try await desk.sharedZoneID)
        let shops = try await desk.share("shops")
        _ = try await desk.accept(shops, by: bob)
        let first = try await view.changes()
        try await desk.ownDatabase.deleteRecord(withID: shops.recordID)
        let share = CKShare(recordZoneID: ShareLinkDesk.zoneID)
        share.publicPermission = .readOnly
        try await desk.ownDatabase.save(share)
        #expect(await code { try await view.changes() } == .zoneNotFound, "the URL is another one")
        _ = try await desk.accept(share, by: bob)
        #expect(await code { try await view.changes(since: first.token) } == .changeTokenExpired)
        let whole = try await view.changes()
        #expect(whole.saved == ["folder", "shops", "milk", CKRecordNameZoneWideShare])
        #expect(try await view.record("shops").parent?.recordID == view.id("folder"))

        try await desk.ownDatabase.deleteRecord(withID: share.recordID)
        _ = try await desk.accept(desk.share("shops"), by: bob)
        for token in [first.token, whole.token] {
            #expect(await code { try await view.changes(since: token) } == .changeTokenExpired)
        }
        #expect(try await view.changes().saved == ["shops", "milk", "share of shops"])
    }

    @Test("take what a participant writes below the record, and refuse the rest", arguments: loopCounts)
    func writing(loopCount: Int) async throws {
        let desk = try await RecordShareDesk(loopCount: loopCount)
        try await desk.saveList("shops", items: ["milk", "tea"])
        try await desk.saveList("books", items: ["atlas"])
        try await desk.saveList("diary", items: [])
        let bob = try desk.desk.user("bob")
        let view = SharedZoneView(bob, try await desk.sharedZoneID)
        for name in ["shops", "books"] { _ = try await desk.accept(desk.share(name), by: bob) }

        let (bread, rolls) = (view.make("bread", below: "shops"), view.make("rolls", below: "bread"))
        let both = try await view.database.modifyRecords(saving: [rolls, bread], deleting: []).saveResults
        #expect(try both.values.map { try $0.get().recordID.recordName }.sorted() == ["bread", "rolls"])
        let own = try await desk.ownDatabase.record(for: desk.id("rolls"))
        #expect(try await own.creatorUserRecordID == bob.userRecordID() && own.parent?.recordID == desk.id("bread"))
        let tea = try await view.record("tea")
        tea["text"] = "green"
        tea.parent = view.reference("milk")
        try await view.database.save(tea)
        #expect(try await desk.ownDatabase.record(for: desk.id("tea"))["text"] == "green")
        try await view.database.deleteRecord(withID: view.id("rolls"))
        #expect(await code { try await desk.ownDatabase.record(for: desk.id("rolls")) } == .unknownItem)

        // No place in a share.
        for parent in [nil, "folder", "diary", "no record"] {
            let made = view.make("made", below: parent)
            #expect(await code { try await view.database.save(made) } == .permissionFailure, "\(parent ?? "none")")
        }
        for parent in [nil, "folder", "books", "no record"] {
            let milk = try await view.record("milk")
            milk.parent = parent.map { view.reference($0) }
            #expect(await code { try await view.database.save(milk) } == .permissionFailure, "\(parent ?? "none")")
        }
        let root = try await view.record("shops")
        root.parent = view.reference("milk")
        #expect(await code { try await view.database.save(root) } == .permissionFailure)
        #expect(await code { try await view.database.deleteRecord(withID: root.recordID) } == .permissionFailure)
        // A record that the user doesn't see: its name is taken, and no more is told of it.
        for policy in [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .allKeys] {
            let taken = view.make("diary", below: "shops")
            let results = try await view.database.modifyRecords(saving: [taken], deleting: [], savePolicy: policy)
            let error = await failure { try results.saveResults[taken.recordID]?.get() }
            #expect(error?.code == .permissionFailure && error?.serverRecord == nil)
        }
        let nested = view.make("nested", below: "shops")
        let shared = try await view.database.modifyRecords(
            saving: [nested, CKShare(rootRecord: nested)], deleting: []
        ).saveResults
        for result in shared.values { #expect(await code { try result.get() } != nil, "participants share nothing") }
        // One item that fails takes an atomic batch with it.
        let (good, bad) = (view.make("good", below: "shops"), view.make("bad", below: "folder"))
        let batch = try await view.database.modifyRecords(saving: [good, bad], deleting: []).saveResults
        #expect(await code { try batch[good.recordID]?.get() } == .batchRequestFailed)
        #expect(await code { try batch[bad.recordID]?.get() } == .permissionFailure)
        #expect(
            try await view.changes().saved == [
                "shops", "milk", "tea", "bread", "share of shops", "books", "atlas", "share of books",
            ])
    }

    @Test("let a participant without write permission read only, until the owner lets them write")
    func readOnly() async throws {
        let desk = try await RecordShareDesk()
        try await desk.saveList("shops", items: ["milk"])
        let bob = try desk.desk.user("bob")
        let share = try await desk.share("shops") { share in
            let bob = try await desk.owner.shareParticipant(forUserRecordID: try await bob.userRecordID())
            bob.permission = .readOnly
            share.addParticipant(bob)
        }
        let accepted = try await desk.accept(share, by: bob)
        #expect(accepted.currentUserParticipant?.permission == .readOnly)
        let view = SharedZoneView(bob, accepted.recordID.zoneID)
        let milk = try await view.record("milk")
        milk["text"] = "changed"
        #expect(await code { try await view.database.save(milk) } == .permissionFailure)
        #expect(await code { try await view.database.deleteRecord(withID: milk.recordID) } == .permissionFailure)
        let made = view.make("made", below: "shops")
        #expect(await code { try await view.database.save(made) } == .permissionFailure)
        #expect(try await view.record("milk")["text"] == "milk of the owner")

        let token = try await view.changes().token
        let current = try await desk.desk.fetched(share)
        let participant = try #require(current.participants.first { $0.role != .owner })
        participant.permission = .readWrite
        current.addParticipant(participant)
        try await desk.ownDatabase.save(current)
        #expect(try await view.changes(since: token).saved == ["share of shops"])
        try await view.database.save(made)
        try await view.database.save(milk)
        #expect(try await view.changes(since: token).saved == ["share of shops", "made", "milk"])
    }

    @Test("of one owner's zone make one zone, whose changes tell what comes and what goes", arguments: loopCounts)
    func severalShares(loopCount: Int) async throws {
        let desk = try await RecordShareDesk(loopCount: loopCount)
        try await desk.saveList("shops", items: ["milk", "tea"])
        try await desk.saveList("books", items: ["atlas", "novel"])
        let bob = try desk.desk.user("bob")
        let view = SharedZoneView(bob, try await desk.sharedZoneID)
        let (shops, books) = (try await desk.share("shops"), try await desk.share("books"))
        _ = try await desk.accept(shops, by: bob)
        let first = try await view.changes()
        #expect(first.saved == ["shops", "milk", "tea", "share of shops"])

        let zones = try await view.database.databaseChanges(since: nil).changeToken
        _ = try await desk.accept(books, by: bob)
        #expect(try await view.database.allRecordZones().map(\.zoneID) == [view.zoneID])
        let more = try await view.database.databaseChanges(since: zones)
        #expect(more.modifications.map(\.zoneID) == [view.zoneID] && more.deletions.isEmpty)
        let second = try await view.changes(since: first.token)
        #expect(second.saved == ["books", "atlas", "novel", "share of books"] && second.deleted.isEmpty)

        try await view.database.deleteRecord(withID: view.id("share of books"))
        let third = try await view.changes(since: second.token)
        #expect(third.deleted == ["books", "atlas", "novel", "share of books"] && third.saved.isEmpty)
        #expect(try await view.changes(since: first.token).saved.isEmpty, "an older token has not expired either")
        let left = try await view.database.databaseChanges(since: more.changeToken)
        #expect(left.modifications.map(\.zoneID) == [view.zoneID] && left.deletions.isEmpty)
        #expect(await code { try await view.record("atlas") } == .unknownItem)
        #expect(try await view.found("Item") == ["milk", "tea"])
        try await view.database.deleteRecord(withID: view.id("share of books"))
        #expect((try await desk.desk.fetched(books)).participants.count == 1)

        _ = try await desk.accept(books, by: bob)
        #expect(try await view.changes(since: third.token).saved.isSuperset(of: ["books", "atlas", "novel"]))
        try await view.database.deleteRecordZone(withID: view.zoneID)
        let end = try await view.database.databaseChanges(since: left.changeToken)
        #expect(end.deletions.map(\.zoneID) == [view.zoneID] && end.deletions.first?.reason == .deleted)
        #expect(await code { try await view.changes(since: third.token) } == .zoneNotFound)
        for share in [shops, books] { #expect((try await desk.desk.fetched(share)).participants.count == 1) }
        #expect(try await desk.ownDatabase.record(for: desk.id("atlas"))["text"] == "atlas of the owner")
        _ = try await desk.accept(shops, by: bob)
        #expect(await code { try await view.changes(since: third.token) } == .changeTokenExpired)
        #expect(try await view.changes().saved == ["shops", "milk", "tea", "share of shops"])
    }

    @Test("tell participants of what the owner moves as they see it")
    func moves() async throws {
        let desk = try await RecordShareDesk()
        try await desk.saveList("shops", items: ["milk", "tea"])
        try await desk.saveList("books", items: ["atlas"])
        try await desk.saveList("diary", items: ["day"])
        _ = try await desk.save([desk.make("Item", "hour", below: "day")])
        let (bob, eve) = (try desk.desk.user("bob"), try desk.desk.user("eve"))
        let zoneID = try await desk.sharedZoneID
        let (bobs, eves) = (SharedZoneView(bob, zoneID), SharedZoneView(eve, zoneID))
        let (shops, books) = (try await desk.share("shops"), try await desk.share("books"))
        for share in [shops, books] { _ = try await desk.accept(share, by: bob) }
        _ = try await desk.accept(shops, by: eve)
        var (bobKnows, eveKnows) = (try await bobs.changes(), try await eves.changes())
        let eveZones = try await eves.database.databaseChanges(since: nil).changeToken

        func told(
            bob: (saved: Set<String>, deleted: Set<String>), eve: (saved: Set<String>, deleted: Set<String>),
            _ comment: Comment
        ) async throws {
            bobKnows = try await bobs.changes(since: bobKnows.token)
            eveKnows = try await eves.changes(since: eveKnows.token)
            #expect(bobKnows.saved == bob.saved && bobKnows.deleted == bob.deleted, comment)
            #expect(eveKnows.saved == eve.saved && eveKnows.deleted == eve.deleted, comment)
        }
        try await desk.move("day", below: "books")
        try await told(bob: (["day", "hour"], []), eve: ([], []), "into a share")
        #expect(try await eves.database.databaseChanges(since: eveZones).modifications.isEmpty, "none that Eve sees")
        try await desk.move("day", below: "shops")
        try await told(bob: (["day", "hour"], []), eve: (["day", "hour"], []), "from one share to another")
        try await desk.move("day", below: "books")
        try await told(bob: (["day", "hour"], []), eve: ([], ["day", "hour"]), "and back")
        try await desk.move("day", below: "diary")
        try await told(bob: ([], ["day", "hour"]), eve: ([], []), "out of both")
        try await desk.ownDatabase.deleteRecord(withID: desk.id("tea"))
        try await told(bob: ([], ["tea"]), eve: ([], ["tea"]), "deleted")
        try await desk.ownDatabase.deleteRecord(withID: shops.recordID)
        bobKnows = try await bobs.changes(since: bobKnows.token)
        #expect(bobKnows.deleted == ["shops", "milk", "share of shops"])
        #expect(await code { try await eves.changes(since: eveKnows.token) } == .zoneNotFound)
    }

    @Test("come and go on a device with a sync engine, without the others of the zone", arguments: loopCounts)
    func syncEngine(loopCount: Int) async throws {
        let desk = try await RecordShareDesk(loopCount: loopCount)
        try await desk.saveList("shops", items: ["milk"])
        try await desk.saveList("books", items: ["atlas"])
        let bob = try desk.desk.user("bob")
        let view = SharedZoneView(bob, try await desk.sharedZoneID)
        let (shops, books) = (try await desk.share("shops"), try await desk.share("books"))
        let device = SharedRecordDevice(bob)
        _ = try await desk.accept(shops, by: bob)
        try await device.wait("the first share comes") {
            Set($0.records.keys) == ["shops", "milk", "share of shops"] && $0.zones == [view.zoneID]
        }
        device.send(view.make("bread", below: "shops"))
        device.send(view.make("stray", below: nil))
        try await device.wait("one is saved, the other one refused") {
            $0.records["bread"] != nil && !$0.failures.isEmpty
        }
        #expect(device.told.failures == ["stray": .permissionFailure])
        #expect(try await desk.ownDatabase.record(for: desk.id("bread"))["text"] == "bread of the guest")

        _ = try await desk.accept(books, by: bob)
        try await device.wait("the second share comes") { $0.records["atlas"] != nil && $0.records["books"] != nil }
        let milk = try await desk.ownDatabase.record(for: desk.id("milk"))
        milk["text"] = "oat milk"
        try await desk.ownDatabase.save(milk)
        try await device.wait("the owner's change comes") { $0.records["milk"] == "oat milk" }
        let restartCount = device.told.restartCount

        // Another of the user's devices leaves.
        try await desk.desk.server.device(token: desk.desk.token("bob")).sharedCloudDatabase
            .deleteRecord(withID: view.id("share of books"))
        try await device.wait("its records go") {
            $0.deletions.isSuperset(of: ["books", "atlas", "share of books"])
        }
        #expect(Set(device.told.records.keys) == ["shops", "milk", "bread", "share of shops"])
        #expect(device.told.zoneDeletions.isEmpty && device.told.restartCount == restartCount)

        try await desk.ownDatabase.deleteRecord(withID: shops.recordID)
        try await device.wait("the zone goes") { $0.zoneDeletions == [view.zoneID] }
    }

    @Test("go from the device whose sync engine leaves them, too", arguments: loopCounts)
    func leavingBySyncEngine(loopCount: Int) async throws {
        let desk = try await RecordShareDesk(loopCount: loopCount)
        try await desk.saveList("shops", items: ["milk"])
        try await desk.saveList("books", items: ["atlas"])
        let bob = try desk.desk.user("bob")
        let view = SharedZoneView(bob, try await desk.sharedZoneID)
        let device = SharedRecordDevice(bob)
        for name in ["shops", "books"] { _ = try await desk.accept(desk.share(name), by: bob) }
        try await device.wait("both shares come") { $0.records.count == 6 }
        device.delete(view.id("share of books"))
        try await device.wait("the records of one go") { $0.deletions.isSuperset(of: ["books", "atlas"]) }
        #expect(device.told.zoneDeletions.isEmpty)
        device.delete(view.id("share of shops"))
        try await device.wait("the zone goes with the last share") { $0.zoneDeletions == [view.zoneID] }
        #expect(try await desk.ownDatabase.record(for: desk.id("milk"))["text"] == "milk of the owner")
    }
}
