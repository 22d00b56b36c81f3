import BrumeTesting
import CloudKit
import Testing

@Suite("A device of a test server", .timeLimit(.minutes(1)))
struct TestDeviceTests {
    @Test("fails calls without a network at once, and goes on when it is back")
    func offline() async throws {
        try await TestServer.run { server in
            let device = try server.device(of: "ada")
            let database = device.privateCloudDatabase
            try await database.save(notes)
            device.goOffline()
            #expect(!device.isOnline)
            for _ in 0..<3 {
                let error = await failure { try await database.save(note("n")) }
                #expect(error?.code == .networkUnavailable)
                #expect(error?.localizedDescription.contains("took the device's network away") == true)
            }
            device.goOnline()
            #expect(device.isOnline)
            try await database.save(note("n"))
        }
    }

    @Test("keeps its id and folder when its app is started again")
    func relaunch() async throws {
        try await TestServer.run { server in
            let first = try server.device(of: "ada")
            try await first.privateCloudDatabase.save(notes)
            let id = try Data(contentsOf: first.stateFolder.appendingPathComponent("device-id"))
            let second = try first.relaunched()
            let error = await failure { try await first.privateCloudDatabase.save(note("n")) }
            #expect(error?.localizedDescription.contains("relaunched()") == true)
            try await second.privateCloudDatabase.save(note("n"))
            #expect(second.stateFolder == first.stateFolder)
            #expect(try Data(contentsOf: second.stateFolder.appendingPathComponent("device-id")) == id)
        }
    }

    @Test("gives a program of its own the settings to be it, without its token in its description")
    func environment() async throws {
        try await TestServer.run { server in
            let device = try server.device(of: "ada")
            let token = try server.account("ada").token
            #expect(device.environmentVariables["BRUME_TOKEN"] == token)
            #expect(device.environmentVariables["BRUME_SERVER"] == server.address)
            #expect(!"\(device) \(try server.account("ada"))".contains(token))
        }
    }
}
