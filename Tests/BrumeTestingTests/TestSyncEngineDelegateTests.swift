import BrumeTesting
import CloudKit
import Testing

@Suite("A delegate for tests of sync engines", .timeLimit(.minutes(1)))
struct TestSyncEngineDelegateTests {
    @Test("tells the saves that failed, and the events in their order")
    func failures() async throws {
        try await TestServer.run { server in
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(
                on: try server.device(of: "ada", clock: TestClock()), automaticallySync: false)
            delegate.save([note("a")], with: engine)
            server.script.failSaves(named: "a", with: .quotaExceeded)
            await #expect(throws: CKError.self) { try await engine.sendChanges() }
            #expect(delegate.failedSaves.map(\.error.code) == [.quotaExceeded])
            #expect(
                delegate.events.map(\.description).filter { !$0.hasPrefix("accountChange") } == [
                    "willSendChanges(manual)",
                    "sentDatabaseChanges(saved: [\"Notes\"], failedSaves: [], deleted: [], failedDeletes: [])",
                    "sentRecordZoneChanges(saved: [], failedSaves: [\"a: quotaExceeded\"], deleted: [], failedDeletes: [])",
                    "didSendChanges(manual)",
                ])
            delegate.forgetEvents()
            #expect(delegate.events.isEmpty)
        }
    }

    @Test("says so when an engine does not come to rest")
    func restless() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada", clock: TestClock())
            phone.goOffline()
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: phone)
            let error = await #expect(throws: TestServerError.self) { try await delegate.waitUntilIdle(engine) }
            #expect(error?.description.contains("turns of its clock") == true)
        }
    }
}
