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

    @Test("keeps what is set while a send is on its way, and sends it next")
    func editedInFlight() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada", clock: TestClock())
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: phone, automaticallySync: false)
            delegate.save([note("a", "first")], with: engine)
            let held = server.script.hold(.modifyRecords)
            async let sent: Void = engine.sendChanges()
            try await held.waitUntilHeld()
            delegate.save([note("a", "second")], with: engine)
            held.release()
            try await sent
            try await engine.sendChanges()
            #expect(delegate.records[note("a").recordID]?["text"] == "second")
            #expect(delegate.failedSaves.isEmpty)
            #expect(try await server.dump(of: "ada").contains("text: \"second\""))
        }
    }

    @Test("keeps what is to be sent of a record that is fetched, with what others set in it")
    func editedBeforeFetch() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada", clock: TestClock())
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: phone, automaticallySync: false)
            delegate.save([note("a", "first")], with: engine)
            try await engine.sendChanges()
            let edited = try #require(delegate.records[note("a").recordID]?.copy() as? CKRecord)
            edited["text"] = "second"
            let other = note("a", "first")
            other["color"] = "blue"
            try await server.seed([other], of: "ada")
            delegate.save([edited], with: engine)
            try await engine.fetchChanges()
            #expect(delegate.records[edited.recordID]?["text"] == "second")
            #expect(delegate.records[edited.recordID]?["color"] == "blue")
            try await engine.sendChanges()
            #expect(delegate.failedSaves.isEmpty)
            #expect(try await server.dump(of: "ada").contains("color: \"blue\"\n    text: \"second\""))
        }
    }

    @Test("does not call an engine idle whose delegate lacks a record, and says what is pending")
    func unprovided() async throws {
        try await TestServer.run { server in
            let delegate = TestSyncEngineDelegate { _ in nil }
            let engine = delegate.makeEngine(on: try server.device(of: "ada", clock: TestClock()))
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(note("missing").recordID)])
            let error = await #expect(throws: TestServerError.self) { try await delegate.waitUntilIdle(engine) }
            #expect(error?.description.contains("1 changes are pending: saveRecord(missing)") == true)
        }
    }

    @Test("waits no longer than it is told to, and says for what")
    func timeouts() async throws {
        try await TestServer.run { server in
            let delegate = TestSyncEngineDelegate()
            let phone = try server.device(of: "ada")
            let waiting = await #expect(throws: TestServerError.self) {
                try await delegate.waitUntil(timeout: .milliseconds(1)) { !$0.isEmpty }
            }
            #expect(waiting?.description.contains("it has told no event") == true)
            let listening = await #expect(throws: TestServerError.self) {
                try await server.script.waitUntilListening(phone, timeout: .milliseconds(1))
            }
            #expect(listening?.description.contains("nothing on the device listens") == true)
        }
    }

    @Test("says so when an engine does not come to rest")
    func restless() async throws {
        try await TestServer.run { server in
            let phone = try server.device(of: "ada", clock: TestClock())
            phone.goOffline()
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: phone)
            let error = await #expect(throws: TestServerError.self) {
                try await delegate.waitUntilIdle(engine, timeout: .seconds(50))
            }
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
