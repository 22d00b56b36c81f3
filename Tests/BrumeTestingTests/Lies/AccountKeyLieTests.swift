import BrumeTesting
import CloudKit
import Testing

@Suite("An account's keys on a server that lies", .timeLimit(.minutes(4)))
struct AccountKeyLieTests {
    /// The laptop has a conflict: it encrypts nothing, sends nothing plain instead, and reads what it did before.
    private func hasConflict(_ diary: LiedDiary) async throws {
        #expect(try await diary.laptop.container.encryptionStatus() == .conflict)
        let count = diary.server.calls(.modifyRecords.from(diary.laptop)).count
        #expect(await diary.codeOfSave("conflict") == .accountTemporarilyUnavailable)
        #expect(diary.server.calls(.modifyRecords.from(diary.laptop)).count == count)
        #expect(
            await failure { try await diary.laptop.container.encryptionDevices() }?.code
                == .accountTemporarilyUnavailable)
        // No keys are made for those that the server shows.
        #expect(
            await failure { try await diary.laptop.container.replaceRecoveryCode() }?.code
                == .accountTemporarilyUnavailable)
        let plain = try await diary.fetched()
        plain["number"] = 1
        try await diary.laptop.privateCloudDatabase.save(plain)
    }

    /// The account has its devices and no other ones, which read what was saved.
    private func isWhole(_ diary: LiedDiary, deviceCount: Int = 2) async throws {
        #expect(try await diary.laptop.container.encryptionStatus() == .available)
        #expect(try await diary.laptop.container.encryptionDevices().count == deviceCount)
        try await diary.save("after", by: diary.laptop)
        for device in [diary.phone, diary.laptop] {
            try await diary.isRead(by: device)
            try await diary.isRead("after", by: device)
        }
    }

    @Test("that are hidden are given back, and no others are made in their place")
    func hidden() async throws {
        try await LiedDiary.run { diary in
            let lie = try await diary.server.lie(.hidesAccountKeys, to: diary.laptop)
            #expect(
                await failure { try await diary.laptop.container.encryptionStatus() }?.code == .serviceUnavailable)
            #expect(
                await failure { try await diary.laptop.container.recoveryCode() }?.code == .serviceUnavailable)
            try await diary.isRead(by: diary.phone)
            lie.remove()
            try await isWhole(diary)
        }
    }

    @Test("that are hidden from a new device can't be replaced by it, and the recovery code finds none to open")
    func hiddenFromANewDevice() async throws {
        try await LiedDiary.run { diary in
            let tablet = try diary.server.device(of: "ada")
            let lie = try await diary.server.lie(.hidesAccountKeys, to: tablet)
            #expect(try await tablet.container.encryptionStatus() == .notSetUp)
            #expect(await diary.codeOfSave("more", by: tablet) == .serviceUnavailable)
            let code = try await diary.phone.container.replaceRecoveryCode().text
            #expect(await failure { try await tablet.container.useRecoveryCode(code) }?.code == .unknownItem)
            #expect(try await diary.fetched(by: tablet).unreadableFields["text"] == .noKeys)
            lie.remove()
            #expect(try await tablet.container.encryptionStatus() == .noKeys(.notEnrolled))
            try await tablet.container.useRecoveryCode(code)
            try await diary.isRead(by: tablet)
            try await isWhole(diary, deviceCount: 3)
        }
    }

    @Test("that are withheld leave what is to be encrypted pending, and what is encrypted unread, until they are not")
    func withheld() async throws {
        try await LiedDiary.run { diary in
            let laptop = try diary.laptop.relaunched()
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: laptop, automaticallySync: false)
            let lie = try await diary.server.lie(.withholdsAccountKeys, to: laptop)
            #expect(await failure { try await laptop.container.encryptionStatus() }?.code == .internalError)
            #expect(await diary.codeOfSave("more", by: laptop) == .accountTemporarilyUnavailable)
            #expect(try await diary.fetched(by: laptop).unreadableFields == ["text": .noKeys, "title": .noKeys])
            delegate.save([diary.record("pending")], with: engine)
            await #expect(throws: CKError.self) { try await engine.sendChanges() }
            #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(diary.id("pending"))])
            lie.remove()
            try await engine.sendChanges()
            try await diary.isRead("pending", by: diary.phone)
            try await diary.isRead(by: try laptop.relaunched())
        }
    }

    @Test("that are older than those that a device knows are given what is missing, and none goes back to them")
    func older() async throws {
        try await LiedDiary.run { diary in
            let lie = try await diary.server.lie(.showsAccountKeys(upTo: 1), to: diary.laptop)
            #expect(
                await failure { try await diary.laptop.container.encryptionStatus() }?.code == .serviceUnavailable)
            lie.remove()
            try await isWhole(diary)
        }
    }

    @Test("that are older than the newest let a device that was removed know nothing of what is new")
    func hiddenRemoval() async throws {
        try await LiedDiary.run { diary in
            let lie = try await diary.server.lie(.showsAccountKeys(upTo: 2), to: diary.laptop)
            let devices = try await diary.phone.container.encryptionDevices()
            try await diary.phone.container.removeEncryptionDevice(try #require(devices.first { !$0.isCurrent }))
            try await diary.save("new")
            #expect(try await diary.laptop.container.encryptionStatus() == .available)
            #expect(try await diary.fetched("new").unreadableFields.count == 2)
            #expect(await diary.codeOfSave("more") != nil)
            try await diary.isRead(by: diary.laptop)
            lie.remove()
            #expect(try await diary.laptop.container.encryptionStatus() == .noKeys(.removed))
            #expect(await diary.codeOfSave("more") == .accountTemporarilyUnavailable)
            try await diary.isRead("new", by: diary.phone)
        }
    }

    @Test("that were forked are a conflict as soon as the device sees the others")
    func forked() async throws {
        try await LiedDiary.run { diary in
            let lie = try await diary.server.lie(.forksAccountKeys(after: 2), to: diary.laptop)
            _ = try await diary.phone.container.replaceRecoveryCode()
            let code = try await diary.laptop.container.replaceRecoveryCode().text
            #expect(try await diary.laptop.container.encryptionStatus() == .available)
            lie.remove()
            try await hasConflict(diary)
            // The code of the fork lets nobody in.
            let tablet = try diary.server.device(of: "ada")
            #expect(await failure { try await tablet.container.useRecoveryCode(code) }?.code == .invalidArguments)
            // A person decides: the phone's code lets the laptop in, with other keys than those that it had.
            try await diary.laptop.container.useRecoveryCode(
                try await diary.phone.container.replaceRecoveryCode().text)
            try await isWhole(diary, deviceCount: 3)
        }
    }

    @Test("that a stranger made are a conflict, and none is encrypted for them")
    func strangers() async throws {
        try await LiedDiary.run { diary in
            let lies = [
                try await diary.server.lie(.showsStrangersAccountKeys, to: diary.laptop),
                try await diary.server.lie(.showsStrangersKeys(ofZone: diary.zone.zoneID), to: diary.laptop),
            ]
            try await hasConflict(diary)
            lies[1].remove()
            lies[0].remove()
            try await isWhole(diary)
        }
    }

    @Test(
        "that a stranger made are not opened by the recovery code, and a new device that was shown them has a conflict")
    func strangersForANewDevice() async throws {
        try await LiedDiary.run { diary in
            let tablet = try diary.server.device(of: "ada")
            let code = try await diary.phone.container.replaceRecoveryCode().text
            let lie = try await diary.server.lie(.showsStrangersAccountKeys, to: tablet)
            #expect(try await tablet.container.encryptionStatus() == .noKeys(.notEnrolled))
            #expect(await failure { try await tablet.container.useRecoveryCode(code) }?.code == .invalidArguments)
            #expect(await diary.codeOfSave("more", by: tablet) == .accountTemporarilyUnavailable)
            #expect(try await diary.fetched(by: tablet).unreadableFields["text"] == .noKeys)
            lie.remove()
            #expect(try await tablet.container.encryptionStatus() == .conflict)
            try await tablet.container.useRecoveryCode(code)
            try await diary.isRead(by: tablet)
            try await isWhole(diary, deviceCount: 3)
        }
    }

    @Test("with a device that the server put in are a conflict")
    func strangersDevice() async throws {
        try await LiedDiary.run { diary in
            let lie = try await diary.server.lie(.addsStrangersDevice, to: diary.laptop)
            try await hasConflict(diary)
            lie.remove()
            try await isWhole(diary)
        }
    }

    @Test("that were never reset are a conflict where a reset is told, and none is encrypted for the new ones")
    func inventedReset() async throws {
        try await LiedDiary.run { diary in
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: diary.laptop, automaticallySync: false)
            try await engine.fetchChanges()
            let lie = try await diary.server.lie(.inventsReset(deleting: diary.zone.zoneID), to: diary.laptop)
            try await engine.fetchChanges()
            #expect(try await diary.laptop.container.encryptionStatus() == .conflict)
            // The app uploads again, as it would after a reset.
            let count = diary.server.calls(.modifyRecords.from(diary.laptop)).count
            delegate.save([diary.record("again")], with: engine)
            await #expect(throws: CKError.self) { try await engine.sendChanges() }
            #expect(diary.server.calls(.modifyRecords.from(diary.laptop)).count == count)
            #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(diary.id("again"))])
            lie.remove()
            try await engine.sendChanges()
            try await diary.isRead("again", by: diary.phone)
            try await isWhole(diary)
        }
    }
}
