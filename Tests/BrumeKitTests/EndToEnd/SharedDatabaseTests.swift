import BrumeKit
import BrumeTestKit
import Foundation
import Testing

@Suite("The shared database and a server", .timeLimit(.minutes(1)))
struct SharedDatabaseTests {
    /// On several loops most shares belong to another loop than the user who takes part.
    private static let loopCounts = [1, 4]

    @Test("shows a zone from its share's acceptance on, and takes what a participant writes", arguments: loopCounts)
    func writes(loopCount: Int) async throws {
        let desk = try await SharedZone(loopCount: loopCount)
        let bob = try desk.desk.user("bob")
        try await desk.save("first", "hello")
        let share = try await desk.share { share in
            let bob = try await desk.owner.shareParticipant(forUserRecordID: try await bob.userRecordID())
            bob.permission = .readWrite
            share.addParticipant(bob)
        }
        let database = bob.sharedCloudDatabase
        #expect(try await database.allRecordZones().isEmpty)
        let before = try await database.databaseChanges(since: nil)
        let accepted = try await desk.accept(share, by: bob)
        let zoneID = accepted.recordID.zoneID
        #expect(try await zoneID == CKRecordZone.ID(zoneName: "Lists", ownerName: desk.owner.userRecordID().recordName))
        let me = try #require(accepted.currentUserParticipant)
        #expect(me.acceptanceStatus == .accepted && me.permission == .readWrite)
        #expect(try await desk.accept(share, by: bob).recordID == accepted.recordID, "again")
        #expect(try await database.allRecordZones().map(\.zoneID) == [zoneID])
        let changes = try await database.databaseChanges(since: before.changeToken)
        #expect(changes.modifications.map(\.zoneID) == [zoneID])

        let first = try await database.record(for: CKRecord.ID(recordName: "first", zoneID: zoneID))
        #expect(first["text"] == "hello" && first.recordID.zoneID == zoneID)
        first["text"] = "hello you"
        try await database.save(first)
        let second = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "second", zoneID: zoneID))
        second["text"] = "from Bob"
        try await database.save(second)
        let (own, bobID) = (desk.owner.privateCloudDatabase, try await bob.userRecordID())
        #expect(try await own.record(for: desk.id("first"))["text"] == "hello you")
        #expect(try await own.record(for: desk.id("second")).creatorUserRecordID == bobID)
        let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(page.modificationResultsByID.keys.allSatisfy { $0.zoneID == zoneID })
        #expect(Set(page.modificationResultsByID.keys.map(\.recordName)).isSuperset(of: ["first", "second"]))
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text BEGINSWITH 'from'"))
        let found = try await database.records(matching: query, inZoneWith: zoneID).matchResults
        #expect(found.map(\.0.recordName) == ["second"])
        try await database.deleteRecord(withID: second.recordID)
        #expect(await code { try await own.record(for: desk.id("second")) } == .unknownItem)
    }

    @Test("lets a user without write permission read only", arguments: loopCounts)
    func reads(loopCount: Int) async throws {
        let desk = try await SharedZone(loopCount: loopCount)
        let bob = try desk.desk.user("bob")
        try await desk.save("first", "hello")
        let share = try await desk.share { $0.publicPermission = .readOnly }
        let zoneID = try await desk.accept(share, by: bob).recordID.zoneID
        let database = bob.sharedCloudDatabase
        let record = try await database.record(for: CKRecord.ID(recordName: "first", zoneID: zoneID))
        record["text"] = "changed"
        #expect(await code { try await database.save(record) } == .permissionFailure)
        #expect(await code { try await database.deleteRecord(withID: record.recordID) } == .permissionFailure)
        let made = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "made", zoneID: zoneID))
        #expect(await code { try await database.save(made) } == .permissionFailure)
        let elsewhere = CKRecordZone.ID(zoneName: "Other", ownerName: zoneID.ownerName)
        #expect(await code { try await database.recordZone(for: elsewhere) } == .zoneNotFound)
        #expect(
            await code { try await database.record(for: CKRecord.ID(recordName: "first", zoneID: elsewhere)) }
                == .zoneNotFound)
    }

    @Test(
        "loses a zone that the user leaves, by its share or the zone, which its owner keeps", arguments: [true, false])
    func leaves(deletesZone: Bool) async throws {
        let desk = try await SharedZone(loopCount: 2)
        let bob = try desk.desk.user("bob")
        try await desk.save("first", "hello")
        let share = try await desk.share { $0.publicPermission = .readWrite }
        let accepted = try await desk.accept(share, by: bob)
        let (database, zoneID) = (bob.sharedCloudDatabase, accepted.recordID.zoneID)
        let token = try await database.databaseChanges(since: nil).changeToken
        func leave() async throws {
            if deletesZone {
                try await database.deleteRecordZone(withID: zoneID)
            } else {
                try await database.deleteRecord(withID: accepted.recordID)
            }
        }
        try await leave()
        let changes = try await database.databaseChanges(since: token)
        #expect(changes.deletions.map(\.zoneID) == [zoneID] && changes.deletions.first?.reason == .deleted)
        #expect(try await database.allRecordZones().isEmpty)
        #expect(await code { try await database.recordZone(for: zoneID) } == .zoneNotFound)
        if deletesZone { try await leave() }
        let own = desk.owner.privateCloudDatabase
        #expect(try await own.record(for: desk.id("first"))["text"] == "hello")
        #expect((try await own.record(for: share.recordID) as? CKShare)?.participants.count == 1)
    }

    @Test("loses a zone whose owner removes the user, or ends the share", arguments: [true, false])
    func removed(endsShare: Bool) async throws {
        let desk = try await SharedZone(loopCount: 2)
        let bob = try desk.desk.user("bob")
        let share = try await desk.share { share in
            share.addParticipant(try await desk.owner.shareParticipant(forEmailAddress: "bob@example.com"))
        }
        let zoneID = try await desk.accept(share, by: bob).recordID.zoneID
        let database = bob.sharedCloudDatabase
        let token = try await database.databaseChanges(since: nil).changeToken
        if endsShare {
            try await desk.owner.privateCloudDatabase.deleteRecord(withID: share.recordID)
        } else {
            let current = try await desk.desk.fetched(share)
            current.removeParticipant(current.participants[1])
            try await desk.owner.privateCloudDatabase.save(current)
        }
        #expect(try await database.databaseChanges(since: token).deletions.map(\.zoneID) == [zoneID])
        #expect(await code { try await database.recordZone(for: zoneID) } == .zoneNotFound)
        #expect(
            await code { try await database.recordZoneChanges(inZoneWith: zoneID, since: nil) } == .zoneNotFound)
    }

    @Test("holds zones of several owners, to which one call writes")
    func severalOwners() async throws {
        let ada = try await SharedZone(loopCount: 4)
        let eve = try await SharedZone(desk: ShareLinkDesk(server: ada.desk.server, owner: "eve"))
        let bob = try ada.desk.user("bob")
        var records: [CKRecord] = []
        for owner in [ada, eve] {
            let zoneID = try await owner.accept(owner.share { $0.publicPermission = .readWrite }, by: bob).recordID
                .zoneID
            records += ["one", "two"].map {
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: $0, zoneID: zoneID))
            }
        }
        let results = try await bob.sharedCloudDatabase.modifyRecords(
            saving: [records[0], records[2], records[1], records[3]], deleting: [])
        #expect(try records.allSatisfy { try results.saveResults[$0.recordID]?.get().recordID == $0.recordID })
        let fetched = try await bob.sharedCloudDatabase.records(for: records.map(\.recordID))
        #expect(fetched.count == 4 && fetched.values.allSatisfy { (try? $0.get()) != nil })
        #expect(try await eve.owner.privateCloudDatabase.record(for: eve.id("two")).recordType == "Note")
    }

    @Test("can't accept the user's own share")
    func refusals() async throws {
        let desk = try await SharedZone(loopCount: 1)
        let share = try await desk.share { $0.publicPermission = .readOnly }
        #expect(await code { try await desk.accept(share, by: desk.owner) } == .invalidArguments)
    }

    @Test("has nothing without shares, and says so")
    func empty() async throws {
        let desk = try await SharedZone(loopCount: 1)
        let database = try desk.desk.user("bob").sharedCloudDatabase
        #expect(try await database.allRecordZones().isEmpty)
        #expect(try await database.allSubscriptions().isEmpty)
        let page = try await database.databaseChanges(since: nil)
        #expect(page.modifications.isEmpty && page.deletions.isEmpty && !page.moreComing)
        #expect(try await database.databaseChanges(since: page.changeToken).modifications.isEmpty)
        try await desk.save("first", "The type is known.")
        let zone = CKRecordZone.ID(zoneName: "Lists", ownerName: try await desk.owner.userRecordID().recordName)
        let id = CKRecord.ID(recordName: "x", zoneID: zone)
        #expect(await code { try await database.recordZone(for: zone) } == .zoneNotFound)
        #expect(await code { try await database.record(for: id) } == .zoneNotFound)
        #expect(await code { try await database.recordZoneChanges(inZoneWith: zone, since: nil) } == .zoneNotFound)
        #expect(await code { try await database.subscription(for: "s") } == .unknownItem)
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        #expect(
            await code { try await database.records(matching: query, inZoneWith: zone, resultsLimit: 1) }
                == .zoneNotFound)
    }

    @Test("is kept in step by a sync engine, until the user is removed")
    func syncEngine() async throws {
        let desk = try await SharedZone(loopCount: 2)
        let bob = try desk.desk.user("bob")
        let device = NotesDevice(bob, begins: false)
        device.launch { $0.database = bob.sharedCloudDatabase }
        let share = try await desk.share { $0.publicPermission = .readWrite }
        try await desk.save("first", "hello")
        let zoneID = try await desk.accept(share, by: bob).recordID.zoneID
        await device.wait { $0.texts == ["first": "hello"] }
        device.write("from Bob", CKRecord.ID(recordName: "second", zoneID: zoneID))
        let owner = NotesDevice(desk.owner)
        await owner.wait { $0.texts == ["first": "hello", "second": "from Bob"] }
        owner.write("hello all", desk.id("first"))
        await device.wait { $0.texts["first"] == "hello all" }
        let current = try await desk.desk.fetched(share)
        current.publicPermission = .none
        try await desk.owner.privateCloudDatabase.save(current)
        await device.wait { $0.texts.isEmpty }
    }
}

/// A zone that its owner shares as a whole.
final class SharedZone: Sendable {
    let desk: ShareLinkDesk

    var owner: CKContainer { desk.owner }

    convenience init(loopCount: Int) async throws { try await self.init(desk: ShareLinkDesk(loopCount: loopCount)) }

    init(desk: ShareLinkDesk) {
        self.desk = desk
    }

    func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: ShareLinkDesk.zoneID) }

    func save(_ name: String, _ text: String) async throws {
        let record = CKRecord(recordType: "Note", recordID: id(name))
        record["text"] = text
        try await owner.privateCloudDatabase.save(record)
    }

    func share(_ change: (CKShare) async throws -> Void) async throws -> CKShare {
        let share = CKShare(recordZoneID: ShareLinkDesk.zoneID)
        try await change(share)
        return try #require(try await owner.privateCloudDatabase.save(share) as? CKShare)
    }

    func accept(_ share: CKShare, by user: CKContainer) async throws -> CKShare {
        try await user.accept(user.shareMetadata(for: #require(share.url)))
    }
}
