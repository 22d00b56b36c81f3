@testable import BrumeKit
import BrumeLock
import BrumeTestKit
import Foundation
import Testing

@Suite("Two devices with a sync engine and a server", .timeLimit(.minutes(2)))
struct SyncEngineEndToEndTests {
    let server: RunningServer
    let token: String
    let zone = CKRecordZone.ID(zoneName: "Notes")

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
    }

    private func device(isAutomatic: Bool = true, persists: Bool = true, begins: Bool = true) -> NotesDevice {
        NotesDevice(server.device(token: token), isAutomatic: isAutomatic, persists: persists, begins: begins)
    }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

    private func makeZone(_ device: NotesDevice) {
        device.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
    }

    @Test("are in step by themselves: saves, edits and deletions arrive by push")
    func automatic() async {
        let (one, two) = (device(), device())
        makeZone(one)
        one.write("hello", id("a"))
        await two.wait { $0.texts == ["a": "hello"] }
        two.write("hello you", id("a"))
        two.write("new", id("b"))
        await one.wait { $0.texts == ["a": "hello you", "b": "new"] }
        one.delete(id("a"))
        await two.wait { $0.texts == ["b": "new"] }
        one.engine.state.add(pendingDatabaseChanges: [.deleteZone(zone)])
        await two.wait { $0.texts.isEmpty }
        #expect(one.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    /// `BRUME_ENGINE_ROUNDS=N` runs so many and prints how long they took.
    @Test("hear of each other's changes in the order in which they were made")
    func rounds() async throws {
        let asked = ProcessInfo.processInfo.environment["BRUME_ENGINE_ROUNDS"].flatMap(Int.init)
        let (one, two) = (device(), device())
        makeZone(one)
        one.write("0", id("a"))
        await two.wait { $0.texts == ["a": "0"] }
        var milliseconds: [Double] = []
        for round in 1...(asked ?? 3) {
            let start = ContinuousClock.now
            one.write("\(round)", id("a"))
            await two.wait { $0.texts == ["a": "\(round)"] }
            milliseconds.append(start.duration(to: .now) / .milliseconds(1))
        }
        #expect(!one.events.contains { $0.contains("serverRecordChanged") })
        guard asked != nil else { return }
        milliseconds.sort()
        func at(_ part: Double) -> Double { milliseconds[Int(Double(milliseconds.count - 1) * part)] }
        print("from a change here to its event there: p50 \(at(0.5)) ms, p99 \(at(0.99)) ms of \(milliseconds.count)")
    }

    @Test("see their events in CloudKit's order")
    func order() async throws {
        let (one, two) = (device(isAutomatic: false, persists: false), device(isAutomatic: false))
        let user = try await one.container.userRecordID().recordName
        makeZone(one)
        one.write("hello", id("a"))
        try await one.engine.sendChanges()
        #expect(
            one.events.filter { $0 != "stateUpdate" } == [
                "accountChange(signIn(\(user)))", "willSendChanges(manual)",
                "sentDatabaseChanges(saved: [\"Notes\"], failedSaves: [], deleted: [], failedDeletes: [])",
                "sentRecordZoneChanges(saved: [\"a\"], failedSaves: [], deleted: [], failedDeletes: [])",
                "didSendChanges(manual)",
            ])
        let sent = try #require(one.events.lastIndex { $0.hasPrefix("sentRecordZoneChanges") })
        #expect(try #require(one.events.lastIndex(of: "stateUpdate")) > sent)
        try await two.engine.fetchChanges()
        #expect(two.savedState != nil)
        #expect(
            two.events == [
                "accountChange(signIn(\(user)))", "willFetchChanges(manual)",
                "fetchedDatabaseChanges(modifications: [\"Notes\"], deletions: [])",
                "willFetchRecordZoneChanges(Notes)",
                "fetchedRecordZoneChanges(modifications: [\"a\"], deletions: [])",
                "didFetchRecordZoneChanges(Notes)", "didFetchChanges(manual)",
            ])
        two.forgetEvents()
        try await two.engine.fetchChanges()
        #expect(two.events.filter { $0 != "stateUpdate" } == ["willFetchChanges(manual)", "didFetchChanges(manual)"])
        #expect(two.texts == ["a": "hello"])
    }

    @Test("hear that a zone was deleted when another one has its name by the time they look")
    func zoneMadeAgain() async throws {
        let (one, two) = (device(isAutomatic: false), device(isAutomatic: false))
        makeZone(one)
        one.write("old", id("a"))
        try await one.engine.sendChanges()
        try await two.engine.fetchChanges()
        #expect(two.texts == ["a": "old"])
        let database = one.container.privateCloudDatabase
        try await database.deleteRecordZone(withID: zone)
        try await database.save(CKRecordZone(zoneID: zone))
        let record = CKRecord(recordType: "Note", recordID: id("b"))
        record["text"] = "new"
        try await database.save(record)
        two.forgetEvents()
        try await two.engine.fetchChanges()
        #expect(two.texts == ["b": "new"])
        let told = two.events.filter { $0.hasPrefix("fetched") }
        #expect(
            told == [
                "fetchedDatabaseChanges(modifications: [\"Notes\"], deletions: [\"Notes\"])",
                "fetchedRecordZoneChanges(modifications: [\"b\"], deletions: [])",
            ])
    }

    @Test("are told of the deletion of records that they saved before their first fetch", arguments: [true, false])
    func deletedBeforeFirstFetch(makesZone: Bool) async throws {
        let (one, two) = (device(isAutomatic: false), device(isAutomatic: false))
        if !makesZone { try await two.container.privateCloudDatabase.save(CKRecordZone(zoneID: zone)) }
        if makesZone { makeZone(one) }
        one.write("mine", id("a"))
        one.write("kept", id("b"))
        try await one.engine.sendChanges()
        try await two.container.privateCloudDatabase.deleteRecord(withID: id("a"))
        try await one.engine.fetchChanges()
        #expect(one.texts == ["b": "kept"])
    }

    @Test("are told of the deletion of a zone that they saved in before their first fetch")
    func zoneDeletedBeforeFirstFetch() async throws {
        let (one, two) = (device(isAutomatic: false), device(isAutomatic: false))
        makeZone(one)
        one.write("mine", id("a"))
        try await one.engine.sendChanges()
        try await two.container.privateCloudDatabase.deleteRecordZone(withID: zone)
        try await one.engine.fetchChanges()
        #expect(one.texts.isEmpty)
    }

    @Test("are told of records in the order in which the server got them")
    func feedOrder() async throws {
        let (one, two) = (device(isAutomatic: false), device(isAutomatic: false))
        makeZone(one)
        try await one.engine.sendChanges()
        let names = ["m", "z", "a", "k", "b"]
        let database = one.container.privateCloudDatabase
        _ = try await database.modifyRecords(
            saving: names.map { CKRecord(recordType: "Note", recordID: id($0)) }, deleting: [])
        try await two.engine.fetchChanges()
        let page = try await database.recordZoneChanges(
            in: zone, since: nil, desiredKeys: nil, resultsLimit: nil, database.callOptions)
        let order = page.records.map(\.recordID.recordName)
        #expect(Set(order) == Set(names))
        #expect(two.events.contains("fetchedRecordZoneChanges(modifications: \(order), deletions: [])"))
    }

    @Test("merge a conflict, of which the log tells")
    func conflict() async throws {
        let (one, two) = (device(isAutomatic: false), device(isAutomatic: false))
        makeZone(one)
        one.write("base", id("a"))
        try await one.engine.sendChanges()
        try await two.engine.fetchChanges()
        one.write("one", id("a"))
        two.write("two", id("a"))
        try await one.engine.sendChanges()
        let error = await #expect(throws: CKError.self) { try await two.engine.sendChanges() }
        #expect(error?.code == .partialFailure)
        #expect((error?.partialErrorsByItemID?[id("a")] as? CKError)?.code == .serverRecordChanged)
        #expect(two.engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
        try await two.engine.sendChanges()
        try await one.engine.fetchChanges()
        #expect(one.texts == ["a": "one+two"])
        #expect(two.texts == ["a": "one+two"])
        let entry = try #require(two.engine.conflictLog.entries.first)
        #expect(entry.fields.map(\.key) == ["text"])
        #expect(entry.fields.first?.ancestorValue == "base")
        #expect("\(two.engine.conflictLog)".contains("was base, here two, server one"))
    }

    @Test("go on where they were after a restart, with what was edited while the server was away")
    func restart() async {
        let (one, two) = (device(), device())
        makeZone(one)
        one.write("first", id("a"))
        await two.wait { $0.texts == ["a": "first"] }
        server.stop()
        one.write("offline", id("a"))
        one.write("another", id("b"))
        one.quit()
        #expect(one.savedState != nil)
        try? server.start()
        one.launch()
        await two.wait { $0.texts == ["a": "offline", "b": "another"] }
        #expect(!one.events.contains { $0.contains("serverRecordChanged") })
    }

    @Test("send what is more than one request holds, by count and by size")
    func batches() async throws {
        let (one, two) = (device(isAutomatic: false), device(isAutomatic: false))
        makeZone(one)
        for index in 0..<450 { one.write("x", id("n\(index)")) }
        let large = String(repeating: "y", count: 700_000)
        for index in 0..<4 { one.write(large, id("large\(index)")) }
        try await one.engine.sendChanges()
        #expect(one.events.filter { $0.hasPrefix("sentRecordZoneChanges") }.count == 3)
        try await two.engine.fetchChanges()
        #expect(two.texts.count == 454)
        #expect(two.texts["large3"] == large)
    }

    @Test("are told that an explicit batch is too large, and none of it stays pending")
    func limitExceeded() async throws {
        let one = device(isAutomatic: false)
        makeZone(one)
        let zone = zone
        let asked = Lock(0)
        one.makeBatches { _ in
            guard
                asked.withLock({
                    $0 += 1; return $0
                }) == 1
            else { return nil }
            let records = (0..<401).map {
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n\($0)", zoneID: zone))
            }
            return .init(recordsToSave: records, recordIDsToDelete: [])
        }
        one.engine.state.add(pendingRecordZoneChanges: (0..<401).map { .saveRecord(id("n\($0)")) })
        #expect(await errorCode { try await one.engine.sendChanges() } == .limitExceeded)
        #expect(one.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test("are refused what they would wait for in their own delegate, and may begin it in a task")
    func reentrancy() async throws {
        let one = device(isAutomatic: false)
        let codes = Lock<[CKError.Code?]>([])
        let later = Lock<Task<CKError.Code?, Never>?>(nil)
        one.onEvent { event, engine in
            guard case .didSendChanges = event else { return }
            let code = await errorCode { try await engine.fetchChanges() }
            codes.withLock { $0.append(code) }
            later.withLock { $0 = Task { await errorCode { try await engine.fetchChanges() } } }
            await engine.cancelOperations()
        }
        #expect(await errorCode { try await one.engine.sendChanges() } == nil)
        #expect(codes.withLock { $0 } == [.invalidArguments])
        #expect(await later.withLock { $0 }?.value == nil)
        #expect(one.events.contains("didFetchChanges(manual)"))
    }

    @Test("end their calls when the delegate is gone")
    func delegateGone() async throws {
        final class Nobody: CKSyncEngineDelegate {
            func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}
            func nextRecordZoneChangeBatch(
                _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
            ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
        }
        var configuration = CKSyncEngine.Configuration(
            database: server.device(token: token).privateCloudDatabase, stateSerialization: nil, delegate: Nobody())
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        configuration.delegate = device(begins: false)
        #expect(await errorCode { try await engine.fetchChanges() } == .operationCancelled)
        #expect(await errorCode { try await engine.sendChanges() } == .operationCancelled)
    }

    @Test("know whether they have everything")
    func status() async throws {
        let (one, two) = (device(isAutomatic: false), device())
        makeZone(one)
        one.write("x", id("a"))
        #expect(!one.engine.syncStatus().isInSync)
        #expect(one.engine.syncStatus(for: zone).pendingRecordZoneChanges == [.saveRecord(id("a"))])
        try await one.engine.sendChanges()
        // Its own writes are in the feed as well.
        #expect(try await !one.engine.certifiedSyncStatus().hasAllServerChanges)
        try await one.engine.fetchChanges()
        #expect(try await one.engine.certifiedSyncStatus().isInSync)
        #expect(try await one.engine.certifiedSyncStatus(for: zone).isInSync)
        for await status in two.engine.syncStatuses(for: zone) where status.isInSync {
            if two.texts == ["a": "x"] { break }
        }
        two.write("y", id("a"))
        await two.wait { !$0.events.filter { $0.hasPrefix("sentRecordZoneChanges(saved: [\"a\"]") }.isEmpty }
        #expect(try await !one.engine.certifiedSyncStatus(for: zone).hasAllServerChanges)
    }

    @Test("cancel what a cancelled task waits for, at any moment")
    func cancellation() async throws {
        let one = device(isAutomatic: false)
        makeZone(one)
        let engine = one.engine
        for moment in ["", "accountChange", "willFetch", "didFetchChanges"] {
            let task = Lock<Task<CKError.Code?, Never>?>(nil)
            one.onEvent { event, _ in
                if !moment.isEmpty, "\(event)".hasPrefix(moment) { task.withLock { $0?.cancel() } }
            }
            task.withLock { held in
                held = Task { await errorCode { try await engine.fetchChanges() } }
                if moment.isEmpty { held?.cancel() }
            }
            let code = await task.withLock { $0 }?.value
            #expect(code == .operationCancelled || (moment == "accountChange" && code == nil), "\(moment)")
        }
        one.onEvent(nil)
        try await engine.sendChanges()
        try await engine.fetchChanges()
        let wills = one.events.filter { $0.hasPrefix("willFetchChanges") }.count
        #expect(wills == one.events.filter { $0.hasPrefix("didFetchChanges") }.count)
    }
}
