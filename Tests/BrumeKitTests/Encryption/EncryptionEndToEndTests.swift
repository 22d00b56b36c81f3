import BrumeEncryption
import BrumeSystem
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

@Suite("An account's encryption keys and a server", .timeLimit(.minutes(1)))
struct EncryptionEndToEndTests {
    let server: RunningServer
    let token: String

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
    }

    private func device(_ name: String, configure: (inout BrumeConfiguration) -> Void = { _ in }) -> CKContainer {
        server.device(token: token) {
            $0.deviceName = name
            configure(&$0)
        }
    }

    /// The keys of the account's identity on a device.
    private func keys(_ device: CKContainer) async throws -> PublicKeys {
        let account = device.core.account
        return try await account.keys.identity(for: account).keys.publicKeys
    }

    private func haveOneIdentity(_ first: CKContainer, _ second: CKContainer) async throws -> Bool {
        let (first, second) = (try await keys(first), try await keys(second))
        return first == second
    }

    private func keyFolder(_ device: CKContainer) throws -> String {
        let folder = try device.core.configuration.resolvedStateFolder() + "/keys"
        return try folder + "/" + #require(FileSystem.list(folder).first)
    }

    @Test("let a second device in with the recovery code, list both, and remove one")
    func devices() async throws {
        let (phone, laptop) = (device("Ada's phone"), device("Ada's laptop"))
        #expect(try await phone.encryptionStatus() == .notSetUp)
        #expect(try await phone.encryptionDevices().isEmpty)
        #expect(await code { try await phone.replaceRecoveryCode() } == .unknownItem)
        let recovery = try await phone.recoveryCode()
        #expect(await code { try await phone.recoveryCode() } == .unknownItem)
        #expect(try await laptop.encryptionStatus() == .noKeys(.notEnrolled))
        #expect(try await laptop.encryptionDevices().map(\.name) == [nil])
        #expect(await code { try await keys(laptop) } == .accountTemporarilyUnavailable)

        try await laptop.useRecoveryCode(recovery.text.lowercased().replacingOccurrences(of: "-", with: " "))
        #expect(try await haveOneIdentity(laptop, phone))
        let devices = try await laptop.encryptionDevices()
        #expect(devices.map(\.name) == ["Ada's phone", "Ada's laptop"] && devices.map(\.isCurrent) == [false, true])

        try await laptop.removeEncryptionDevice(devices[0])
        #expect(try await phone.encryptionStatus() == .noKeys(.removed))
        #expect(try await laptop.encryptionDevices().map(\.name) == ["Ada's laptop"])
        #expect(await code { try await laptop.removeEncryptionDevice(devices[1]) } == .invalidArguments)
        #expect(await code { try await phone.removeEncryptionDevice(devices[1]) } == .accountTemporarilyUnavailable)
    }

    @Test("are not made by accepting those of a zone, and where nothing differs there is nothing to accept")
    func accepting() async throws {
        let phone = device("phone")
        let database = phone.privateCloudDatabase
        #expect(try await database.acceptEncryptionKeys(of: .default) == false)
        #expect(try await phone.encryptionStatus() == .notSetUp)
        let record = CKRecord(recordType: "Page")
        record.encryptedValues["text"] = "secret"
        try await database.save(record)
        #expect(try await database.acceptEncryptionKeys(of: .default) == false)
        let missing = CKRecordZone.ID(zoneName: "Missing")
        #expect(await code { try await database.acceptEncryptionKeys(of: missing) } == .zoneNotFound)
        for database in [phone.publicCloudDatabase, phone.sharedCloudDatabase] {
            #expect(await code { try await database.acceptEncryptionKeys(of: .default) } == .invalidArguments)
        }
    }

    @Test("do not come with a wrong code, which no error repeats")
    func wrongCode() async throws {
        let (phone, laptop) = (device("phone"), device("laptop"))
        let first = try await phone.recoveryCode()
        let second = try await phone.replaceRecoveryCode()
        for text in [first.text, String(second.text.dropLast()), second.text + "0", "", "\u{0}", "Ä"] {
            let failure = await failure { try await laptop.useRecoveryCode(text) }
            #expect(failure?.code == .invalidArguments)
            #expect(text.count < 4 || failure?.localizedDescription.contains(text) == false)
        }
        try await laptop.useRecoveryCode(second.text)
        #expect(try await laptop.encryptionStatus() == .available)
        var dumped = ""
        dump(second, to: &dumped)
        #expect(!"\(second) \(String(reflecting: second)) \(dumped)".contains(second.text))
    }

    @Test("belong to an account: without one, and with one that the server does not know, there are none")
    func noAccount() async throws {
        for device in [server.device(token: nil), server.device(token: "unknown")] {
            #expect(await code { try await device.encryptionStatus() } == .notAuthenticated)
            #expect(await code { try await device.encryptionDevices() } == .notAuthenticated)
            #expect(await code { try await device.recoveryCode() } == .notAuthenticated)
            #expect(await code { try await device.replaceRecoveryCode() } == .notAuthenticated)
            #expect(await code { try await device.resetEncryption() } == .notAuthenticated)
            let typed = BrumeEncryption.RecoveryCode().text
            #expect(await code { try await device.useRecoveryCode(typed) } == .notAuthenticated)
        }
    }

    @Test("are those of the first of many devices that need them at once")
    func race() async throws {
        let devices = (0..<6).map { device("device \($0)") }
        let found = await withTaskGroup(of: Result<PublicKeys, any Error>.self) { group in
            for device in devices {
                group.addTask {
                    do { return .success(try await keys(device)) } catch { return .failure(error) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let first = try #require(found.compactMap { try? $0.get() }.first)
        var statuses: [CKContainer.EncryptionStatus: Int] = [:]
        for device in devices {
            let status = try await device.encryptionStatus()
            statuses[status, default: 0] += 1
        }
        #expect(statuses == [.available: 1, .noKeys(.notEnrolled): 5])
        for case .failure(let error) in found {
            #expect((error as? CKError)?.encryptionProblem == .deviceHasNoKeys)
        }
        #expect(found.count { (try? $0.get()) == first } == 1)
    }

    @Test("are one device's for all containers of its folder, however many make them at once")
    func oneFolder() async throws {
        let folder = server.newStateFolder()
        let containers = (0..<6).map { _ in device("phone") { $0.stateFolder = folder } }
        let found = try await withThrowingTaskGroup(of: PublicKeys.self) { group in
            for container in containers { group.addTask { try await keys(container) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(found.count == 1)
        #expect(try await containers[0].encryptionDevices().count == 1)
    }

    @Test("are others in another container, environment and account, and stay on the device for each")
    func apart() async throws {
        let folder = server.newStateFolder()
        let phone = device("phone") { $0.stateFolder = folder }
        let other = CKContainer(identifier: "iCloud.other", configuration: phone.core.configuration)
        let production = device("phone") {
            $0.stateFolder = folder
            $0.environment = .production
        }
        var identities: Set<PublicKeys> = []
        for container in [phone, other, production] {
            #expect(try await container.encryptionStatus() == .notSetUp)
            identities.insert(try await keys(container))
        }
        let bob = try server.addAccount("bob")
        phone.signIn(token: bob)
        #expect(try await phone.encryptionStatus() == .notSetUp)
        identities.insert(try await keys(phone))
        #expect(identities.count == 4)
        phone.signOut()
        #expect(await code { try await keys(phone) } == .notAuthenticated)
        // Another token of the same account is the same account.
        phone.signIn(token: try server.createToken("ada"))
        #expect(try await phone.encryptionStatus() == .available)
        let again = try await keys(phone)
        #expect(identities.contains(again))
        #expect(try FileSystem.list(folder + "/keys").filter { $0 != "users" }.count == 4)
    }

    @Test("are answered from memory until somebody says that they may have changed, and not for an account that went")
    func memory() async throws {
        let (phone, laptop) = (device("phone"), device("laptop"))
        let recovery = try await phone.recoveryCode()
        try await laptop.useRecoveryCode(recovery.text)
        let before = try await keys(phone)
        _ = try await laptop.replaceRecoveryCode()
        #expect(try await keys(phone) == before)
        let account = phone.core.account
        account.keys.statementsMayHaveChanged()
        let after = try await keys(phone)
        #expect(after != before)
        #expect(try await haveOneIdentity(phone, laptop))
        phone.signOut()
        #expect(await code { try await account.keys.identity(for: account) } == .notAuthenticated)
    }

    @Test("come back to a server that was restored, and a device that saw other ones meanwhile stops")
    func restoredServer() async throws {
        let (phone, laptop, tablet) = (device("phone"), device("laptop"), device("tablet"))
        let first = try await phone.recoveryCode().text
        let backup = server.folder.file("backup")
        server.stop()
        try FileManager.default.copyItem(atPath: server.dataFolder, toPath: backup)
        try server.start()
        try await laptop.useRecoveryCode(first)
        let second = try await phone.replaceRecoveryCode().text
        let identity = try await keys(phone)

        func restore() throws {
            server.stop()
            try FileManager.default.removeItem(atPath: server.dataFolder)
            try FileManager.default.copyItem(atPath: backup, toPath: server.dataFolder)
            try server.start()
        }
        try restore()
        #expect(try await phone.encryptionStatus() == .available)
        try await tablet.useRecoveryCode(second)
        #expect(try await keys(tablet) == identity)

        try restore()
        let stranger = device("stranger")
        try await stranger.useRecoveryCode(first)
        for device in [phone, laptop, tablet] {
            #expect(try await device.encryptionStatus() == .conflict)
            #expect(await code { try await device.encryptionDevices() } == .accountTemporarilyUnavailable)
        }
        let newest = try await phone.resetEncryption()
        #expect(try await stranger.encryptionStatus() == .conflict)
        try await stranger.useRecoveryCode(newest.text)
        #expect(try await haveOneIdentity(stranger, phone))
    }

    @Test("are made once on a line that breaks, wherever it does")
    func brokenLine() async throws {
        let proxy = try FaultyProxy(to: server.port)
        defer { proxy.close() }
        for (number, byteCount) in stride(from: 1_000, through: 5_500, by: 500).enumerated() {
            let token = try server.addAccount("user\(number)", email: "user\(number)@example.com")
            proxy.add([.init(isDown: number % 2 == 0, byteCount: byteCount)])
            let phone = server.device(token: token) { $0.server = proxy.address }
            let recovery = try await phone.recoveryCode()
            let laptop = server.device(token: token)
            try await laptop.useRecoveryCode(recovery.text)
            #expect(try await haveOneIdentity(phone, laptop))
            #expect(try await phone.encryptionDevices().count == 2)
        }
    }

    @Test("that are damaged on the disk are an error that names the file, and no reason to make others")
    func damage() async throws {
        let phone = device("phone")
        _ = try await phone.recoveryCode()
        let path = try keyFolder(phone) + "/device"
        var bytes = try FileSystem.read(path, limit: 1024)
        bytes[50] ^= 1
        try FileSystem.atomicReplace(path, bytes)
        let failure = await failure { try await phone.encryptionStatus() }
        #expect(failure?.code == .internalError && failure?.localizedDescription.contains(path) == true)
        #expect(await code { try await phone.resetEncryption() } == .internalError)
        bytes[50] ^= 1
        try FileSystem.atomicReplace(path, bytes)
        #expect(try await phone.encryptionStatus() == .available)
    }

    @Test("that can't be kept are not sent either")
    func unwritable() async throws {
        let phone = device("phone")
        let folder = try phone.core.configuration.resolvedStateFolder()
        #expect(try await phone.encryptionStatus() == .notSetUp)
        // A file stands where the folder belongs.
        try FileSystem.atomicReplace(folder + "/keys", [1])
        let failure = await failure { try await phone.recoveryCode() }
        #expect(failure?.code == .internalError && failure?.localizedDescription.contains("BRUME_STATE") == true)
        try FileSystem.remove(folder + "/keys")
        #expect(try await phone.encryptionStatus() == .notSetUp, "the server has no statement")
    }
}
