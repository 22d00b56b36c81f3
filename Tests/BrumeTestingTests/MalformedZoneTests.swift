import BrumeTesting
import CloudKit
import Testing

@Suite("A zone that no server can have", .timeLimit(.minutes(1)))
struct MalformedZoneTests {
    private static let zones = [
        CKRecordZone.ID(zoneName: "é"), CKRecordZone.ID(zoneName: ""),
        CKRecordZone.ID(zoneName: "Notes", ownerName: "_someone"),
    ]

    @Test("fails the items that name it, and no others of the request", arguments: zones)
    func items(zoneID: CKRecordZone.ID) async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            let bad = CKRecord.ID(recordName: "x", zoneID: zoneID)
            for isAtomic in [false, true] {
                let good = note("good \(isAtomic)")
                let results = try await database.modifyRecords(
                    saving: [good, CKRecord(recordType: "Note", recordID: bad)],
                    deleting: [CKRecord.ID(recordName: "y", zoneID: zoneID), note("gone").recordID],
                    atomically: isAtomic)
                #expect(throws: Never.self) { try results.saveResults[good.recordID]?.get() }
                #expect(throws: Never.self) { try results.deleteResults[note("gone").recordID]?.get() }
                #expect(code(results.saveResults[bad]) == .invalidArguments)
                #expect(
                    code(results.deleteResults[CKRecord.ID(recordName: "y", zoneID: zoneID)]) == .invalidArguments)
            }
            let fetched = try await database.records(for: [bad, note("good true").recordID])
            #expect(code(fetched[bad]) == .invalidArguments)
            #expect(throws: Never.self) { try fetched[note("good true").recordID]?.get() }
        }
    }

    @Test("whose owner is nobody fails alone where zones are saved, deleted and fetched")
    func owners() async throws {
        try await TestServer.run { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            let (bad, other) = (Self.zones[2], CKRecordZone.ID(zoneName: "Other", ownerName: "_someone"))
            let results = try await database.modifyRecordZones(
                saving: [notes, CKRecordZone(zoneID: bad)], deleting: [other, CKRecordZone.ID(zoneName: "Gone")])
            #expect(throws: Never.self) { try results.saveResults[notes.zoneID]?.get() }
            #expect(throws: Never.self) { try results.deleteResults[CKRecordZone.ID(zoneName: "Gone")]?.get() }
            #expect(code(results.saveResults[bad]) == .invalidArguments)
            #expect(code(results.deleteResults[other]) == .invalidArguments)
            let fetched = try await database.recordZones(for: [bad, notes.zoneID])
            #expect(code(fetched[bad]) == .invalidArguments)
            #expect(throws: Never.self) { try fetched[notes.zoneID]?.get() }
        }
    }

    @Test("takes no other change of a sync engine with it", arguments: zones)
    func engine(zoneID: CKRecordZone.ID) async throws {
        try await TestServer.run { server in
            let delegate = TestSyncEngineDelegate()
            let engine = delegate.makeEngine(on: try server.device(of: "ada"), automaticallySync: false)
            delegate.save([note("good")], with: engine)
            engine.state.add(pendingRecordZoneChanges: [.deleteRecord(CKRecord.ID(recordName: "x", zoneID: zoneID))])
            await #expect(throws: CKError.self) { try await engine.sendChanges() }
            #expect(delegate.savedRecords.map(\.recordID) == [note("good").recordID])
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }
}

@Suite("A request of a sync engine that is refused whole", .timeLimit(.minutes(1)))
struct RefusedRequestTests {
    @Test("is sent again in parts, and loses the item alone that is the reason")
    func parts() async throws {
        try await TestServer.run { server in
            let device = try server.device(of: "ada")
            let records = (0..<20).map { note("n\($0)") }
            let delegate = RepeatingDelegate(records, repeated: note("again").recordID)
            var configuration = CKSyncEngine.Configuration(
                database: device.privateCloudDatabase, stateSerialization: nil, delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            try await device.privateCloudDatabase.save(notes)
            engine.state.add(pendingRecordZoneChanges: records.map { .saveRecord($0.recordID) })
            try await engine.sendChanges()
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            let kept = try await device.privateCloudDatabase.records(for: records.map(\.recordID))
            #expect(kept.values.filter { code($0) == nil }.count == records.count)
            // The deletions are in the last part of each split, until they are alone.
            #expect(server.calls(.modifyRecords).count <= 6)
        }
    }
}

/// Gives all records at once, and with them the deletion of one id twice, which no request may hold.
private final class RepeatingDelegate: CKSyncEngineDelegate {
    private let records: [CKRecord]
    private let repeated: CKRecord.ID

    init(_ records: [CKRecord], repeated: CKRecord.ID) {
        self.records = records
        self.repeated = repeated
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        if syncEngine.state.pendingRecordZoneChanges.isEmpty { return nil }
        return .init(recordsToSave: records, recordIDsToDelete: [repeated, repeated])
    }
}

private func code<Value>(_ result: Result<Value, any Error>?) -> CKError.Code? {
    guard case .failure(let error) = result else { return nil }
    return (error as? CKError)?.code
}
