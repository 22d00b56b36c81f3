import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// What a device tells its app of the others that have the account's keys.
@Suite("Devices that get the account's keys, or lose them", .timeLimit(.minutes(1)))
struct EncryptionDevicesChangedTests {
    private let server: RunningServer
    private let token: String
    private let clock = ManualClientClock()

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
    }

    private func device() -> CKContainer { server.device(token: token) { [clock] in $0.clock = clock } }

    private func changes(of device: CKContainer) -> AccountChanges {
        AccountChanges(of: device, .CKEncryptionDevicesChanged)
    }

    @Test("are told of once, by the devices that see it, and what a device sees first is no news")
    func told() async throws {
        let (phone, laptop, tablet) = (device(), device(), device())
        let told = [phone, laptop, tablet].map(changes)
        func counts() async throws -> [Int] {
            for device in [phone, laptop, tablet] { _ = try await device.encryptionStatus() }
            var counts: [Int] = []
            for changes in told { counts.append(try await changes.count()) }
            return counts
        }
        let code = try await phone.recoveryCode().text
        #expect(try await counts() == [0, 0, 0])
        try await laptop.useRecoveryCode(code)
        #expect(try await counts() == [1, 1, 1], "a device that was not let in sees how many there are")
        #expect(try await counts() == [1, 1, 1])
        _ = try await phone.replaceRecoveryCode()
        #expect(try await counts() == [2, 2, 2])
        let lost = try #require(try await phone.encryptionDevices().first { !$0.isCurrent })
        try await phone.removeEncryptionDevice(lost)
        #expect(try await counts() == [3, 3, 3])
        #expect(try await laptop.encryptionStatus() == .noKeys(.removed))
    }

    @Test("are told of in each process of a device, whichever looks first")
    func processes() async throws {
        let folder = try TestFolder()
        let processes = (0..<2).map { _ in server.device(token: token) { $0.stateFolder = folder.path } }
        let code = try await processes[0].recoveryCode().text
        for process in processes { _ = try await process.encryptionStatus() }
        let told = processes.map(changes)
        try await device().useRecoveryCode(code)
        for process in processes { _ = try await process.encryptionDevices() }
        for changes in told { #expect(try await changes.count() == 1) }
    }

    @Test("are told of while an app runs that asks for nothing, ten minutes later at the latest")
    func inTime() async throws {
        let (phone, laptop) = (device(), device())
        let told = changes(of: phone)
        let zone = CKRecordZone(zoneName: "Diary")
        let database = phone.privateCloudDatabase
        try await database.save(zone)
        let id = CKRecord.ID(recordName: "page", zoneID: zone.zoneID)
        let page = CKRecord(recordType: "Page", recordID: id)
        page.encryptedValues["text"] = "secret"
        try await database.save(page)
        try await laptop.useRecoveryCode(try await phone.recoveryCode().text)
        #expect(try await database.record(for: id).encryptedValues["text"] == "secret")
        #expect(try await told.count() == 0)
        clock.advance(byMilliseconds: AccountKeys.lookAgainMilliseconds)
        #expect(try await database.record(for: id).encryptedValues["text"] == "secret")
        try await told.next()
        #expect(try await told.count() == 1)
    }
}
