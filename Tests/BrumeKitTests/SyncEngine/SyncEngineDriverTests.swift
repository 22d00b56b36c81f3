@testable import BrumeKit
import BrumeLock
import BrumeTestKit
import Foundation
import Testing

@Suite("A running sync engine", .timeLimit(.minutes(2)))
struct SyncEngineDriverTests {
    let server: RunningServer
    let zone = CKRecordZone.ID(zoneName: "Notes")

    init() throws {
        server = try RunningServer()
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    /// A device whose schedules go by a clock that stands still.
    private func device(_ token: String?, _ clock: ManualClientClock) -> NotesDevice {
        NotesDevice(server.device(token: token) { $0.clock = clock }, isAutomatic: false, begins: false)
    }

    @Test("keeps the state before a call that adds changes returns, and nothing is lost when the process ends there")
    func persistedAtOnce() async throws {
        let token = try server.addAccount("ada")
        let one = NotesDevice(server.device(token: token), isAutomatic: false)
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
        one.write("x", id("a"))
        let data = try JSONEncoder().encode(try #require(one.savedState))
        let two = NotesDevice(server.device(token: token), isAutomatic: false, begins: false)
        two.launch(isAutomatic: false) { configuration in
            configuration.stateSerialization = try? JSONDecoder().decode(
                CKSyncEngine.State.Serialization.self, from: data)
        }
        #expect(two.engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
        #expect(two.engine.state.pendingDatabaseChanges.count == 1)
        #expect(one.events.isEmpty)
    }

    @Test("gives persistState to one thread at a time, the newest state last")
    func persistedInOrder() async throws {
        let one = NotesDevice(server.device(token: nil), isAutomatic: false, begins: false)
        let keeper = StateKeeper()
        one.launch(isAutomatic: false) { $0.persistState = { keeper.keep($0) } }
        let engine = one.engine
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                group.addTask {
                    engine.state.add(pendingRecordZoneChanges: [
                        .saveRecord(CKRecord.ID(recordName: "n\(index)", zoneID: Sample.zone))
                    ])
                    // Its own change is in a state that was kept by now.
                    if keeper.counts.isEmpty { Issue.record("a change was not kept when the call returned") }
                }
            }
        }
        #expect(keeper.counts.last == 200)
        #expect(keeper.counts == keeper.counts.sorted())
        #expect(!keeper.wasEnteredTwice)
    }

