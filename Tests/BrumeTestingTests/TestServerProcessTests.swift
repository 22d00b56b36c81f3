import BrumeTesting
import CloudKit
import Testing

@Suite("A test server in a process of its own", .timeLimit(.minutes(1)))
struct TestServerProcessTests {
    @Test("is killed, comes back with what it acknowledged, and stops with its folder")
    func kill() async throws {
        let server = try await TestServerProcess.start(accounts: ["ada", "ben"])
        let device = try server.device(of: "ada").privateCloudDatabase
        try await device.save(notes)
        try await device.save(note("n"))
        await server.kill()
        await server.kill()
        async let late = saved(note("late"), to: device)
        try await server.restart()
        #expect(try await device.record(for: note("n").recordID)["text"] == "text")
        _ = try await late
        try await server.restart()
        #expect(
            try await server.device(of: "ada").privateCloudDatabase.record(for: note("late").recordID)["text"] == "text"
        )
        #expect(throws: TestServerError.self) { try server.device(of: "nobody") }
        await server.stop()
        await server.stop()
        #expect(await failure { try await device.save(note("x")) }?.localizedDescription.contains("stopped") == true)
        #expect(throws: TestServerError.self) { try server.device(of: "ada") }
        await #expect(throws: TestServerError.self) { try await server.restart() }
        #expect(!FileManager.default.fileExists(atPath: server.caPath))
    }

    /// Saves while the server comes back: on a busy machine that takes longer than a call waits.
    private func saved(_ record: CKRecord, to database: CKDatabase) async throws -> CKRecord {
        for _ in 0..<10 {
            do { return try await database.save(record) } catch CKError.networkUnavailable {}
        }
        return try await database.save(record)
    }

    @Test("says what is missing when there is no executable, and what went wrong when it ends")
    func badExecutable() async throws {
        let missing = await #expect(throws: TestServerError.self) {
            try await TestServerProcess.start(executable: URL(fileURLWithPath: "/nowhere/brume"))
        }
        #expect(missing?.description.contains("/nowhere/brume") == true)
        let ending = await #expect(throws: TestServerError.self) {
            try await TestServerProcess.start(executable: URL(fileURLWithPath: "/bin/false"))
        }
        #expect(ending?.description.contains("or ended") == true)
    }
}
