import BrumeTesting
import CloudKit
import Testing

@Suite("Zones that go past their devices", .timeLimit(.minutes(1)))
struct ZoneDeletionTests {
    private typealias Reason = CKDatabase.DatabaseChange.Deletion.Reason

    @Test("are told to fetches and to the sync engine with their reason", arguments: [0, 1, 2])
    func reason(number: Int) async throws {
        let reason = [Reason.deleted, .purged, .encryptedDataReset][number]
        try await TestServer.run { server in
            let phone = try server.device(of: "ada", clock: TestClock())
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: phone, automaticallySync: false)
            try await server.seed([note("n")], of: "ada")
            try await engine.fetchChanges()
            let token = try await phone.privateCloudDatabase.databaseChanges(since: nil).changeToken
            #expect(delegate.records.count == 1)
            try await server.deleteZones([notes.zoneID], of: "ada", reason: reason)
            try await server.restart()
            let changes = try await phone.privateCloudDatabase.databaseChanges(since: token)
            #expect(changes.deletions == [.init(zoneID: notes.zoneID, reason: reason)])
            try await engine.fetchChanges()
            let told = delegate.events.compactMap { event in
                if case .fetchedDatabaseChanges(let changes) = event { changes.deletions.first } else { nil }
            }
            #expect(told == [.init(zoneID: notes.zoneID, reason: reason)])
            #expect(delegate.records.isEmpty)
            #expect(try await server.dump(of: "ada") == "")
        }
    }

    @Test("are told with their reason to an engine that has sent to them, and never fetched", arguments: [0, 1, 2])
    func sentOnly(number: Int) async throws {
        let reason = [Reason.deleted, .purged, .encryptedDataReset][number]
        try await TestServer.run { server in
            let phone = try server.device(of: "ada", clock: TestClock())
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: phone, automaticallySync: false)
            delegate.save([note("n")], with: engine)
            try await engine.sendChanges()
            try await server.deleteZones([notes.zoneID], of: "ada", reason: reason)
            // While the server can't say why, nothing is told.
            server.script.fail(.fetchZones, with: .zoneBusy, retryAfterSeconds: 60, times: .max)
            await #expect(throws: CKError.self) { try await engine.fetchChanges() }
            server.script.removeAll()
            func told() -> [CKDatabase.DatabaseChange.Deletion] {
                delegate.events.flatMap { event -> [CKDatabase.DatabaseChange.Deletion] in
                    if case .fetchedDatabaseChanges(let changes) = event { changes.deletions } else { [] }
                }
            }
            #expect(told() == [])
            try await engine.fetchChanges()
            try await engine.fetchChanges()
            #expect(told() == [.init(zoneID: notes.zoneID, reason: reason)])
        }
    }

    @Test("are told with their reason, once and first, when another has their name by then", arguments: [0, 1, 2])
    func madeAgain(number: Int) async throws {
        let reason = [Reason.deleted, .purged, .encryptedDataReset][number]
        try await TestServer.run { server in
            let phone = try server.device(of: "ada", clock: TestClock())
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: phone, automaticallySync: false)
            delegate.save([note("old")], with: engine)
            try await engine.sendChanges()
            try await engine.fetchChanges()
            delegate.forgetEvents()
            try await server.deleteZones(of: "ada", reason: reason)
            try await server.seed([note("new")], of: "ada")
            try await engine.fetchChanges()
            let told = delegate.events.compactMap { event in
                if case .fetchedDatabaseChanges(let changes) = event { changes } else { nil }
            }
            #expect(told.count == 1)
            #expect(told.first?.deletions == [.init(zoneID: notes.zoneID, reason: reason)])
            #expect(told.first?.modifications == [.init(zoneID: notes.zoneID)])
            #expect(Set(delegate.records.keys) == [note("new").recordID])
        }
    }

    @Test("purged ones fail with userDeletedZone until they are saved again")
    func purged() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await server.seed([note("n")], of: "ada")
            try await server.deleteZones(of: "ada", reason: .purged)
            #expect(await failure { try await database.save(note("n")) }?.code == .userDeletedZone)
            #expect(await failure { try await database.record(for: note("n").recordID) }?.code == .userDeletedZone)
            #expect(await failure { try await database.recordZone(for: notes.zoneID) }?.code == .userDeletedZone)
            #expect(
                await failure { try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil) }?.code
                    == .userDeletedZone)
            #expect(
                await failure {
                    try await database.records(matching: everyNote, inZoneWith: notes.zoneID, resultsLimit: 10)
                }?.code
                    == .userDeletedZone)
            try await database.deleteRecordZone(withID: notes.zoneID)
            #expect(try await database.allRecordZones().map(\.zoneID) == [.default])
            try await database.save(notes)
            try await database.save(note("n"))
        }
    }

    @Test("those whose encrypted data were reset are not found, and the error says why, of items and of calls")
    func reset() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await server.seed([note("n")], of: "ada")
            try await server.deleteZones(of: "ada", reason: .encryptedDataReset)
            for error in [
                await failure { try await database.save(note("n")) },
                await failure { try await database.recordZone(for: notes.zoneID) },
                await failure { try await database.recordZoneChanges(inZoneWith: notes.zoneID, since: nil) },
            ] {
                #expect(error?.code == .zoneNotFound)
                #expect(error?.userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool == true)
            }
            let plain = await failure { try await database.recordZone(for: CKRecordZone.ID(zoneName: "Other")) }
            #expect(plain?.code == .zoneNotFound && plain?.userInfo[CKErrorUserDidResetEncryptedDataKey] == nil)
            try await database.save(notes)
            try await database.save(note("n"))
        }
    }
}

private let everyNote = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
