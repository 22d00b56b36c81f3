import BrumeEncryption
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// Those who have a share's keys or wait for them, and what a person decides about them.
extension EncryptedSharesTests {
    private func people(
        of id: CKRecord.ID, on device: CKContainer, isOwner: Bool = true
    ) async throws -> [CKContainer.EncryptionPerson] {
        try await (isOwner ? device.privateCloudDatabase : device.sharedCloudDatabase).encryptionPeople(ofShared: id)
    }

    private func withoutKeys(_ url: URL) throws -> URL {
        var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
        parts.fragment = nil
        return try #require(parts.url)
    }

    @Test("are given to a guest who came without the link's keys once a person says so")
    func approval() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        #expect(try await people(of: root.recordID, on: ada).isEmpty)
        let zoneID = try await accept(try withoutKeys(url), by: bob)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        // An account without keys is known by none.
        #expect(try await text(id, on: bob) == nil)
        #expect(try await people(of: root.recordID, on: ada).isEmpty)
        _ = try await bob.recoveryCode()
        // So Ada hears of it, as by a fetch.
        #expect(try await people(of: id, on: bob, isOwner: false).count == 1)
        let waiting = try #require(try await people(of: root.recordID, on: ada).first)
        #expect(waiting.userRecordID == (try await bob.userRecordID()))
        #expect(waiting.isWaiting && waiting.standing == .unknown)
        // Bob sees the owner, and the same number on his device.
        let owner = try #require(try await people(of: id, on: bob, isOwner: false).first)
        #expect(owner.userRecordID == (try await ada.userRecordID()) && !owner.isWaiting)
        #expect(owner.safetyNumber == waiting.safetyNumber)
        let groups = waiting.safetyNumber.split(separator: " ")
        #expect(groups.count == 12 && groups.allSatisfy { $0.count == 5 && Int($0) != nil })

