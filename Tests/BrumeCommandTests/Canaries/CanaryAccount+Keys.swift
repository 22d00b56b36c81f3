internal import BrumeEncryption
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import BrumeKit

/// Keys of accounts, their devices and zones, and the ways by which devices get them and lose them.
extension CanaryAccount {
    /// Keys of the account, its devices and its zones, before and after a device was removed.
    func keys(_ phone: CKContainer, _ laptop: CKContainer) async throws {
        try await takeKeys(of: phone)
        try await takeKeys(of: laptop)
        try take(code: try await phone.replaceRecoveryCode().text)
        for device in try await phone.encryptionDevices() where !device.isCurrent {
            try await phone.removeEncryptionDevice(device)
        }
        try await phone.privateCloudDatabase.save(page("a new key"))
        let refused = record("a-removed-device")
        refused.encryptedValues["secret"] = secret("a removed device")
        try await fails { try await laptop.privateCloudDatabase.save(refused) }
        try await takeKeys(of: phone)
        try await read(by: phone)
    }

    /// What is there now, as the server gives it and as a device reads it.
    func read(by device: CKContainer) async throws {
        let changes = try await device.privateCloudDatabase.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
        for change in changes.modificationResultsByID.values {
            let text: String? = try change.get().record.encryptedValues["secret"]
            if let text { readValues.append(text) }
        }
    }

    /// A device that another one lets in: a person types what each of them shows into the other.
    ///
    /// The codes themselves are no secrets, but hashes of what the devices have sent: they tell whether somebody stands
    /// between the two.
    func enrolment(_ phone: CKContainer) async throws {
        let tablet = device("name of a device that asks to be let in")
        let refused = try await tablet.requestEnrolment()
        let refusing = try await answer(refused, by: phone)
        let noCode = secret("what is no code of an enrolment")
        try await fails { _ = try await refusing.approve(noCode, deviceName: "") }
        let vain = secret("name of a device that was not let in")
        try await fails { _ = try await refusing.approve("000000", deviceName: vain) }
        await refused.cancel()

        let enrolment = try await tablet.requestEnrolment()
        let approval = try await answer(enrolment, by: phone)
        let name = secret("name of a device that was let in")
        try await enrolment.confirm(try await approval.approve(try await enrolment.code(), deviceName: name))
        try await takeKeys(of: tablet)
        readValues += try await tablet.encryptionDevices().compactMap(\.name)
        try await tablet.privateCloudDatabase.save(page("a device that was let in"))
        try await read(by: tablet)
    }

    private func answer(
        _ enrolment: CKContainer.Enrolment, by device: CKContainer
    ) async throws -> CKContainer.EnrolmentApproval {
        let request = try #require(try await device.enrolmentRequests().first { $0.id == enrolment.id })
        async let approval = device.answer(request)
        _ = try await enrolment.code()
        return try await approval
    }

    /// Another account, whose user begins anew: keys and values of before and after.
    func reset() async throws {
        let token = try addAccount("reset")
        let phone = device("name of a device that begins anew", token: token)
        let laptop = device("name of a device that is let in again", token: token)
        let (here, there) = (phone.privateCloudDatabase, laptop.privateCloudDatabase)
        _ = try await here.save(zone)
        try await here.save(page("a value before a reset"))
        let code = try await phone.recoveryCode().text
        try take(code: code)
        try await laptop.useRecoveryCode(code)
        try await read(by: laptop)
        for device in [phone, laptop] { try await takeKeys(of: device) }

        let newCode = try await phone.resetEncryption().text
        try take(code: newCode)
        let late = record("late")
        late.encryptedValues["secret"] = secret("a value for a zone that a reset deleted")
        try await fails { try await here.save(late) }
        _ = try await here.save(CKRecordZone(zoneID: zone.zoneID))
        try await here.save(page("a value after a reset"))
        late.encryptedValues["secret"] = secret("a value of a device that a reset shut out")
        try await fails { try await there.save(late) }
        try await fails { try await laptop.useRecoveryCode(code) }
        try await laptop.useRecoveryCode(newCode)
        try await there.save(page("a device that was let in after a reset"))
        try await read(by: laptop)
        for device in [phone, laptop] { try await takeKeys(of: device) }
    }

    // MARK: Backups

    /// What a device saves after a backup was made, with a key that the backup lacks.
    ///
    /// - Returns: The recovery code, which the backup lacks as well.
    func afterBackup(_ phone: CKContainer) async throws -> String {
        let code = try await phone.replaceRecoveryCode().text
        try take(code: code)
        try await phone.privateCloudDatabase.save(page("a value that a backup lacks"))
        try await takeKeys(of: phone)
        try await read(by: phone)
        return code
    }

    /// What devices give back to a server that was restored from the backup, and save on it.
    func afterRestore(_ phone: CKContainer, code: String) async throws {
        // The app is started again, as its server was.
        let phone = CKContainer(
            configuration: phone.core.configuration, transport: .success(transport), registry: SessionRegistry())
        try await read(by: phone)
        try await phone.privateCloudDatabase.save(page("a value after a restore"))
        let desktop = device("name of a device after a restore")
        try await desktop.useRecoveryCode(code)
        try await desktop.privateCloudDatabase.save(page("a device after a restore"))
        for device in [phone, desktop] {
            try await read(by: device)
            try await takeKeys(of: device)
        }
    }

    // MARK: Keys

    func takeKeys(of device: CKContainer) async throws {
        let account = device.core.account
        let folders = KeyFolderAccess()
        let folder = try await folders.folder(of: account)
        let kept = try await folders.use(folder) { () throws(KeyFolderProblem) in try folder.load() }.kept
        guard let own = kept.device else { throw TestFailure("a device has no keys") }
        take(Canary("a device's seed", bytes: own.seed.copyBytes()))
        try await takeKeys(of: device, ring: zone.zoneID.ringID, "a zone's key")
    }

    /// The keys of a ring, and of the identity that opens it.
    func takeKeys(of device: CKContainer, ring: ZoneRingID, _ name: String) async throws {
        let found = try await ZoneRingDriver(folders: KeyFolderAccess()).run(
            ZoneRingDriver.Look(goal: .read, ring: ring, asksServer: true), for: device.core.account, CallOptions())
        guard let found else { throw TestFailure("a device has no keys of a ring") }
        take(Canary("an identity's seed", bytes: found.identity.keys.seed.copyBytes()))
        for (number, key) in found.ring.chain.keys(of: found.identity).keys {
            take(Canary("\(name) \(number)", bytes: key.copyBytes()))
        }
    }

    func take(code text: String) throws {
        take(Canary("a recovery code", text: text))
        take(Canary("a recovery code without hyphens", text: text.replacing("-", with: "")))
        take(Canary("a recovery code's secret", bytes: try BrumeEncryption.RecoveryCode(text).secret.copyBytes()))
    }
}
