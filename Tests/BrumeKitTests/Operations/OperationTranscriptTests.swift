@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Foundation
import Testing

@Suite("An operation's blocks", .timeLimit(.minutes(1)))
struct OperationTranscriptTests {
    let transport = FakeTransport()
    let transcript = Transcript()
    let zone = CKRecordZone.ID(zoneName: "Notes")
    let coder = MessageCoder()

    private func observe(_ operation: CKModifyRecordsOperation) {
        let transcript = transcript
        operation.perRecordProgressBlock = { transcript.add("\($0.recordID.recordName) at \($1)") }
        operation.perRecordSaveBlock = { transcript.add("saved \($0.recordName)", $1) }
        operation.perRecordDeleteBlock = { transcript.add("deleted \($0.recordName)", $1) }
        operation.modifyRecordsResultBlock = { transcript.add("end", $0) }
    }

    private func answerToModification() -> [UInt8] {
        let conflict = ServiceError(.serverRecordChanged, "newer", serverRecord: stored("b", text: "theirs").array)
        return coder.encodeModifyRecordsResponse([
            ZoneModificationResult(
                saves: [SaveResult(outcome: .record(stored("a"))), SaveResult(outcome: .failure(conflict))],
                deletions: [nil])
        ])
    }

    @Test("of a modification tell progress and outcome of each record, the deletions, and the end")
    func modify() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = CKModifyRecordsOperation(
            recordsToSave: notes("a", "b", in: zone),
            recordIDsToDelete: [CKRecord.ID(recordName: "c", zoneID: zone)])
        operation.isAtomic = false
        operation.savePolicy = .allKeys
        observe(operation)
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        let call = try await transport.call()
        let request = try call.payload.withUnsafeBytes { try coder.decodeModifyRecordsRequest($0) }
        #expect(!request.isAtomic)
        #expect(request.savePolicy == .allKeys)
        connection.answer(call.stream, answerToModification())
        await end.value
        #expect(
            transcript.lines == ["a at 1.0", "saved a", "saved b: serverRecordChanged", "deleted c", "end"])
        #expect(operation.isFinished)
        #expect(!operation.isExecuting)
        withExtendedLifetime(folder) {}
    }

    @Test("of a modification with nothing set, and of a call, are of an atomic one that compares tags")
    func defaults() async throws {
        let (container, folder) = try fakeContainer(transport)
        let database = container.privateCloudDatabase
        let operation = CKModifyRecordsOperation(recordsToSave: notes("a", in: zone))
        let ended = operation.started { database.add(operation) }
        let connection = try await transport.welcomed()
        func takeRequest() async throws {
            let call = try await transport.call()
            let request = try call.payload.withUnsafeBytes { try coder.decodeModifyRecordsRequest($0) }
            #expect(request.isAtomic)
            #expect(request.savePolicy == .ifServerRecordUnchanged)
            let saved = ZoneModificationResult(saves: [SaveResult(outcome: .record(stored("a")))])
            connection.answer(call.stream, coder.encodeModifyRecordsResponse([saved]))
        }
        try await takeRequest()
        await ended.value
        let called = Task { [zone] in
            _ = try await database.modifyRecords(saving: notes("a", in: zone), deleting: [])
        }
        try await takeRequest()
        try await called.value
        withExtendedLifetime(folder) {}
    }

    @Test("in the deprecated style end with what was done, and a partial failure by id")
    func deprecatedModify() async throws {
        let (container, folder) = try fakeContainer(transport)
        let records = notes("a", "b", in: zone)
        let operation = CKModifyRecordsOperation()
        operation.recordsToSave = records
        operation.recordIDsToDelete = [CKRecord.ID(recordName: "c", zoneID: zone)]
        let deprecated: any DeprecatedModifyRecords = operation
        let transcript = transcript
        deprecated.perRecordCompletionBlock = { record, error in
            #expect(records.contains { $0 === record }, "the block gets the instance that was given")
            transcript.add("saved \(record.recordID.recordName) \(record.recordChangeTag ?? "-")", error)
        }
        deprecated.modifyRecordsCompletionBlock = { saved, deleted, error in
            let names = (saved ?? []).map(\.recordID.recordName) + (deleted ?? []).map(\.recordName)
            transcript.add("end \(names)", error)
        }
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        connection.answer(try await transport.call().stream, answerToModification())
        await end.value
        #expect(
            transcript.lines == [
                "saved a 1-1", "saved b -: serverRecordChanged",
                "end [\"a\", \"c\"]: partialFailure [b serverRecordChanged]",
            ])
        withExtendedLifetime(folder) {}
    }

    @Test("of a newer kind are called alone when the deprecated ones are set as well")
    func bothGenerations() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = CKModifyRecordsOperation(recordsToSave: notes("a", in: zone))
        observe(operation)
        let deprecated: any DeprecatedModifyRecords = operation
        deprecated.perRecordCompletionBlock = { _, _ in Issue.record("the deprecated block is called as well") }
        deprecated.modifyRecordsCompletionBlock = { _, _, _ in Issue.record("the deprecated block is called as well") }
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        let result = ZoneModificationResult<SharedBytes>(saves: [SaveResult(outcome: .record(stored("a")))])
        connection.answer(try await transport.call().stream, coder.encodeModifyRecordsResponse([result]))
        await end.value
        #expect(transcript.lines == ["a at 1.0", "saved a", "end"])
        withExtendedLifetime(folder) {}
    }

    @Test("tell each item the error of a request that fails as a whole")
    func wholeFailure() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = CKModifyRecordsOperation(
            recordsToSave: notes("a", "b", in: zone),
            recordIDsToDelete: [CKRecord.ID(recordName: "c", zoneID: zone)])
        observe(operation)
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        connection.status(try await transport.call().stream, .limitExceeded, "too much")
        await end.value
        #expect(
            transcript.lines == [
                "saved a: limitExceeded", "saved b: limitExceeded", "deleted c: limitExceeded", "end: limitExceeded",
            ])

        let fetch = CKFetchRecordsOperation(recordIDs: notes("d", in: zone).map(\.recordID))
        let old: any DeprecatedFetchRecords = fetch
        let transcript = transcript
        old.perRecordCompletionBlock = { transcript.add("fetched \($1?.recordName ?? "") \($0 == nil)", $2) }
        old.fetchRecordsCompletionBlock = { transcript.add("end \($0 == nil)", $1) }
        let secondEnd = fetch.started { container.privateCloudDatabase.add(fetch) }
        connection.status(try await transport.call().stream, .serviceUnavailable, "away")
        await secondEnd.value
        #expect(transcript.lines.suffix(2) == ["fetched d true: serviceUnavailable", "end true: serviceUnavailable"])
        withExtendedLifetime(folder) {}
    }

    @Test("of a fetch come in the order of the ids, those of a second answer included")
    func fetch() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = CKFetchRecordsOperation(recordIDs: notes("a", "b", "c", in: zone).map(\.recordID))
        let transcript = transcript
        operation.perRecordProgressBlock = { transcript.add("\($0.recordName) at \($1)") }
        operation.perRecordResultBlock = { transcript.add("fetched \($0.recordName)", $1) }
        operation.fetchRecordsResultBlock = { transcript.add("end", $0) }
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        let gone = ServiceError(.unknownItem, "no c")
        connection.answer(
            try await transport.call().stream,
            coder.encodeFetchRecordsResponse([[.deferred, .record(stored("b")), .failure(gone)]]))
        connection.answer(
            try await transport.call().stream, coder.encodeFetchRecordsResponse([[.record(stored("a"))]]))
        await end.value
        #expect(
            transcript.lines == [
                "a at 1.0", "fetched a", "b at 1.0", "fetched b", "fetched c: unknownItem", "end",
            ])
        withExtendedLifetime(folder) {}
    }

    private func page(_ names: [String], deleted: [String] = [], token: UInt8, more: Bool = false) -> [UInt8] {
        coder.encodeZoneChangesResponse(
            ZoneChangesPage(
                records: names.map { stored($0) },
                deletions: deleted.map { DeletedRecord(name: $0, type: "Note") }, token: [token], moreComing: more))
    }

    private func observe(_ operation: CKFetchRecordZoneChangesOperation) {
        let transcript = transcript
        operation.recordWasChangedBlock = { transcript.add("changed \($0.recordName)", $1) }
        operation.recordWithIDWasDeletedBlock = { transcript.add("deleted \($0.recordName) \($1)") }
        operation.recordZoneChangeTokensUpdatedBlock = { zone, token, _ in
            transcript.add("token of \(zone.zoneName): \(token?.bytes ?? [])")
        }
        operation.recordZoneFetchResultBlock = { zone, result in
            let token = (try? result.get()).map { " \($0.serverChangeToken.bytes) \($0.moreComing)" } ?? ""
            transcript.add("\(zone.zoneName) ended\(token)", result)
        }
        operation.fetchRecordZoneChangesResultBlock = { transcript.add("end", $0) }
    }

    @Test("of zone changes go page by page, and a zone that fails keeps no other from being fetched")
    func zoneChanges() async throws {
        let (container, folder) = try fakeContainer(transport)
        let zones = ["A", "B", "C"].map { CKRecordZone.ID(zoneName: $0) }
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: zones,
            configurationsByRecordZoneID: [
                zones[0]: CKFetchRecordZoneChangesOperation.ZoneConfiguration(
                    previousServerChangeToken: CKServerChangeToken(bytes: [7]), resultsLimit: 2, desiredKeys: ["text"])
            ])
        observe(operation)
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        var call = try await transport.call()
        let first = try call.payload.withUnsafeBytes { try coder.decodeZoneChangesRequest($0) }
        #expect(first.token == [7])
        #expect(first.resultsLimit == 2)
        #expect(first.desiredKeys == ["text"])
        connection.answer(call.stream, page(["a", "b"], deleted: ["x"], token: 8, more: true))
        call = try await transport.call()
        let second = try call.payload.withUnsafeBytes { try coder.decodeZoneChangesRequest($0) }
        #expect(second.token == [8])
        connection.answer(call.stream, page(["c"], token: 9))
        connection.status(try await transport.call().stream, .changeTokenExpired, "old")
        connection.answer(try await transport.call().stream, page([], token: 3))
        await end.value
        #expect(
            transcript.lines == [
                "changed a", "changed b", "deleted x Note", "token of A: [8]", "changed c", "token of A: [9]",
                "A ended [9] false", "B ended: changeTokenExpired", "token of C: [3]", "C ended [3] false", "end",
            ])
        withExtendedLifetime(folder) {}
    }

    @Test("of zone changes, one page each, say that more is coming; deprecated ones get a partial failure")
    func singlePages() async throws {
        let (container, folder) = try fakeContainer(transport)
        let zones = ["A", "B"].map { CKRecordZone.ID(zoneName: $0) }
        let operation = CKFetchRecordZoneChangesOperation()
        operation.recordZoneIDs = zones
        operation.fetchAllChanges = false
        let transcript = transcript
        let deprecated: any DeprecatedZoneChanges = operation
        deprecated.recordChangedBlock = { transcript.add("changed \($0.recordID.recordName)") }
        deprecated.recordZoneFetchCompletionBlock = { zone, token, _, more, error in
            transcript.add("\(zone.zoneName) ended \(token?.bytes ?? []) \(more)", error)
        }
        deprecated.fetchRecordZoneChangesCompletionBlock = { transcript.add("end", $0) }
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        connection.answer(try await transport.call().stream, page(["a"], token: 1, more: true))
        connection.status(try await transport.call().stream, .zoneNotFound, "gone")
        await end.value
        #expect(
            transcript.lines == [
                "changed a", "A ended [1] true", "B ended [] false: zoneNotFound",
                "end: partialFailure [B zoneNotFound]",
            ])
        withExtendedLifetime(folder) {}
    }

    @Test("of zone changes tell every zone that is left when the server is away")
    func zoneChangesFailWhole() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: ["A", "B", "C"].map { CKRecordZone.ID(zoneName: $0) })
        observe(operation)
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        connection.answer(try await transport.call().stream, page(["a"], token: 1))
        connection.status(try await transport.call().stream, .serviceUnavailable, "stopping")
        await end.value
        #expect(
            transcript.lines == [
                "changed a", "token of A: [1]", "A ended [1] false", "B ended: serviceUnavailable",
                "C ended: serviceUnavailable", "end: serviceUnavailable",
            ])
        withExtendedLifetime(folder) {}
    }

    @Test("that cancel get no further record, and no token that would leave one behind")
    func cancelledInBlock() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: ["A", "B"].map { CKRecordZone.ID(zoneName: $0) })
        observe(operation)
        let transcript = transcript
        operation.recordWasChangedBlock = { [unowned operation] id, _ in
            transcript.add("changed \(id.recordName)")
            if id.recordName == "b" { operation.cancel() }
        }
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        connection.answer(try await transport.call().stream, page(["a", "b", "c"], token: 1))
        await end.value
        #expect(
            transcript.lines == [
                "changed a", "changed b", "A ended: operationCancelled", "B ended: operationCancelled",
                "end: operationCancelled",
            ])
        withExtendedLifetime(folder) {}
    }

    @Test("of database changes tell each zone's fate, the token behind each page, and the end")
    func databaseChanges() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        let transcript = transcript
        operation.recordZoneWithIDChangedBlock = { transcript.add("changed \($0.zoneName)") }
        operation.recordZoneWithIDWasDeletedBlock = { transcript.add("deleted \($0.zoneName)") }
        operation.recordZoneWithIDWasPurgedBlock = { transcript.add("purged \($0.zoneName)") }
        operation.changeTokenUpdatedBlock = { transcript.add("token \($0.bytes)") }
        operation.fetchDatabaseChangesResultBlock = { result in
            transcript.add("end \((try? result.get()).map { "\($0.serverChangeToken.bytes) \($0.moreComing)" } ?? "")")
        }
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        func zone(_ name: String) -> ZoneID { CKRecordZone.ID(zoneName: name).modelID }
        connection.answer(
            try await transport.call().stream,
            coder.encodeDatabaseChangesResponse(
                DatabaseChangesPage(
                    changed: [zone("A"), zone("B")],
                    deletions: [
                        .init(zone: zone("C"), reason: .deleted), .init(zone: zone("D"), reason: .purged),
                        .init(zone: zone("E"), reason: .encryptedDataReset),
                    ], token: [1], moreComing: true)))
        connection.answer(
            try await transport.call().stream,
            coder.encodeDatabaseChangesResponse(
                DatabaseChangesPage(
                    changed: [zone("F"), zone("C")], deletions: [], token: [2], moreComing: false,
                    earlierDeletions: [
                        .init(zone: zone("F"), reason: .deleted), .init(zone: zone("G"), reason: .purged),
                    ])))
        await end.value
        #expect(
            transcript.lines == [
                "changed A", "changed B", "deleted C", "purged D", "deleted E", "token [1]", "deleted F", "purged G",
                "changed F", "changed C", "token [2]",
                "end [2] false",
            ])
        withExtendedLifetime(folder) {}
    }
}
