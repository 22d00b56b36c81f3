@testable import BrumeKit
import BrumeTestKit
import Foundation
import Testing

@Suite("A container's configuration")
struct ConfigurationTests {
    private func problem(_ configuration: BrumeConfiguration) -> String? {
        do throws(ConfigurationProblem) {
            _ = try configuration.sessionKey()
            return nil
        } catch {
            return error.message
        }
    }

    @Test("is read from the environment, where empty counts as absent")
    func environment() throws {
        let folder = try TestFolder()
        let configuration = BrumeConfiguration(environmentVariables: [
            "BRUME_SERVER": "[::1]:7440", "BRUME_CA": "/ca.pem", "BRUME_TOKEN": "", "BRUME_CONTAINER": "iCloud.a",
            "BRUME_ENVIRONMENT": "production", "BRUME_STATE": folder.path,
        ])
        let key = try configuration.sessionKey()
        #expect(key.endpoint == ServerEndpoint(host: "::1", port: 7440, caPath: "/ca.pem"))
        #expect(key.accountToken == nil)
        #expect(key.container == "iCloud.a")
        #expect(key.environment == 2)
        #expect(BrumeConfiguration(environmentVariables: [:]).environment == .development)
    }

    @Test("names what is missing or wrong")
    func problems() throws {
        let folder = try TestFolder()
        func with(_ changes: [String: String]) -> String? {
            let variables = ["BRUME_SERVER": "a:1", "BRUME_CONTAINER": "c", "BRUME_STATE": folder.path]
            return problem(BrumeConfiguration(environmentVariables: variables.merging(changes) { $1 }))
        }
        #expect(with([:]) == nil)
        for (changes, word) in [
            (["BRUME_SERVER": ""], "BRUME_SERVER"), (["BRUME_SERVER": "host"], "host:port"),
            (["BRUME_SERVER": "host:99999"], "host:port"), (["BRUME_SERVER": ":7440"], "no host"),
            (["BRUME_SERVER": "::1:7440"], "brackets"), (["BRUME_CONTAINER": ""], "BRUME_CONTAINER"),
            (["BRUME_ENVIRONMENT": "staging"], "BRUME_ENVIRONMENT"), (["BRUME_STATE": "/proc/nowhere"], "BRUME_STATE"),
        ] {
            #expect(with(changes)?.contains(word) == true, "\(changes): \(with(changes) ?? "no problem")")
        }
    }

    @Test("does not show its token")
    func secret() {
        let configuration = BrumeConfiguration(server: "a:1", token: "very secret")
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), dumped] {
            #expect(!text.contains("very secret"))
        }
    }

    @Test("that is missing makes the first call throw, and nothing trap")
    func firstCall() async {
        let container = CKContainer(identifier: "iCloud.a", configuration: BrumeConfiguration(token: "t"))
        let error = await #expect(throws: CKError.self) {
            _ = try await container.privateCloudDatabase.allRecordZones()
        }
        #expect(error?.code == .internalError)
        #expect(error?.localizedDescription.contains("BRUME_SERVER") == true)
        #expect(container.containerIdentifier == "iCloud.a")
        let nothing = CKContainer(identifier: "iCloud.a", configuration: BrumeConfiguration())
        let missing = await #expect(throws: CKError.self) {
            _ = try await nothing.privateCloudDatabase.allRecordZones()
        }
        #expect(missing?.code == .notAuthenticated)
        for name in ["BRUME_SERVER", "BRUME_TOKEN"] {
            #expect(missing?.localizedDescription.contains(name) == true)
        }
    }

    @Test("of a CA file that is missing makes the first call throw with its path")
    func missingCA() async throws {
        let folder = try TestFolder()
        let configuration = BrumeConfiguration(
            server: "127.0.0.1:1", caPath: folder.path + "/nowhere.pem", token: "t", stateFolder: folder.path)
        let container = CKContainer(identifier: "iCloud.a", configuration: configuration)
        let error = await #expect(throws: CKError.self) {
            _ = try await container.privateCloudDatabase.allRecordZones()
        }
        #expect(error?.code == .internalError)
        let sentence = try #require(error?.localizedDescription)
        #expect(sentence.contains("/nowhere.pem: No such file or directory") && sentence.contains("BRUME_CA"))
    }
}

@Suite("The device's id")
struct DeviceIdentityTests {
    @Test("is made once and kept, also by many at one moment")
    func kept() async throws {
        let folder = try TestFolder()
        let path = folder.path + "/a/b"
        let ids = await withTaskGroup(of: [UInt8]?.self) { group in
            for _ in 0..<16 { group.addTask { try? DeviceIdentity.load(folder: path) } }
            return await group.reduce(into: Set<[UInt8]?>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(ids.first??.count == 16)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["device-id"])
        let other = try TestFolder()
        #expect(try DeviceIdentity.load(folder: other.path) != ids.first!)
    }

    @Test("is another one for each account of a folder, and the same whenever the account comes back")
    func accounts() throws {
        let folder = try TestFolder()
        let nobody = try DeviceIdentity.load(folder: folder.path, token: nil)
        let ada = try DeviceIdentity.load(folder: folder.path, token: "ada")
        let bob = try DeviceIdentity.load(folder: folder.path, token: "bob")
        #expect(Set([nobody, ada, bob]).count == 3)
        #expect(ada.count == DeviceIdentity.byteCount)
        #expect(try DeviceIdentity.load(folder: folder.path, token: "ada") == ada)
        #expect(try DeviceIdentity.load(folder: try TestFolder().path, token: "ada") != ada)
        let container = CKContainer(
            identifier: "iCloud.test",
            configuration: BrumeConfiguration(server: "example.com:1", token: "ada", stateFolder: folder.path))
        #expect(try container.deviceID() == ada)
        container.signIn(token: "bob")
        #expect(try container.deviceID() == bob)
    }

    @Test("is not replaced when the file is damaged: the error says what to do")
    func damaged() throws {
        let folder = try TestFolder()
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: folder.path + "/device-id"))
        let error = #expect(throws: ConfigurationProblem.self) { try DeviceIdentity.load(folder: folder.path) }
        #expect(error?.message.contains("remove the file") == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/device-id")).count == 3)
    }
}

@Suite("The registry of sessions")
struct SessionRegistryTests {
    private func key(_ container: String, token: String? = nil) -> ClientSession.Key {
        ClientSession.Key(
            endpoint: ServerEndpoint(host: "a", port: 1, caPath: nil), accountToken: token, container: container,
            environment: 1, deviceID: [])
    }

    @Test("gives one session to one key, and forgets those that nobody uses, the oldest first")
    func sharing() {
        let registry = SessionRegistry()
        let transport = FakeTransport()
        let first = registry.session(key("a"), transport: transport)
        #expect(registry.session(key("a"), transport: transport) === first)
        #expect(registry.session(key("a", token: "t"), transport: transport) !== first)
        weak let unused = registry.session(key("b"), transport: transport)
        #expect(unused != nil)
        for index in 0..<ClientSessionLimits.idleSessionsMax {
            _ = registry.session(key("c\(index)"), transport: transport)
        }
        #expect(unused == nil)
        #expect(registry.session(key("a"), transport: transport) === first, "who is in use stays the one")
    }
}
