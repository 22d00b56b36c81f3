@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeRecord
import Foundation
import Testing

/// Runs `body` in a task of its own, so that the test can play the server.
private func start<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
) -> Task<Value, any Error> {
    Task { try await body() }
}

/// A request of saves as the server reads it.
private func modification(_ payload: [UInt8]) throws -> ModifyRecordsRequest<CheckedFields> {
    try payload.withUnsafeBytes { try MessageCoder().decodeModifyRecordsRequest($0) }
}

@Suite("A database", .timeLimit(.minutes(1)))
struct CKDatabaseTests {
    let transport = FakeTransport()
    let zone = CKRecordZone.ID(zoneName: "Notes")

    @Test("sends a save with one operation id, however often the connection breaks")
    func operationID() async throws {
        let (container, folder) = try fakeContainer(transport)
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone))
        record["text"] = "hello"
        let save = start { try await container.privateCloudDatabase.save(record) }
        var ids: Set<[UInt8]> = []
        for attempt in 1...3 {
            let connection = try await transport.welcomed()
            let call = try await transport.call()
            #expect(call.header.method == .recordsModify)
            let request = try modification(call.payload)
            ids.insert(request.operationID)
            #expect(request.zones.first?.saves.first?.name == "n")
            if attempt < 3 {
                connection.fail()
                transport.advance(seconds: 5)
            } else {
                let result = ZoneModificationResult<SharedBytes>(
                    saves: [SaveResult(outcome: .record(stored("n", tag: "1-9")), fieldsOmitted: true)])
                connection.answer(call.stream, MessageCoder().encodeModifyRecordsResponse([result]))
            }
        }
        #expect(ids.count == 1)
        #expect(ids.first?.count == 16)
        let saved = try await save.value
        #expect(saved.recordChangeTag == "1-9")
        #expect(saved["text"] == "hello")
        #expect(saved.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.recordChangeTag == "1-9", "the instance that was saved takes over the version")
        #expect(record.changedKeys().isEmpty)
        withExtendedLifetime(folder) {}
    }

    @Test("gives each item of a batch its own result")
    func batch() async throws {
        let (container, folder) = try fakeContainer(transport)
        let records = ["a", "b"].map {
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: $0, zoneID: zone))
        }
        let other = CKRecord.ID(recordName: "c")
        let modify = start {
            try await container.privateCloudDatabase.modifyRecords(
                saving: records, deleting: [other], atomically: false)
        }
        let connection = try await transport.welcomed()
        let call = try await transport.call()
        let request = try modification(call.payload)
        #expect(request.zones.map(\.zone.name) == ["Notes", "_defaultZone"])
        #expect(!request.isAtomic)
        let conflict = ServiceError(.serverRecordChanged, "newer", serverRecord: stored("b", text: "theirs").array)
        connection.answer(
            call.stream,
            MessageCoder().encodeModifyRecordsResponse([
                ZoneModificationResult(
                    saves: [SaveResult(outcome: .record(stored("a"))), SaveResult(outcome: .failure(conflict))]),
                ZoneModificationResult(deletions: [ServiceError(ErrorCode(rawValue: 4711), "new trouble (4711)")]),
            ]))
        let results = try await modify.value
        #expect(try results.saveResults[records[0].recordID]?.get().recordChangeTag == "1-1")
        let error = #expect(throws: CKError.self) { try results.saveResults[records[1].recordID]?.get() }
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.serverRecord?["text"] == "theirs")
        #expect(error?.clientRecord?.recordID == records[1].recordID)
        let unknown = #expect(throws: CKError.self) { try results.deleteResults[other]?.get() }
        #expect(unknown?.code == .internalError)
        #expect(unknown?.localizedDescription.contains("4711") == true)
        withExtendedLifetime(folder) {}
    }

    @Test("asks again for the records that did not fit into an answer")
    func deferred() async throws {
        let (container, folder) = try fakeContainer(transport)
        let ids = ["a", "b", "c"].map { CKRecord.ID(recordName: $0, zoneID: zone) }
        let fetch = start { try await container.privateCloudDatabase.records(for: ids + ids, desiredKeys: ["text"]) }
        let connection = try await transport.welcomed()
        let first = try await transport.call()
        let request = try first.payload.withUnsafeBytes { try MessageCoder().decodeFetchRecordsRequest($0) }
        #expect(request.zones.map(\.names) == [["a", "b", "c"]])
        #expect(request.desiredKeys == ["text"])
        connection.answer(
            first.stream,
            MessageCoder().encodeFetchRecordsResponse([
                [.record(stored("a", text: "1")), .deferred, .failure(ServiceError(.unknownItem, "no c"))]
            ]))
        let second = try await transport.call()
        let rest = try second.payload.withUnsafeBytes { try MessageCoder().decodeFetchRecordsRequest($0) }
        #expect(rest.zones.map(\.names) == [["b"]])
        connection.answer(second.stream, MessageCoder().encodeFetchRecordsResponse([[.record(stored("b"))]]))
        let results = try await fetch.value
        #expect(try results[ids[0]]?.get()["text"] == "1")
        #expect(try results[ids[1]]?.get().recordID == ids[1])
        #expect(#expect(throws: CKError.self) { try results[ids[2]]?.get() }?.code == .unknownItem)
        withExtendedLifetime(folder) {}
    }

    @Test("does not go round when the server puts everything off")
    func endlesslyDeferred() async throws {
        let (container, folder) = try fakeContainer(transport)
        let fetch = start { try await container.privateCloudDatabase.record(for: CKRecord.ID(recordName: "a")) }
        let connection = try await transport.welcomed()
        connection.answer(try await transport.call().stream, MessageCoder().encodeFetchRecordsResponse([[.deferred]]))
        await #expect(performing: { try await fetch.value }, throws: { CKError.internalError ~= $0 })
        withExtendedLifetime(folder) {}
    }

    @Test("refuses answers that have another shape than the request, and bytes that are none")
    func unfitAnswers() async throws {
        let (container, folder) = try fakeContainer(transport)
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone))
        let coder = MessageCoder()
        var connection: FakeConnection?
        for answer in [
            coder.encodeModifyRecordsResponse([]), coder.encodeModifyRecordsResponse([ZoneModificationResult()]),
            coder.encodeModifyRecordsResponse([
                ZoneModificationResult(saves: [SaveResult(outcome: .record(stored("another")))])
            ]), [0xFF, 0xFF],
        ] {
            let save = start { try await container.privateCloudDatabase.save(record) }
            if connection == nil { connection = try await transport.welcomed() }
            connection?.answer(try await transport.call().stream, answer)
            await #expect(performing: { try await save.value }, throws: { CKError.internalError ~= $0 })
            #expect(record.recordChangeTag == nil)
        }
        withExtendedLifetime(folder) {}
    }

    @Test("throws the server's error with its sentence and its time to come back")
    func callErrors() async throws {
        let (container, folder) = try fakeContainer(transport)
        let zones = start { try await container.privateCloudDatabase.allRecordZones() }
        let connection = try await transport.welcomed()
        connection.status(
            try await transport.call().stream, .requestRateLimited, "slow down", retryAfterMilliseconds: 1_500)
        let error = await #expect(throws: CKError.self) { try await zones.value }
        #expect(error?.code == .requestRateLimited)
        #expect(error?.retryAfterSeconds == 1.5)
        #expect(error?.localizedDescription == "slow down")
        withExtendedLifetime(folder) {}
    }

    @Test("asks nobody when the answer is known: no account, the shared scope, ids that come twice, nothing to do")
    func withoutServer() async throws {
        let (container, folder) = try fakeContainer(transport, token: nil)
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone))
        await #expect(
            performing: { try await container.privateCloudDatabase.save(record) },
            throws: { CKError.notAuthenticated ~= $0 })
        await #expect(
            performing: { try await container.sharedCloudDatabase.allRecordZones() },
            throws: { CKError.notAuthenticated ~= $0 })
        await #expect(
            performing: {
                try await container.publicCloudDatabase.modifyRecords(saving: [record], deleting: [record.recordID])
            }, throws: { CKError.invalidArguments ~= $0 })
        #expect(try await container.publicCloudDatabase.modifyRecords(saving: [], deleting: []).saveResults.isEmpty)
        #expect(try await container.publicCloudDatabase.records(for: []).isEmpty)
        #expect(try await container.accountStatus() == .noAccount)
        await #expect(
            performing: { try await container.userRecordID() }, throws: { CKError.notAuthenticated ~= $0 })
        withExtendedLifetime(folder) {}
    }

    @Test("an account that the server does not take is no account; a server that is away is an error")
    func accountStatus() async throws {
        let (container, folder) = try fakeContainer(transport)
        let refused = start { try await container.accountStatus() }
        let connection = try await transport.connecting()
        connection.accept()
        _ = try await transport.message(.hello)
        connection.status(0, .notAuthenticated, "revoked")
        #expect(try await refused.value == .noAccount)
        try await transport.closed()
        transport.advance(seconds: 1)

        let available = start { (try await container.accountStatus(), try await container.userRecordID()) }
        let second = try await transport.welcomed(user: "_0123")
        let (status, user) = try await available.value
        #expect(status == .available)
        #expect(user.recordName == "_0123")
        second.fail()
        let away = start { try await container.accountStatus() }
        transport.advance(seconds: 0.2)
        try await transport.connecting().fail(.unreachable("refused"))
        transport.advance(seconds: 61)
        await #expect(performing: { try await away.value }, throws: { CKError.networkUnavailable ~= $0 })
        withExtendedLifetime(folder) {}
    }
}
