import BrumeTesting
import CloudKit
import Testing

@Suite("A delegate for tests of sync engines", .timeLimit(.minutes(1)))
struct TestSyncEngineDelegateTests {
    @Test("sends and fetches by the engine's own schedule, without a wait, and has what an app would have")
    func sync() async throws {
        try await TestServer.run { server in
            let clock = TestClock()
            let (phone, laptop) = (TestSyncEngineDelegate(), TestSyncEngineDelegate())
            let device = try server.device(of: "ada", clock: clock)
            let phoneEngine = phone.makeEngine(on: device)
            phone.save([note("a"), note("b")], with: phoneEngine)
            try await phone.waitUntilIdle(phoneEngine)
            #expect(phone.savedRecords.map(\.recordID.recordName) == ["a", "b"])
            #expect(phoneEngine.state.pendingRecordZoneChanges.isEmpty)
            #expect(phone.stateSerialization != nil)
            #expect(clock.now > .zero)
            // A zone's first fetch tells of no deletions before it.
            try await phoneEngine.fetchChanges()
            // The idle engine has asked for all that it asks for.
            server.forgetCalls()
            try await phone.waitUntilIdle(phoneEngine)
            #expect(server.calls(.modifyRecords).isEmpty)

            let laptopDevice = try server.device(of: "ada", clock: TestClock())
            let laptopEngine = laptop.makeEngine(on: laptopDevice)
            try await laptop.waitUntilIdle(laptopEngine)
            #expect(Set(laptop.fetchedRecords.map(\.recordID.recordName)) == ["a", "b"])
            #expect(laptop.records[note("a").recordID]?["text"] == "text")
            laptop.delete([note("a").recordID], with: laptopEngine)
            try await server.script.waitUntilListening(device)
            try await laptop.waitUntilIdle(laptopEngine)
            try await phone.waitUntil { "\($0)".contains("deletions: [\"a\"]") }
            #expect(phone.fetchedDeletions == [note("a").recordID])
            #expect(phone.records.keys.map(\.recordName) == ["b"])
        }
    }

    @Test("gives records from a closure, and leaves out those that it has none for")
    func closure() async throws {
        try await TestServer.run { server in
            let delegate = TestSyncEngineDelegate { id in id.recordName == "a" ? note("a", "from the closure") : nil }
            let engine = delegate.makeEngine(
                on: try server.device(of: "ada", clock: TestClock()), automaticallySync: false)
            try await server.seed([note("z")], of: "ada")
            engine.state.add(pendingRecordZoneChanges: ["a", "b"].map { .saveRecord(note($0).recordID) })
            try await engine.sendChanges()
            #expect(delegate.savedRecords.map { $0["text"] } == ["from the closure"])
            #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(note("b").recordID)])
        }
    }

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

    @Test("goes on with its state after the app was started again")
    func relaunch() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada", clock: TestClock())
            let delegate = TestSyncEngineDelegate()
            try await server.seed([note("a")], of: "ada")
            let engine = delegate.makeEngine(on: phone)
            try await delegate.waitUntilIdle(engine)
            let again = TestSyncEngineDelegate()
            let relaunched = again.makeEngine(
                on: try phone.relaunched(), stateSerialization: delegate.stateSerialization)
            try await again.waitUntilIdle(relaunched)
            #expect(again.fetchedRecords.isEmpty)
        }
    }
}
