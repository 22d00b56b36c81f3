import BrumeTesting
import CloudKit
import Testing

/// An engine on a device that has no keys yet.
@Suite("An engine's changes behind a record that waits for keys", .timeLimit(.minutes(2)))
struct WaitingBatchesTests {
    /// Gives all pending changes in one batch.
    private actor Delegate: CKSyncEngineDelegate {
        private let records: [CKRecord.ID: CKRecord]
        private let isAtomic: Bool
        /// The last failure of each record's save, by the record's name.
        private(set) var failed: [String: CKError] = [:]

        init(_ records: [CKRecord], isAtomic: Bool) {
            self.records = Dictionary(uniqueKeysWithValues: records.map { ($0.recordID, $0) })
            self.isAtomic = isAtomic
        }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            guard case .sentRecordZoneChanges(let sent) = event else { return }
            for failure in sent.failedRecordSaves { failed[failure.record.recordID.recordName] = failure.error }
            for record in sent.savedRecords { failed[record.recordID.recordName] = nil }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            var batch = await CKSyncEngine.RecordZoneChangeBatch(
                pendingChanges: syncEngine.state.pendingRecordZoneChanges
            ) { [records] in records[$0] }
            batch?.atomicByZone = isAtomic
            return batch
        }
    }

    enum Tie: CaseIterable { case child, reference, grandchild, neighbour }

    @Test("stay pending, and are sent with it once it can be encrypted", arguments: Tie.allCases, [false, true])
    func waits(tie: Tie, isAtomic: Bool) async throws {
        try await TestServer.run { server in
            let ada = try server.device(of: "ada")
            _ = try await ada.privateCloudDatabase.save(notes)
            let first = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "z", zoneID: notes.zoneID))
            first.encryptedValues["secret"] = "keys are made"
            try await save([first], in: ada.privateCloudDatabase)
            let laptop = try server.device(of: "ada")
            let secret = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "n", zoneID: notes.zoneID))
            secret.encryptedValues["secret"] = "n"
            var records = [secret]
            func add(_ name: String) -> CKRecord {
                let record = CKRecord(
                    recordType: "Page", recordID: CKRecord.ID(recordName: name, zoneID: notes.zoneID))
                record["title"] = name
                records.append(record)
                return record
            }
            let child = add("m")
            switch tie {
            case .child, .grandchild: child.parent = CKRecord.Reference(record: secret, action: .none)
            case .reference: child["ref"] = CKRecord.Reference(record: secret, action: .deleteSelf)
            case .neighbour: break
            }
            if tie == .grandchild { add("g").parent = CKRecord.Reference(record: child, action: .none) }
            let delegate = Delegate(records, isAtomic: isAtomic)
            var configuration = CKSyncEngine.Configuration(
                database: laptop.privateCloudDatabase, stateSerialization: nil, delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            engine.state.add(pendingRecordZoneChanges: records.map { .saveRecord($0.recordID) })
            // A second send changes nothing: what waits is asked for again.
            for _ in 0..<2 { await #expect(throws: CKError.self) { try await engine.sendChanges() } }
            let isFree = (tie == .neighbour || tie == .reference) && !isAtomic
            #expect(engine.state.pendingRecordZoneChanges.count == (isFree ? 1 : records.count))
            #expect(await delegate.failed.count == (isFree ? 1 : records.count))
            for (name, error) in await delegate.failed {
                #expect(error.encryptionProblem == .deviceHasNoKeys, "\(name): \(error)")
            }
            try await ada.letIn(laptop)
            try await engine.sendChanges()
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            #expect(await delegate.failed.isEmpty)
            for record in records { _ = try await ada.privateCloudDatabase.record(for: record.recordID) }
        }
    }
}