    @Test("goes by the configuration's clock: a change is told 100 ms after it was made, and not before")
    func clock() async throws {
        let clock = ManualClientClock()
        let one = device(nil, clock)
        one.launch(isAutomatic: false) { $0.persistState = nil }
        one.engine.state.add(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        await clock.waiting()
        #expect(clock.nextMilliseconds == 100)
        clock.advance(byMilliseconds: 99)
        #expect(one.events.isEmpty)
        clock.advance(byMilliseconds: 1)
        await one.wait { $0.events == ["stateUpdate"] }
    }

    @Test("sends what is added within a transaction that is committed 300 ms later, in the midst of a send too")
    func transactions() async throws {
        let clock = ManualClientClock()
        let token = try server.addAccount("ada")
        let one = NotesDevice(
            server.device(token: token) {
                $0.clock = clock
                $0.automaticSendDelay = .seconds(1)
            }, begins: false)
        let (first, second) = ((0..<300).map { id("first\($0)") }, (0..<300).map { id("second\($0)") })
        // The second transaction begins when the first one's records are asked for.
        one.onProvide { [weak one] asked, _ in
            if asked == first[0] { one?.beginWriting(second) }
        }
        one.launch()
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
        one.beginWriting(first)
        for step in [100, 200] as [UInt64] {
            clock.advance(byMilliseconds: step)
            await clock.waiting()
        }
        one.commit("x", first)
        clock.advance(byMilliseconds: 700)
        await one.wait { $0.events.contains { $0.hasPrefix("didSendChanges(scheduled)") } }
        #expect(one.engine.state.pendingRecordZoneChanges.count == second.count)
        one.commit("y", second)
        await clock.waiting()
        clock.advance(byMilliseconds: 1_000)
        await one.wait { $0.engine.syncStatus().pendingRecordZoneChanges.isEmpty }
        let database = server.device(token: token).privateCloudDatabase
        for (ids, text) in [(first, "x"), (second, "y")] {
            let found = try await database.records(for: ids, desiredKeys: ["text"])
            #expect(try found.values.allSatisfy { try $0.get()["text"] == text })
        }
    }

    /// An app that writes all the time: sends begin between its transactions, and in the midst of them.
    @Test("sends each of 1,221 rows that are added within one transaction after the other")
    func manyTransactions() async throws {
        let clock = ManualClientClock()
        let token = try server.addAccount("ada")
        let one = NotesDevice(
            server.device(token: token) {
                $0.clock = clock
                $0.automaticSendDelay = .seconds(1)
            }, begins: false)
        one.launch()
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
        let transactions = (0..<37).map { number in (0..<33).map { id("row\(number)-\($0)") } }
        for rows in transactions {
            one.beginWriting(rows)
            for _ in 0..<3 {
                clock.advance(byMilliseconds: 100)
                await clock.waiting()
            }
            one.commit("x", rows)
        }
        #expect(one.events.contains { $0.hasPrefix("didSendChanges(scheduled)") }, "some were sent meanwhile")
        clock.advance(byMilliseconds: 1_000)
        await one.wait { $0.engine.syncStatus().pendingRecordZoneChanges.isEmpty }
        let database = server.device(token: token).privateCloudDatabase
        var found = 0
        for rows in transactions {
            found += try await database.records(for: rows, desiredKeys: []).values.filter { (try? $0.get()) != nil }
                .count
        }
        #expect(found == 1_221)
    }

    @Test("says so when a child task of the delegate's call waits for the engine, which can't be told at once")
    func childTask() async throws {
        let clock = ManualClientClock()
        let one = device(try server.addAccount("ada"), clock)
        let code = Lock<CKError.Code?>(nil)
        one.onEvent { event, engine in
            guard case .willSendChanges = event else { return }
            async let fetch = errorCode { try await engine.fetchChanges() }
            let result = await fetch
            code.withLock { $0 = result }
        }
        one.launch(isAutomatic: false)
        let engine = one.engine
        let send = Task { await errorCode { try await engine.sendChanges() } }
        // The one wait there is: while the delegate is asked, no schedule counts.
        await clock.waiting()
        clock.advance(byMilliseconds: 30_000)
        let sent = await send.value
        #expect(code.withLock { $0 } == .invalidArguments)
        #expect(sent == nil)
    }

    @Test("follows the account: sign-in, switch and sign-out at run time, and nothing of one user reaches another")
    func account() async throws {
        let (ada, bob) = (try server.addAccount("ada"), try server.addAccount("bob"))
        let container = server.device(token: nil)
        let one = NotesDevice(container)
        container.signIn(token: ada)
        await one.wait { $0.events.contains { $0.hasPrefix("accountChange(signIn") } }
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
        one.write("ada's", id("a"))
        await one.wait { $0.events.contains { $0.hasPrefix("sentRecordZoneChanges(saved: [\"a\"]") } }
        one.onEvent { event, engine in
            guard case .accountChange = event else { return }
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        }
        one.write("ada's, too late", id("b"))
        container.signIn(token: bob)
        await one.wait { $0.events.contains { $0.hasPrefix("accountChange(switchAccounts") } }
        container.signOut()
        await one.wait { $0.events.contains { $0.hasPrefix("accountChange(signOut") } }
        #expect(await errorCode { try await one.engine.fetchChanges() } == .notAuthenticated)
        let zones = try await server.device(token: bob).privateCloudDatabase.allRecordZones()
        #expect(zones.map(\.zoneID) == [.default])
    }

    @Test("pushes reach it from the first moment on, also when the app has dropped the container")
    func droppedContainer() async throws {
        let token = try server.addAccount("ada")
        let two = NotesDevice(server.device(token: token))
        let database = server.device(token: token).privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zone))
        let record = CKRecord(recordType: "Note", recordID: id("a"))
        record["text"] = "x"
        try await database.save(record)
        await two.wait { $0.texts == ["a": "x"] }
    }

    @Test("is gone when the app lets go of it, in the midst of its work, and its calls leave nothing waiting")
    func letGo() async throws {
        let token = try server.addAccount("ada")
        let one = NotesDevice(server.device(token: token))
        weak var driver: SyncEngineDriver?
        do {
            let engine = one.engine
            driver = engine.driver
            async let fetch = errorCode { try await engine.fetchChanges() }
            #expect(await fetch == nil)
            let statuses = engine.syncStatuses()
            one.quit()
            withExtendedLifetime(engine) {}
            _ = consume statuses
        }
        while driver != nil { await Task.yield() }
    }
}

/// Keeps the number of pending changes of each state that it gets.
private final class StateKeeper: Sendable {
    private struct Kept: Sendable {
        var counts: [Int] = []
        var isInside = false
        var wasEnteredTwice = false
    }

    private let kept = Lock(Kept())

    var counts: [Int] { kept.withLock { $0.counts } }
    var wasEnteredTwice: Bool { kept.withLock { $0.wasEnteredTwice } }

    func keep(_ state: CKSyncEngine.State.Serialization) {
        kept.withLock { kept in
            kept.wasEnteredTwice = kept.wasEnteredTwice || kept.isInside
            kept.isInside = true
        }
        let count = state.state.recordChanges.count
        kept.withLock { kept in
            kept.counts.append(count)
            kept.isInside = false
        }
    }
}