        // Looking gives nobody keys.
        #expect(try await text(id, on: bob) == nil)
        try await ada.privateCloudDatabase.giveEncryptionKeys(to: waiting)
        let seen = try await bob.sharedCloudDatabase.record(for: id)
        #expect(seen.encryptedValues["text"] == "secret")
        seen.encryptedValues["text"] = "ours"
        try await bob.sharedCloudDatabase.save(seen)
        #expect(try await text(root.recordID, on: ada, isOwner: true) == "ours")
        let member = try #require(try await people(of: root.recordID, on: ada).first)
        #expect(!member.isWaiting && member.standing == .seen && member.safetyNumber == waiting.safetyNumber)
        try await ada.privateCloudDatabase.giveEncryptionKeys(to: waiting)
        try await ada.trust(member)
        #expect(try await people(of: root.recordID, on: ada).map(\.standing) == [.compared])
        #expect(try await people(of: id, on: bob, isOwner: false).map(\.standing) == [.seen])
    }

    @Test("have an owner who is known by their link to whoever came by it")
    func ownerByLink() async throws {
        let (ada, bob, eve) = (device(0), device(1), device(2))
        let (root, _, url) = try await shared("secret", by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: try await accept(url, by: bob))
        _ = try await eve.recoveryCode()
        _ = try await accept(try withoutKeys(url), by: eve)
        try await handOutKeys(root.recordID, by: ada)
        for guest in [bob, eve] { _ = try await text(id, on: guest) }
        let names = [try await ada.userRecordID(), try await bob.userRecordID()]
        func standing(_ user: CKRecord.ID, on device: CKContainer) async throws -> CKContainer.EncryptionPerson
            .Standing?
        {
            try await people(of: id, on: device, isOwner: false).first { $0.id == user }?.standing
        }
        #expect(try await standing(names[0], on: bob) == .link)
        #expect(try await standing(names[0], on: eve) == .seen)
        #expect(try await standing(names[1], on: eve) == .seen)
    }

    @Test(
        "leave whoever has them in a guest's name once the guest's own are trusted, and are told of by the checked ring"
    )
    func impostor() async throws {
        let (ada, bob) = (device(0), device(1))
        let account = ada.core.account
        let zones = account.encryptedZones
        let (root, _, url) = try await shared("secret", by: ada)
        _ = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let ring = ZoneRingID(zone: "Diary", root: "root")
        let options = ada.privateCloudDatabase.callOptions
        let known = try #require(try await zones.driver.kept(ring, for: account).known)
        let people = try await zones.driver.people(ring, for: account, options)
        #expect(try await people.shown(known.chain.entries[0].entry).isEmpty)
        let bobs = try #require(try await people.shown(known.chain.head).first)
        #expect(try await people.shown(nil) == [bobs] && bobs.isMember)
        let genuine = try Person(bobs.user, bobs.statements.chain.last.scope)
        try await zones.trust(
            ShownPerson(
                statements: try genuine.known(), trust: nil, isOther: true, isMember: false, isWaiting: false),
            ring, for: account, options)
        let head = try #require(try await zones.driver.kept(ring, for: account).known).chain.head
        #expect(head.member(named: bobs.user) == nil && head.number > known.chain.head.number)
    }

    @Test("of a whole zone are given in the same way")
    func approvalInZone() async throws {
        let (ada, bob) = (device(0), device(1))
        _ = try await bob.recoveryCode()
        let zone = CKRecordZone(zoneName: "Diary")
        let database = ada.privateCloudDatabase
        try await database.save(zone)
        try await database.save(page("secret", in: zone, name: "first"))
        let share = CKShare(recordZoneID: zone.zoneID)
        share.publicPermission = .readOnly
        try await database.save(share)
        let zoneID = try await accept(try withoutKeys(try #require(share.url)), by: bob)
        let people = try await database.encryptionPeople(of: zone.zoneID)
        try await database.giveEncryptionKeys(to: try #require(people.first))
        let id = CKRecord.ID(recordName: "first", zoneID: zoneID)
        #expect(try await text(id, on: bob) == "secret")
        #expect(try await bob.sharedCloudDatabase.encryptionPeople(of: zoneID).count == 1)
    }

    @Test("of a share that was made without them reach whoever accepted it before, once a person says so")
    func lateKeys() async throws {
        let (ada, bob) = (device(0), device(1))
        let database = ada.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Diary")
        try await database.save(zone)
        let root = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "root", zoneID: zone.zoneID))
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readOnly
        _ = try await database.modifyRecords(saving: [root, share], deleting: [])
        let zoneID = try await accept(try #require(share.url), by: bob)
        #expect(await code { try await database.encryptionPeople(ofShared: root.recordID) } == .unknownItem)
        root.encryptedValues["text"] = "secret"
        try await database.save(root)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        #expect(try await text(id, on: bob) == nil)
        let fetched = try await database.record(for: root.recordID)
        fetched.encryptedValues["text"] = "more"
        try await database.save(fetched)
        _ = try await bob.recoveryCode()
        #expect(try await text(id, on: bob) == nil)
        let waiting = try #require(try await people(of: root.recordID, on: ada).first)
        try await database.giveEncryptionKeys(to: waiting)
        #expect(try await text(id, on: bob) == "more")
    }

    @Test("are given to a guest who began anew once a person has compared the safety numbers")
    func changedGuest() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        #expect(try await text(id, on: bob) == "secret")
        let before = try #require(try await people(of: root.recordID, on: ada).first)
        _ = try await bob.resetEncryption()
        #expect(try await text(id, on: bob) == nil)
        let changed = try #require(try await people(of: root.recordID, on: ada).first)
        #expect(changed.standing == .changed && changed.isWaiting && changed.safetyNumber != before.safetyNumber)
        #expect(
            await code { try await ada.privateCloudDatabase.giveEncryptionKeys(to: changed) } == .permissionFailure)
        #expect(try await text(id, on: bob) == nil)
        let trusted = try await ada.trust(changed)
        #expect(trusted.standing == .compared && trusted.safetyNumber == changed.safetyNumber)
        #expect(try await people(of: root.recordID, on: ada).map(\.standing) == [.compared])
        try await ada.privateCloudDatabase.giveEncryptionKeys(to: trusted)
        #expect(try await text(id, on: bob) == "secret")
    }

    @Test("of an owner who began anew are a guest's again who has compared the safety numbers")
    func changedOwner() async throws {
        let (ada, bob) = (device(0), device(1))
        let (root, _, url) = try await shared("secret", by: ada)
        let former = try await accept(url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        let id = CKRecord.ID(recordName: "root", zoneID: former)
        #expect(try await text(id, on: bob) == "secret")
        _ = try await ada.resetEncryption()
        let again = try await shared("anew", by: ada)
        for url in [again.url, try withoutKeys(again.url)] {
            #expect(await code { try await accept(url, by: bob) } == .permissionFailure)
        }
        try await handOutKeys(root.recordID, by: ada)
        #expect(try await text(id, on: bob) == nil)
        let owner = try #require(try await people(of: id, on: bob, isOwner: false).first)
        #expect(owner.standing == .changed)
        let ring = ZoneRingID(owner: id.zoneID.ownerName, zone: id.zoneID.zoneName, root: "root")
        #expect(bob.core.account.encryptedZones.knownKeys(ring) != nil)
        try await bob.trust(owner)
        // What was known with the former keys is void.
        #expect(bob.core.account.encryptedZones.knownKeys(ring) == nil)
        #expect(try await people(of: id, on: bob, isOwner: false).map(\.standing) == [.compared])
        _ = try await accept(again.url, by: bob)
        try await handOutKeys(root.recordID, by: ada)
        #expect(try await text(id, on: bob) == "anew")
    }

    @Test("are not given where there is nobody to give them to, or another one has to")
    func refusals() async throws {
        let (ada, bob) = (device(0), device(1))
        _ = try await bob.recoveryCode()
        let (root, _, url) = try await shared("secret", by: ada)
        let zoneID = try await accept(try withoutKeys(url), by: bob)
        let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
        let waiting = try #require(try await people(of: root.recordID, on: ada).first)
        let owner = try #require(try await people(of: id, on: bob, isOwner: false).first)
        for database in [bob.sharedCloudDatabase, bob.privateCloudDatabase] {
            #expect(await code { try await database.giveEncryptionKeys(to: owner) } == .invalidArguments)
        }
        #expect(await code { try await ada.publicCloudDatabase.encryptionPeople(ofShared: id) } == .invalidArguments)
        #expect(
            await code { try await ada.sharedCloudDatabase.encryptionPeople(ofShared: root.recordID) }
                == .invalidArguments)
        let eve = device(2)
        for container in [eve, bob] {
            let database = container.privateCloudDatabase
            #expect(await code { try await database.giveEncryptionKeys(to: waiting) } == .invalidArguments)
            #expect(await code { try await container.trust(waiting) } == .invalidArguments)
        }
        #expect(
            await code { try await eve.privateCloudDatabase.encryptionPeople(ofShared: root.recordID) } == .unknownItem)
        _ = try await eve.recoveryCode()
        #expect(await code { try await eve.sharedCloudDatabase.encryptionPeople(ofShared: id) } == .zoneNotFound)
        // Another device of the account lists the same, and gives the keys as well.
        let laptop = device(0)
        try await laptop.useRecoveryCode(try await ada.recoveryCode().text)
        #expect(try await people(of: root.recordID, on: laptop).map(\.isWaiting) == [true])
        // Bob leaves before Ada has decided.
        let share = try #require(try await bob.sharedCloudDatabase.record(for: id).share)
        try await bob.sharedCloudDatabase.deleteRecord(withID: share.recordID)
        #expect(await code { try await ada.privateCloudDatabase.giveEncryptionKeys(to: waiting) } == .unknownItem)
        #expect(try await people(of: root.recordID, on: ada).isEmpty)
    }
}
