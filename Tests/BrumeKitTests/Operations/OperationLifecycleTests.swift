@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import Foundation
import Testing

@Suite("An operation's life", .timeLimit(.minutes(1)))
struct OperationLifecycleTests {
    let transport = FakeTransport()
    let transcript = Transcript()
    let zone = CKRecordZone.ID(zoneName: "Notes")
    let coder = MessageCoder()

    private func fetch(_ name: String) -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: name, zoneID: zone)])
        let transcript = transcript
        operation.perRecordResultBlock = { transcript.add("fetched \($0.recordName)", $1) }
        operation.fetchRecordsResultBlock = { transcript.add("end of \(name)", $0) }
        return operation
    }

    private func answer(_ name: String, on connection: FakeConnection) async throws {
        connection.answer(
            try await transport.call().stream, coder.encodeFetchRecordsResponse([[.record(stored(name))]]))
    }

    private func openCalls(_ container: CKContainer) async throws -> Int {
        try await container.core.openSession().openCallCount
    }

    @Test("cancelled before its start, it tells so when its queue starts it, and asks nobody")
    func cancelledBefore() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = fetch("a")
        operation.cancel()
        #expect(transcript.lines.isEmpty)
        await operation.finished { container.privateCloudDatabase.add(operation) }
        #expect(transcript.lines == ["fetched a: operationCancelled", "end of a: operationCancelled"])
        #expect(operation.isFinished)
        #expect(try await openCalls(container) == 0)
        withExtendedLifetime(folder) {}
    }

    @Test("cancelled while it waits for a connection, or for the answer, it tells so once and leaves no call behind")
    func cancelledDuring() async throws {
        let (container, folder) = try fakeContainer(transport)
        let waiting = fetch("a")
        let waitingEnd = waiting.started { container.privateCloudDatabase.add(waiting) }
        let connecting = try await transport.connecting()
        waiting.cancel()
        await waitingEnd.value
        #expect(transcript.lines == ["fetched a: operationCancelled", "end of a: operationCancelled"])

        let asking = fetch("b")
        let askingEnd = asking.started { container.privateCloudDatabase.add(asking) }
        connecting.accept()
        _ = try await transport.message(.hello)
        connecting.welcome()
        let call = try await transport.call()
        asking.cancel()
        let cancel = try await transport.message(.cancel)
        #expect(cancel.header.stream == call.stream)
        await askingEnd.value
        connecting.answer(call.stream, coder.encodeFetchRecordsResponse([[.record(stored("b"))]]))
        #expect(transcript.lines.suffix(2) == ["fetched b: operationCancelled", "end of b: operationCancelled"])
        #expect(try await openCalls(container) == 0)
        withExtendedLifetime(folder) {}
    }

    @Test("cancelled after its end, it tells nothing more")
    func cancelledAfter() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = fetch("a")
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        try await answer("a", on: connection)
        await end.value
        operation.cancel()
        let next = fetch("b")
        let nextEnd = next.started { container.privateCloudDatabase.add(next) }
        try await answer("b", on: connection)
        await nextEnd.value
        #expect(transcript.lines == ["fetched a", "end of a", "fetched b", "end of b"])
        withExtendedLifetime(folder) {}
    }

    @Test("added again while it runs, or behind its end, or to another database, it says that it runs once")
    func reused() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = fetch("a")
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        let call = try await transport.call()
        let refused = CKFetchRecordsOperation()
        let (stream, told) = AsyncStream<CKError?>.makeStream()
        refused.fetchRecordsResultBlock = { result in
            if case .failure(let error) = result { told.yield(error as? CKError) }
        }
        container.publicCloudDatabase.add(operation)
        container.add(operation)
        connection.answer(call.stream, coder.encodeFetchRecordsResponse([[.record(stored("a"))]]))
        await end.value
        operation.fetchRecordsResultBlock = refused.fetchRecordsResultBlock
        container.privateCloudDatabase.add(operation)
        var iterator = stream.makeAsyncIterator()
        let error = try #require(await iterator.next() ?? nil)
        #expect(error.code == .invalidArguments)
        #expect(error.localizedDescription.contains("an operation runs once"))
        // The blocks of one operation come one after the other, so those of the refusals are through.
        #expect(transcript.lines.filter { $0 == "end of a" }.count == 1)
        #expect(transcript.lines.filter { $0 == "end of a: invalidArguments" }.count == 2)
        operation.start()
        let again = try #require(await iterator.next() ?? nil)
        #expect(again.code == .invalidArguments)
        #expect(operation.isFinished)
        withExtendedLifetime(folder) {}
    }

    @Test("without blocks it runs and ends as well")
    func withoutBlocks() async throws {
        let (container, folder) = try fakeContainer(transport, token: nil)
        let database = container.privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        let operations: [CKDatabaseOperation] = [
            CKModifyRecordsOperation(recordsToSave: [record], recordIDsToDelete: [CKRecord.ID(recordName: "x")]),
            CKModifyRecordsOperation(), CKFetchRecordsOperation(recordIDs: [record.recordID]),
            CKFetchRecordsOperation.fetchCurrentUserRecordOperation(), CKFetchRecordsOperation(),
            CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone]), CKFetchRecordZoneChangesOperation(),
            CKFetchDatabaseChangesOperation(), CKFetchRecordZonesOperation.fetchAllRecordZonesOperation(),
            CKFetchRecordZonesOperation(recordZoneIDs: [zone]), CKFetchRecordZonesOperation(),
            CKModifyRecordZonesOperation(
                recordZonesToSave: [CKRecordZone(zoneID: zone)], recordZoneIDsToDelete: [zone]),
            CKModifyRecordZonesOperation(), CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation(),
            CKFetchSubscriptionsOperation(subscriptionIDs: ["s"]),
            CKModifySubscriptionsOperation(
                subscriptionsToSave: [CKDatabaseSubscription(subscriptionID: "s")], subscriptionIDsToDelete: ["t"]),
            CKQueryOperation(),
            CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true))),
        ]
        for operation in operations {
            await operation.finished { database.add(operation) }
            #expect(operation.isFinished)
        }
        withExtendedLifetime(folder) {}
    }

    @Test("on a queue of the app's it waits for what it depends on, and its dependents for it")
    func dependencies() async throws {
        let (container, folder) = try fakeContainer(transport)
        let (first, second) = (fetch("a"), fetch("b"))
        let between = BlockOperation { [transcript] in transcript.add("between") }
        first.database = container.privateCloudDatabase
        second.configuration.container = container
        between.addDependency(first)
        second.addDependency(between)
        let queue = OperationQueue()
        let end = second.started { queue.addOperations([second, between, first], waitUntilFinished: false) }
        let connection = try await transport.welcomed()
        try await answer("a", on: connection)
        try await answer("b", on: connection)
        await end.value
        #expect(transcript.lines == ["fetched a", "end of a", "between", "fetched b", "end of b"])
        withExtendedLifetime(folder) {}
    }

    @Test("a block that waits for another operation does not hold that one up")
    func waitingBlocks() async throws {
        let (container, folder) = try fakeContainer(transport, token: nil)
        let operations = (0..<16).map { fetch("\($0)") }
        for (index, operation) in operations.enumerated() {
            let next = index + 1 < operations.count ? operations[index + 1] : nil
            operation.fetchRecordsResultBlock = { _ in next?.waitUntilFinished() }
        }
        await operations[0].finished {
            for operation in operations { container.privateCloudDatabase.add(operation) }
        }
        #expect(operations.allSatisfy { $0.isFinished })
        withExtendedLifetime(folder) {}
    }

    @Test("is found as a long-lived one while it runs, and adding it again changes nothing")
    func longLived() async throws {
        let (container, folder) = try fakeContainer(transport)
        let operation = fetch("a")
        operation.configuration.isLongLived = true
        let end = operation.started { container.privateCloudDatabase.add(operation) }
        let connection = try await transport.welcomed()
        #expect(try await container.allLongLivedOperationIDs() == [operation.operationID])
        let found = try #require(try await container.longLivedOperation(for: operation.operationID))
        #expect(found === operation)
        container.add(found)
        try await answer("a", on: connection)
        await end.value
        #expect(transcript.lines == ["fetched a", "end of a"])
        #expect(try await container.allLongLivedOperationIDs().isEmpty)
        #expect(try await container.longLivedOperation(for: operation.operationID) == nil)
        withExtendedLifetime(folder) {}
    }

    @Test("goes when it has ended: nothing keeps it alive")
    func released() async throws {
        let (container, folder) = try fakeContainer(transport, token: nil)
        weak var seen: CKOperation?
        do {
            let operation = fetch("a")
            seen = operation
            await operation.finished { container.privateCloudDatabase.add(operation) }
        }
        // The queue lets go of it behind the completion block.
        while seen != nil { await Task.yield() }
        #expect(seen == nil)
        withExtendedLifetime(folder) {}
    }
}
