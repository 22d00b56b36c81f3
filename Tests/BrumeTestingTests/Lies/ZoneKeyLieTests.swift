import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("Keys of a zone on a server that lies", .timeLimit(.minutes(4)))
struct ZoneKeyLieTests {
    /// The zone gets its second key, which the laptop has not seen.
    private func newKey(_ diary: LiedDiary) async throws {
        _ = try await diary.phone.container.replaceRecoveryCode()
        try await diary.save("second")
    }

    /// A third device, which has the account's keys and has seen no zone.
    private func tablet(_ diary: LiedDiary) async throws -> TestDevice {
        let tablet = try diary.server.device(of: "ada")
        try await diary.phone.letIn(tablet)
        return tablet
    }

    /// All devices read what was saved, and save more.
    private func isWhole(_ diary: LiedDiary, _ names: [String], by devices: [TestDevice]) async throws {
        var names = names
        for device in devices {
            for name in names { try await diary.isRead(name, by: device) }
            names.append(UUID().uuidString)
            try await diary.save(names[names.count - 1], by: device)
        }
        for device in devices { try await diary.isRead(names[names.count - 1], by: device) }
    }

    @Test("that are hidden stay with the devices that know them, and one that does not reads nothing and makes none")
    func hidden() async throws {
        try await LiedDiary.run { diary in
            let tablet = try await tablet(diary)
            let lies = [
                try await diary.server.lie(.hidesKeys(ofZone: diary.zone.zoneID), to: diary.laptop),
                try await diary.server.lie(.hidesKeys(ofZone: diary.zone.zoneID), to: tablet),
            ]
            let seen = try await diary.fetched(by: tablet)
            #expect(seen.unreadableFields == ["text": .noKeys, "title": .noKeys])
            #expect(await diary.codeOfSave("tablet", by: tablet) == .zoneBusy)
            // The laptop has the keys on its disk, and does not ask for what it knows.
            let laptop = try diary.laptop.relaunched()
            try await diary.isRead(by: laptop)
            try await diary.save("laptop", by: laptop)
            // It does where it meets a key that it does not know.
            try await newKey(diary)
            #expect(try await diary.fetched("second", by: laptop).unreadableFields["text"] == .keyMissing)
            #expect(await diary.codeOfSave("more", by: laptop) == .zoneBusy)
            try await diary.isRead(by: laptop)
            for lie in lies { lie.remove() }
            try await isWhole(
                diary, ["page", "laptop", "second"],
                by: [diary.phone, try laptop.relaunched(), try tablet.relaunched()])
        }
    }

    @Test("that are older than those that a device knows are given back, and no value is encrypted with them")
    func older() async throws {
        try await LiedDiary.run { diary in
            try await newKey(diary)
            try await diary.isRead("second", by: diary.laptop)
            let lie = try await diary.server.lie(.showsKeys(ofZone: diary.zone.zoneID, upTo: 1), to: diary.laptop)
            // A third key makes it ask.
            _ = try await diary.phone.container.replaceRecoveryCode()
            try await diary.save("third")
            #expect(try await diary.fetched("third").unreadableFields["text"] == .keyMissing)
            #expect(await diary.codeOfSave("more") == .zoneBusy)
            try await diary.isRead("second", by: diary.laptop)
            lie.remove()
            try await isWhole(
                diary, ["page", "second", "third"], by: [diary.phone, try diary.laptop.relaunched()])
        }
    }

    @Test("that are older and the only ones that a device was ever shown read what they are for, and encrypt nothing")
    func olderForANewDevice() async throws {
        try await LiedDiary.run { diary in
            try await newKey(diary)
            let tablet = try await tablet(diary)
            let lie = try await diary.server.lie(.showsKeys(ofZone: diary.zone.zoneID, upTo: 1), to: tablet)
            try await diary.isRead(by: tablet)
            #expect(try await diary.fetched("second", by: tablet).unreadableFields["text"] == .keyMissing)
            let code = await diary.codeOfSave("more", by: tablet)
            #expect(code == .zoneBusy)
            lie.remove()
            try await isWhole(diary, ["page", "second"], by: [diary.phone, diary.laptop, try tablet.relaunched()])
        }
    }

    @Test("that were forked are told from the others', with which the device encrypts nothing and opens nothing")
    func forked() async throws {
        try await LiedDiary.run { diary in
            try await newKey(diary)
            let lie = try await diary.server.lie(.forksKeys(ofZone: diary.zone.zoneID, after: 1), to: diary.laptop)
            #expect(await diary.codeOfSave("apart") == .accountTemporarilyUnavailable)
            lie.remove()
            #expect(await diary.codeOfSave("apart") == .accountTemporarilyUnavailable)
            try await diary.isRead(by: diary.laptop)
            #expect(try await diary.fetched("second").unreadableFields["text"] == .keyMissing)
            #expect(await failure { try await diary.fetched("apart", by: diary.phone) }?.code == .unknownItem)
            // What is plain is saved all the same.
            let plain = CKRecord(recordType: "Page", recordID: diary.id("plain"))
            try await diary.laptop.privateCloudDatabase.save(plain)
            try await isWhole(diary, ["page", "second"], by: [diary.phone, try await tablet(diary)])
        }
    }

    @Test("that a stranger made in the account's name open nothing and encrypt nothing")
    func strangers() async throws {
        try await LiedDiary.run { diary in
            try await newKey(diary)
            let tablet = try await tablet(diary)
            let devices = [diary.laptop, tablet]
            var lies: [ScriptRule] = []
            for device in devices {
                lies.append(try await diary.server.lie(.showsStrangersKeys(ofZone: diary.zone.zoneID), to: device))
            }
            for device in devices {
                #expect(await diary.codeOfSave("more", by: device) == .accountTemporarilyUnavailable)
            }
            try await diary.isRead(by: diary.laptop)
            #expect(try await diary.fetched("second").unreadableFields["text"] == .keyMissing)
            #expect(try await diary.fetched(by: tablet).unreadableFields["text"] == .noKeys)
            for lie in lies { lie.remove() }
            try await isWhole(diary, ["page", "second"], by: [diary.phone] + devices.map { try $0.relaunched() })
        }
    }

