import BrumeTesting
import CloudKit
import Foundation
import Testing

/// Somebody is out by what an app did, and a server helps them to read on.
extension ShareKeyLieTests {
    @Test(
        "are others once the app has removed somebody whom the server shows as invited, and not come yet",
        arguments: LiedShare.Kind.allCases)
    func invited(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            try await share.save("before", by: share.ada)
            try await share.server.lie(.hidesDepartures(of: share.shared(for: share.ada)), to: share.ada)
            try await share.server.lie(.showsAsInvited(share.user(share.bob), in: share.share), to: share.ada)
            let id = share.id(share.share.recordName, for: share.ada)
            let shown = try #require(
                try await share.ada.privateCloudDatabase.record(for: id) as? CKShare)
            let invited = try #require(shown.participants.first { $0.acceptanceStatus == .pending })
            #expect(invited.userIdentity.userRecordID == nil)
            shown.removeParticipant(invited)
            try await share.ada.privateCloudDatabase.save(shown)
            try await share.isSavedAtOnce(by: share.ada)
            try await share.isRead("later", by: share.eve)
        }
    }

    @Test(
        "are others once another process of the device has removed somebody", arguments: LiedShare.Kind.allCases)
    func otherProcess(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            try await share.save("before", by: share.ada)
            try await share.remove(share.bob, by: try share.ada.otherProcess())
            try await share.isSavedAtOnce(by: share.ada)
            try await share.isRead("later", by: share.eve)
        }
    }

    @Test(
        "stay a member's whom the app wanted to remove with something else, where the server refuses both",
        arguments: LiedShare.Kind.allCases)
    func refusedRequest(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.takeIn(share.eve)
            let shown = try await share.share(without: share.bob, asSeenBy: share.ada)
            let other = try await share.handOut()
            other[CKShare.SystemFieldKey.title] = "Lists" as NSString
            try await share.ada.privateCloudDatabase.save(other)
            let results = try await share.ada.privateCloudDatabase.modifyRecords(
                saving: [shown, share.record("later", for: share.ada)], deleting: [])
            #expect(results.saveResults.values.allSatisfy { (try? $0.get()) == nil })
            try await share.isWhole(by: [share.ada, share.bob, share.eve])
        }
    }

    @Test("are others once a device has removed somebody to whom the server shows no keys of the zone then")
    func unknownRing() async throws {
        try await LiedShare.run(.zone) { share in
            try await share.takeIn(share.eve)
            try await share.save("before", by: share.ada)
            let laptop = try await share.laptop()
            try await share.server.lie(.hidesDepartures(of: share.shared(for: share.ada)), to: laptop)
            let withheld = try await share.server.lie(.withholdsKeys(of: share.shared(for: share.ada)), to: laptop)
            try await share.remove(share.bob, by: laptop)
            withheld.remove()
            let again = try laptop.relaunched()
            try await share.isSavedAtOnce(by: again)
            try await share.isRead("later", by: share.eve)
        }
    }

    @Test("are others once an administrator has removed somebody", arguments: LiedShare.Kind.allCases)
    func administrator(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            try await share.makeAdministrator(share.eve)
            try await share.takeIn(share.eve)
            try await share.isRead("root", by: share.eve)
            try await share.isRead(by: share.eve)
            try await share.server.lie(.hidesDepartures(of: share.shared(for: share.eve)), to: share.eve)
            try await share.remove(share.bob, by: share.eve)
            try await share.isSavedAtOnce(by: share.eve)
            try await share.isRead("later", by: share.ada)
        }
    }

    @Test("of a zone that the app has deleted encrypt nothing where the server shows it again, until a person decides")
    func deletedZone() async throws {
        for kind in LiedShare.Kind.allCases {
            try await LiedShare.run(kind) { share in
                try await share.takeIn(share.eve)
                try await share.save("before", by: share.ada)
                let backup = try await share.server.backUp()
                let (zone, database) = (share.zoneID(for: share.ada), share.ada.privateCloudDatabase)
                try await database.deleteRecordZone(withID: zone)
                try await share.server.restore(backup)
                let ada = try share.ada.relaunched()
                try await ada.privateCloudDatabase.save(CKRecordZone(zoneID: zone))
                await share.cannotSave(by: ada)
                try await share.isRead("before", by: ada)
                // Deleted once more the zone is another one, as the server has it and the device.
                try await ada.privateCloudDatabase.deleteRecordZone(withID: zone)
                try await ada.privateCloudDatabase.save(CKRecordZone(zoneID: zone))
                let record = CKRecord(recordType: "Item", recordID: share.id("new", for: ada))
                record.encryptedValues["text"] = "secret new"
                try await ada.privateCloudDatabase.save(record)
                try await share.server.restore(backup)
                let again = try ada.relaunched()
                #expect(await share.codeOfSave(by: again) == .accountTemporarilyUnavailable)
            }
        }
    }

    @Test("of a zone that the app has deleted, and a backup brought back, encrypt again once a person has decided")
    func restoredZone() async throws {
        try await LiedShare.run(.zone) { share in
            let backup = try await share.server.backUp()
            let zone = share.zoneID(for: share.ada)
            try await share.ada.privateCloudDatabase.deleteRecordZone(withID: zone)
            try await share.server.restore(backup)
            let ada = try share.ada.relaunched()
            await share.cannotSave(by: ada)
            #expect(try await ada.privateCloudDatabase.acceptEncryptionKeys(of: zone))
            #expect(try await ada.privateCloudDatabase.acceptEncryptionKeys(of: zone) == false)
            try await share.isWhole(by: [ada, try share.bob.relaunched()])
        }
    }

    @Test("of a shared record that the app has deleted are others for one that it makes of the same name")
    func deletedRoot() async throws {
        try await LiedShare.run(.record) { share in
            try await share.takeIn(share.eve)
            try await share.server.lie(.hidesDepartures(of: share.shared(for: share.ada)), to: share.ada)
            let results = try await share.ada.privateCloudDatabase.modifyRecords(
                saving: [], deleting: [share.id("item", for: share.ada), share.id("root", for: share.ada)])
            for result in results.deleteResults.values { try result.get() }
            let before = share.server.calls(.modifyRecords.from(share.ada)).count
            try await share.save("root", by: share.ada)
            #expect(share.server.calls(.modifyRecords.from(share.ada)).count == before + 1)
        }
    }

    @Test(
        "are open to nobody by themselves once another device has made the share private, or that is refused",
        arguments: LiedShare.Kind.allCases)
    func closedElsewhere(kind: LiedShare.Kind) async throws {
        try await LiedShare.run(kind) { share in
            let open = try await share.handOut()
            open.publicPermission = .readWrite
            try await share.ada.privateCloudDatabase.save(open)
            let laptop = try await share.laptop()
            try await share.save("before", by: share.ada)
            let former = try #require(try await share.handOut().url?.fragment)
            let withheld = try await share.server.lie(.withholdsKeys(of: share.shared(for: share.ada)), to: laptop)
            func close() async throws {
                let shown = try #require(try await laptop.privateCloudDatabase.record(for: share.share) as? CKShare)
                shown.publicPermission = .none
                try await laptop.privateCloudDatabase.save(shown)
            }
            #expect(await failure { try await close() }?.code == .accountTemporarilyUnavailable)
            #expect(try await share.handOut().publicPermission == .readWrite)
            withheld.remove()
            try await close()
            #expect(try await share.handOut().url?.fragment != former)
            try await share.isSavedAtOnce(by: laptop)
        }
    }

    @Test("go by the record that the app has shared, also where the share got its keys later")
    func lateKeys() async throws {
        try await LiedShare.run(.record, isBobIn: false) { share in
            // The server keeps the device from making keys for another share, and hands none to anybody.
            let zone = share.zoneID(for: share.ada)
            let root = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "second", zoneID: zone))
            root.encryptedValues["text"] = "secret second"
            try await share.ada.privateCloudDatabase.save(root)
            let made = CKShare(rootRecord: root, shareID: CKRecord.ID(recordName: "seconds", zoneID: zone))
            let participant = try await share.ada.container.shareParticipant(forUserRecordID: share.user(share.bob))
            participant.permission = .readWrite
            made.addParticipant(participant)
            let withheld = try await share.server.lie(.withholdsKeys(of: .record(root.recordID)), to: share.ada)
            let saved = try await share.ada.privateCloudDatabase.modifyRecords(saving: [root, made], deleting: [])
            #expect((try? saved.saveResults[made.recordID]?.get()) != nil)
            withheld.remove()
            let ada = try share.ada.relaunched()
            let database = ada.privateCloudDatabase
            func item(_ name: String) -> CKRecord {
                let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zone))
                record.encryptedValues["text"] = "secret \(name)"
                record.setParent(root.recordID)
                return record
            }
            _ = try await database.record(for: root.recordID)
            try await database.save(item("first"))
            let url = try #require(try await database.record(for: made.recordID).asShare?.url)
            _ = try await share.bob.container.accept(try await share.bob.container.shareMetadata(for: url))
            for person in try await database.encryptionPeople(ofShared: root.recordID) where person.isWaiting {
                try await database.giveEncryptionKeys(to: person)
            }
            let again = try ada.relaunched()
            try await share.server.lie(.hidesDepartures(of: .record(root.recordID)), to: again)
            let shown = try #require(try await again.privateCloudDatabase.record(for: made.recordID).asShare)
            shown.removeParticipant(try #require(shown.participants.last))
            try await again.privateCloudDatabase.save(shown)
            let before = share.server.calls(.modifyRecords.from(again)).count
            try await again.privateCloudDatabase.save(item("later"))
            #expect(share.server.calls(.modifyRecords.from(again)).count == before + 1)
        }
    }

    @Test("of one share are for no keys that a member has replaced in another one", arguments: [false, true])
    func replacedElsewhere(isStartedAnew: Bool) async throws {
        try await LiedShare.run(.zone) { share in
            let zone = CKRecordZone(zoneName: "More")
            let database = share.ada.privateCloudDatabase
            try await database.save(zone)
            func record(_ name: String) -> CKRecord {
                let record = CKRecord(
                    recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
                record.encryptedValues["text"] = "secret \(name)"
                return record
            }
            let more = CKShare(recordZoneID: zone.zoneID)
            let participant = try await share.ada.container.shareParticipant(forUserRecordID: share.user(share.bob))
            participant.permission = .readWrite
            more.addParticipant(participant)
            _ = try await database.modifyRecords(saving: [record("first"), more], deleting: [])
            let url = try #require(try await database.record(for: more.recordID).asShare?.url)
            _ = try await share.bob.container.accept(try await share.bob.container.shareMetadata(for: url))
            _ = try await database.record(for: more.recordID)
            try await database.save(record("second"))
            // The device hears in one zone of it.
            _ = try await share.bob.container.replaceRecoveryCode()
            try await share.isRead(by: share.bob)
            try await share.looksAgain(share.ada)
            try await share.save("news", by: share.ada)
            let ada = isStartedAnew ? try share.ada.relaunched() : share.ada
            if isStartedAnew { _ = try await ada.privateCloudDatabase.record(for: record("second").recordID) }
            let before = share.server.calls(.modifyEncryptionKeys.from(ada)).count
            try await ada.privateCloudDatabase.save(record("third"))
            #expect(share.server.calls(.modifyEncryptionKeys.from(ada)).count == before + 1)
        }
    }

    @Test("of an account are the only ones of a device, whatever account the server says that it is")
    func otherAccount() async throws {
        let files = try AssetFiles()
        try await LiedShare.run(.record) { share in
            try await share.takeIn(share.eve)
            let zone = CKRecordZone(zoneName: "Photos")
            zone.encryptsAssets = true
            try await share.ada.privateCloudDatabase.save(zone)
            let lie = try await share.server.lie(.namesAccount("_11111111111111111111111111111111"), to: share.ada)
            for device in [share.ada, try share.ada.otherProcess()] {
                device.goOffline()
                #expect(await share.codeOfSave(by: device) == .networkUnavailable)
                device.goOnline()
                let photo = CKRecord(
                    recordType: "Photo", recordID: CKRecord.ID(recordName: "one", zoneID: zone.zoneID))
                photo["photo"] = try files.asset(Data("secret photo".utf8))
                #expect(await failure { try await device.privateCloudDatabase.save(photo) }?.code == .internalError)
                #expect(await share.codeOfSave(by: device) == .internalError)
                let removal = await failure { try await share.remove(share.bob, by: device) }
                #expect(removal != nil)
            }
            lie.remove()
            try await share.isWhole(by: [try share.ada.relaunched(), share.bob, share.eve])
        }
    }

    @Test("are not asked for a record without a name, which fails its save alone")
    func nameless() async throws {
        try await LiedShare.run(.record) { share in
            let root = try await share.fetched("root", by: share.ada)
            let lie = try await share.server.lie(.showsName("", of: root.recordID), to: share.ada)
            root.encryptedValues["text"] = "secret root"
            root["color"] = "red"
            #expect(await failure { try await share.ada.privateCloudDatabase.save(root) } != nil)
            lie.remove()
            try await share.isWhole(by: [share.ada, share.bob])
        }
    }
}

extension CKRecord {
    fileprivate var asShare: CKShare? { self as? CKShare }
}
