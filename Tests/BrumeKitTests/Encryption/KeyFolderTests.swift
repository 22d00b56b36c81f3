import BrumeEncryption
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeKit

@Suite("The folder of a device's keys")
struct KeyFolderTests {
    let folder: TestFolder
    let desk = StatementDesk()

    init() throws { folder = try TestFolder() }

    private func device(_ name: String = "phone") -> KeysDevice {
        KeysDevice(name, at: desk, stateFolder: folder.file(name), disk: RealKeyDisk())
    }

    private func place(
        server: String = "example.com:7440", account: String = "_ada", container: String = "iCloud.test",
        environment: String = "development"
    ) -> KeyPlace {
        KeyPlace(
            server: server,
            scope: IdentityScope(account: account, container: container, environment: environment))
    }

    /// A device whose folder has all kinds of files but the one that is written last and removed.
    private func full() throws -> KeysDevice {
        let device = device()
        try device.run(.identity)
        let pending = PendingStatement(
            signed: try desk.signed[0], replacedHash: [UInt8](repeating: 7, count: 32), device: nil,
            code: RecoveryCode())
        guard case .done(.some) = try device.folder.write([.pending(pending)], over: device.kept().version) else {
            throw Steps.Broken()
        }
        return device
    }

    private func problem(_ device: KeysDevice) -> String? {
        do {
            _ = try device.kept()
            return nil
        } catch {
            return (error as? KeyFolderProblem)?.message
        }
    }

    @Test("is readable by its user alone, and so are its files, also where they were not")
    func permissions() throws {
        let device = try full()
        let paths = KeyFile.allCases.map(device.folder.file)
        #expect(try paths.allSatisfy { try FileSystem.permissions($0) == 0o600 })
        let folders = [device.folder.path, FileSystem.directory(of: device.folder.path)]
        #expect(try folders.allSatisfy { try FileSystem.permissions($0) == 0o700 })
        #expect(try FileSystem.list(device.folder.path) == ["code", "device", "lock", "pending", "statements"])
        #expect(try FileSystem.permissions(device.folder.path + "/lock") == 0o600)
        // A backup came back without its permissions.
        for path in paths { try File(path: path, mode: .read).setPermissions(0o644) }
        try File(path: device.folder.path, mode: .read).setPermissions(0o755)
        let kept = try device.kept()
        #expect(try paths.allSatisfy { try FileSystem.permissions($0) == 0o600 })
        _ = try device.folder.write([.code(nil)], over: kept.version)
        #expect(try FileSystem.permissions(device.folder.path) == 0o700)
    }

    @Test("gives back what was put into it")
    func contents() throws {
        let device = try full()
        let kept = try device.kept().kept
        #expect(try kept.known?.signed == desk.signed && kept.known?.trust == .compared)
        #expect(kept.listedAs == kept.device?.publicKeys && kept.listedAs != nil)
        #expect(try kept.code?.paperKey(desk.scope).publicKey == desk.last?.codeKey)
        let pending = try #require(kept.pending)
        #expect(pending.signed == kept.known?.signed.first && pending.device == nil && pending.code != nil)
        #expect(pending.replacedHash == [UInt8](repeating: 7, count: 32))
    }

    @Test("tells damage of each byte of each file, and never takes it for no keys")
    func damage() throws {
        let device = try full()
        for file in KeyFile.allCases {
            let path = device.folder.file(file)
            let whole = try FileSystem.read(path, limit: 1 << 20)
            let stride = max(1, whole.count / 97)
            for index in Set(Array(0..<40) + Array(Swift.stride(from: 40, to: whole.count, by: stride))) {
                var bytes = whole
                bytes[index] ^= 0x10
                try FileSystem.atomicReplace(path, bytes)
                let said = problem(device)
                #expect(said?.contains(index == 0 ? "update this app" : "backup") == true, "\(file), byte \(index)")
                #expect(said?.contains(path) == true)
            }
            for bytes in [[], Array(whole.dropLast()), whole + [0], Array(whole.prefix(KeyFile.headBytes))] {
                try FileSystem.atomicReplace(path, bytes)
                #expect(problem(device) != nil, "\(file), \(bytes.count) bytes")
            }
            try FileSystem.atomicReplace(path, whole)
            #expect(problem(device) == nil)
        }
    }

    @Test("tells that a file is missing that must be there")
    func missing() throws {
        let device = device()
        try device.run(.identity)
        let before = desk.statements
        for file in [KeyFile.device, .statements] {
            let path = device.folder.file(file)
            let whole = try FileSystem.read(path, limit: 1 << 20)
            try FileSystem.remove(path)
            #expect(problem(device)?.contains("\(file.rawValue) is missing") == true)
            #expect(throws: KeyFolderProblem.self) { try device.run(.identity) }
            try FileSystem.atomicReplace(path, whole)
        }
        #expect(desk.statements == before)
    }

    @Test("is another one for each server, account, container and environment, and takes no other's files")
    func places() throws {
        let places = [
            place(), place(server: "example.com:7441"), place(account: "_bob"), place(container: "iCloud.tes"),
            place(environment: "production"), place(server: "example.com:744", account: "0_ada"),
        ]
        #expect(Set(places.map(\.folderName)).count == places.count)
        let device = try full()
        for other in places.dropFirst() {
            let folder = KeyFolder(stateFolder: folder.file("phone"), place: other)
            guard case .done(let loaded) = try folder.load() else { throw Steps.Broken() }
            #expect(loaded.version.isEmpty && loaded.kept.device == nil)
            try FileSystem.makeDirectory(folder.path)
            try FileSystem.atomicReplace(
                folder.file(.device), FileSystem.read(device.folder.file(.device), limit: 1024))
            #expect(throws: KeyFolderProblem.self) { try folder.load() }
        }
    }

    @Test("is locked while somebody works on it, and what another process wrote is not overwritten")
    func processes() throws {
        let device = try full()
        let lock = try DirectoryLock(directory: device.folder.path)
        guard case .locked = try device.folder.load(), case .locked = try device.folder.write([], over: [:]) else {
            Issue.record("it is locked"); return
        }
        lock.release()
        let version = try device.kept().version
        let code = RecoveryCode()
        guard case .done(.some) = try device.folder.write([.code(code)], over: version) else { throw Steps.Broken() }
        guard case .done(nil) = try device.folder.write([.code(nil)], over: version) else {
            Issue.record("another one wrote"); return
        }
        #expect(try device.kept().kept.code?.text == code.text)
    }

    @Test("holds no secret that a description shows")
    func descriptions() throws {
        let device = device()
        try device.run(.identity)
        let kept = try device.kept().kept
        var secrets = [try #require(kept.code).text, kept.code!.secret.copyBytes().description]
        secrets.append(try #require(kept.device).seed.copyBytes().description)
        let standing = try device.run(.look).standing
        var dumped = ""
        dump(kept, to: &dumped)
        dump(standing, to: &dumped)
        let shown = "\(kept) \(String(reflecting: kept)) \(String(describing: standing)) \(dumped)"
        for secret in secrets { #expect(!shown.contains(secret.trimmingPrefix("[").dropLast())) }
    }
}
