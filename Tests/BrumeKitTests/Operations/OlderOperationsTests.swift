@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Foundation
import Testing

@Suite("Operations from before iOS 10", .timeLimit(.minutes(1)))
struct OlderOperationsTests {
    let transport = FakeTransport()
    let coder = MessageCoder()
    let transcript = Transcript()
    let zone = CKRecordZone.ID(zoneName: "Notes")

    private func page(_ names: [String], deleted: [String] = [], token: UInt8, more: Bool = false) -> [UInt8] {
        coder.encodeZoneChangesResponse(
            ZoneChangesPage(
                records: names.map { stored($0) },
                deletions: deleted.map { DeletedRecord(name: $0, type: "Note") }, token: [token], moreComing: more))
    }

    @available(*, deprecated)
    private func observe(_ operation: CKFetchRecordChangesOperation) {
        let transcript = transcript
        operation.recordChangedBlock = { transcript.add("changed \($0.recordID.recordName)") }
        operation.recordWithIDWasDeletedBlock = { transcript.add("deleted \($0.recordName)") }
        operation.fetchRecordChangesCompletionBlock = { [unowned operation] token, _, error in
            transcript.add("token \(token?.bytes ?? []) \(operation.moreComing)", error)
        }
    }

    @available(*, deprecated)
    @Test("fetch a page of a zone's changes each, and say whether more is coming")
    func pages() async throws {
        let (container, folder) = try fakeContainer(transport)
        let first = CKFetchRecordChangesOperation(
            recordZoneID: zone, previousServerChangeToken: CKServerChangeToken(bytes: [7]))
        first.resultsLimit = 2
        first.desiredKeys = ["text"]
        observe(first)
        var end = first.started { container.privateCloudDatabase.add(first) }
        let connection = try await transport.welcomed()
        let call = try await transport.call()
        let request = try call.payload.withUnsafeBytes { try coder.decodeZoneChangesRequest($0) }
        #expect(request.zone.name == "Notes" && request.token == [7])
        #expect(request.resultsLimit == 2 && request.desiredKeys == ["text"])
        connection.answer(call.stream, page(["a", "b"], deleted: ["x"], token: 8, more: true))
        await end.value
        let second = CKFetchRecordChangesOperation()
        second.recordZoneID = zone
        observe(second)
        end = second.started { container.privateCloudDatabase.add(second) }
        connection.answer(try await transport.call().stream, page(["c"], token: 9))
        await end.value
        #expect(
            transcript.lines == [
                "changed a", "changed b", "deleted x", "token [8] true", "changed c", "token [9] false",
            ])
        withExtendedLifetime(folder) {}
    }

    @available(*, deprecated)
    @Test("fail with the token that they were given, and without a zone at once")
    func failures() async throws {
        let (container, folder) = try fakeContainer(transport)
        let nowhere = CKFetchRecordChangesOperation()
        observe(nowhere)
        await nowhere.finished { container.privateCloudDatabase.add(nowhere) }
        let operation = CKFetchRecordChangesOperation(
            recordZoneID: zone, previousServerChangeToken: CKServerChangeToken(bytes: [7]))
        observe(operation)
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        connection.status(try await transport.call().stream, .changeTokenExpired, "old")
        await end.value
        #expect(
            transcript.lines == ["token [] false: invalidArguments", "token [7] false: changeTokenExpired"])
        withExtendedLifetime(folder) {}
    }
}