    @Test("that are refused again and again end a save after some attempts, which all were encrypted")
    func refused() async throws {
        try await LiedDiary.run { diary in
            let lie = try await diary.server.lie(.refusesKeys(ofZone: diary.zone.zoneID), to: diary.laptop)
            #expect(await diary.codeOfSave("more") == .accountTemporarilyUnavailable)
            #expect((2...20).contains(lie.firedCount))
            #expect(diary.server.calls(.modifyRecords.from(diary.laptop)).count == lie.firedCount)
            let record = CKRecord(recordType: "Page", recordID: diary.id("plain"))
            record["color"] = "yellow"
            try await diary.laptop.privateCloudDatabase.save(record)
            lie.remove()
            try await diary.save("more", by: diary.laptop)
            try await isWhole(diary, ["page", "more"], by: [diary.phone, diary.laptop])
        }
    }

    @Test("that are refused again and again leave what a sync engine is to send pending, until they are not")
    func refusedInEngine() async throws {
        try await LiedDiary.run { diary in
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: diary.laptop, automaticallySync: false)
            let lie = try await diary.server.lie(.refusesKeys(ofZone: diary.zone.zoneID), to: diary.laptop)
            delegate.save([diary.record("more")], with: engine)
            await #expect(throws: CKError.self) { try await engine.sendChanges() }
            #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(diary.id("more"))])
            lie.remove()
            try await engine.sendChanges()
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            try await diary.isRead("more", by: diary.phone)
        }
    }

    @Test("that are hidden, withheld, older or a stranger's keep a sync engine from sending, until they are not")
    func engine() async throws {
        try await LiedDiary.run { diary in
            try await newKey(diary)
            let zone = diary.zone.zoneID
            let lies: [ServerLie] = [
                .hidesKeys(ofZone: zone), .withholdsKeys(ofZone: zone), .showsKeys(ofZone: zone, upTo: 1),
                .showsStrangersKeys(ofZone: zone),
            ]
            for (number, lie) in lies.enumerated() {
                let tablet = try await tablet(diary)
                let delegate = TestSyncEngineDelegate()
                let engine = delegate.makeEngine(on: tablet, automaticallySync: false)
                let rule = try await diary.server.lie(lie, to: tablet)
                delegate.save([diary.record("new \(number)")], with: engine)
                let error = await failure { try await engine.sendChanges() }
                #expect(error != nil, "\(lie)")
                #expect(
                    engine.state.pendingRecordZoneChanges == [.saveRecord(diary.id("new \(number)"))],
                    "\(lie): \(String(describing: error))")
                rule.remove()
                try await engine.sendChanges()
                try await diary.isRead("new \(number)", by: diary.phone)
            }
        }
    }

    @Test("of a zone that is said to be deleted, and was not, are gone on with")
    func deleted() async throws {
        try await LiedDiary.run { diary in
            for reason in [CKDatabase.DatabaseChange.Deletion.Reason.deleted, .purged, .encryptedDataReset] {
                let delegate = TestSyncEngineDelegate()
                let engine = delegate.makeEngine(on: diary.laptop, automaticallySync: false)
                try await engine.fetchChanges()
                #expect(delegate.records[diary.page] != nil)
                let lie = try await diary.server.lie(
                    .saysZoneWasDeleted(diary.zone.zoneID, reason: reason), to: diary.laptop)
                try await engine.fetchChanges()
                let expected = reason == .purged ? CKError.Code.userDeletedZone : .zoneNotFound
                #expect(await diary.codeOfSave("more") == expected)
                #expect(await failure { try await diary.fetched() }?.code == expected)
                lie.remove()
                _ = try await diary.laptop.privateCloudDatabase.save(CKRecordZone(zoneID: diary.zone.zoneID))
                try await diary.save("after \(reason)", by: diary.laptop)
                try await isWhole(diary, ["page", "after \(reason)"], by: [diary.phone, diary.laptop])
            }
        }
    }

    /// What a device encrypted before it can read no more: Documentation/Security.md.
    @Test("of a zone that is said to be deleted, and that are hidden, are replaced by others, which nobody else gets")
    func deletedAndHidden() async throws {
        try await LiedDiary.run { diary in
            let database = diary.laptop.privateCloudDatabase
            let told = try await diary.server.lie(.saysZoneWasDeleted(diary.zone.zoneID), to: diary.laptop)
            #expect(try await database.databaseChanges(since: nil).deletions.map(\.zoneID) == [diary.zone.zoneID])
            #expect(await diary.codeOfSave("lost") == .zoneNotFound)
            told.remove()
            let hidden = try await diary.server.lie(.forksKeys(ofZone: diary.zone.zoneID, after: 0), to: diary.laptop)
            _ = try await database.save(CKRecordZone(zoneID: diary.zone.zoneID))
            // The server of the test takes no value with keys that it does not have.
            #expect(await diary.codeOfSave("lost") == .accountTemporarilyUnavailable)
            hidden.remove()
            #expect(await diary.codeOfSave("lost") == .accountTemporarilyUnavailable)
            #expect(try await diary.fetched().unreadableFields == ["text": .keyMissing, "title": .keyMissing])
            try await isWhole(diary, ["page"], by: [diary.phone, try await tablet(diary)])
        }
    }
}
