@testable import BrumeKit
import BrumeModel
import BrumeProtocol
import BrumeRecord
import BrumeTestKit
import Foundation
import Testing

@Suite("Calls to the shared database", .timeLimit(.minutes(1)))
struct SharedDatabaseCallTests {
    private let transport = FakeTransport()
    private let coder = MessageCoder()
    private let user = RandomShare.user(9)
    private let ada = CKRecordZone.ID(zoneName: "Notes", ownerName: RandomShare.user(1))
    private let adaOther = CKRecordZone.ID(zoneName: "Lists", ownerName: RandomShare.user(1))
    private let bob = CKRecordZone.ID(zoneName: "Notes", ownerName: RandomShare.user(2))

    private func note(_ name: String, _ zoneID: CKRecordZone.ID) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    private func code<Value>(_ result: Result<Value, any Error>?) -> CKError.Code? { (result?.error as? CKError)?.code }

    private func modification() async throws -> (stream: UInt32, request: ModifyRecordsRequest<CheckedFields>) {
        let call = try await transport.call()
        #expect(call.header.method == .recordsModify)
        let request = try call.payload.withUnsafeBytes { try coder.decodeModifyRecordsRequest($0) }
        #expect(request.database == .shared)
        return (call.stream, request)
    }

    private func saved(_ name: String) -> SaveResult<SharedBytes> {
        SaveResult(outcome: .record(stored(name)), fieldsOmitted: true)
    }

    @Test("send one request for each owner's records, whose results come together and keep their zones")
    func modifiesByOwner() async throws {
        let (container, folder) = try fakeContainer(transport)
        let records = [note("a", ada), note("b", bob), note("c", adaOther)]
        let deletion = CKRecord.ID(recordName: "d", zoneID: bob)
        let modify = Task {
            try await container.sharedCloudDatabase.modifyRecords(saving: records, deleting: [deletion])
        }
        let connection = try await transport.welcomed(user: user)
        let first = try await modification()
        #expect(first.request.zones.map(\.zone) == [ada.modelID, adaOther.modelID] && first.request.isAtomic)
        connection.answer(
            first.stream,
            coder.encodeModifyRecordsResponse([
                ZoneModificationResult(saves: [saved("a")]),
                ZoneModificationResult(
                    saves: [SaveResult(outcome: .failure(ServiceError(.permissionFailure, "read only")))]),
            ]))
        let second = try await modification()
        #expect(second.request.zones.map(\.zone) == [bob.modelID])
        #expect(second.request.operationID != first.request.operationID)
        connection.answer(
            second.stream,
            coder.encodeModifyRecordsResponse([ZoneModificationResult(saves: [saved("b")], deletions: [nil])]))
        let results = try await modify.value
        #expect(try results.saveResults[records[0].recordID]?.get().recordID.zoneID == ada)
        #expect(try results.saveResults[records[1].recordID]?.get().recordID.zoneID == bob)
        #expect(code(results.saveResults[records[2].recordID]) == .permissionFailure)
        #expect(records[1].recordChangeTag == "1-1" && code(results.deleteResults[deletion]) == nil)
        #expect(results.saveResults.count == 3 && results.deleteResults.count == 1)
        withExtendedLifetime(folder) {}
    }

    @Test("fail for the items of an owner whose request fails whole, and throw when all of them do")
    func wholeFailures() async throws {
        let (container, folder) = try fakeContainer(transport)
        let records = [note("a", ada), note("b", bob)]
        func modify() -> Task<CKDatabase.RecordModificationResults, any Error> {
            Task { try await container.sharedCloudDatabase.modifyRecords(saving: records, deleting: []) }
        }
        let one = modify()
        let connection = try await transport.welcomed(user: user)
        connection.status(try await modification().stream, .limitExceeded)
        connection.answer(
            try await modification().stream,
            coder.encodeModifyRecordsResponse([ZoneModificationResult(saves: [saved("b")])]))
        let results = try await one.value
        #expect(code(results.saveResults[records[0].recordID]) == .limitExceeded)
        #expect(code(results.saveResults[records[1].recordID]) == nil)

        let all = modify()
        connection.status(try await modification().stream, .limitExceeded)
        connection.status(try await modification().stream, .zoneBusy)
        #expect(await failure { try await all.value }?.code == .limitExceeded)

        // The next owner's would fail with it, too, and is not sent.
        let away = modify()
        connection.status(try await modification().stream, .serviceUnavailable)
        #expect(await failure { try await away.value }?.code == .serviceUnavailable)
        #expect(try await container.core.openSession().openCallCount == 0)
        withExtendedLifetime(folder) {}
    }

    @Test("fetch records by owner, and ask each owner's again for what did not fit into an answer")
    func fetchesByOwner() async throws {
        let (container, folder) = try fakeContainer(transport)
        let ids = [("a", ada), ("b", bob), ("c", ada)].map { CKRecord.ID(recordName: $0, zoneID: $1) }
        let fetch = Task { try await container.sharedCloudDatabase.records(for: ids) }
        let connection = try await transport.welcomed(user: user)
        func call() async throws -> (stream: UInt32, request: FetchRecordsRequest) {
            let call = try await transport.call()
            return (call.stream, try call.payload.withUnsafeBytes { try coder.decodeFetchRecordsRequest($0) })
        }
        let first = try await call()
        #expect(first.request.database == .shared && first.request.zones.map(\.zone) == [ada.modelID])
        #expect(first.request.zones.map(\.names) == [["a", "c"]])
        connection.answer(first.stream, coder.encodeFetchRecordsResponse([[.record(stored("a")), .deferred]]))
        let again = try await call()
        #expect(again.request.zones.map(\.names) == [["c"]])
        connection.status(again.stream, .zoneBusy)
        let second = try await call()
        #expect(second.request.zones.map(\.zone) == [bob.modelID])
        connection.answer(second.stream, coder.encodeFetchRecordsResponse([[.record(stored("b"))]]))
        let results = try await fetch.value
        #expect(try results[ids[0]]?.get().recordID == ids[0])
        #expect(try results[ids[1]]?.get().recordID == ids[1])
        #expect(code(results[ids[2]]) == .zoneBusy && results.count == 3)
        withExtendedLifetime(folder) {}
    }

    @Test("fetch and leave zones by owner, and list those of all owners")
    func zones() async throws {
        let (container, folder) = try fakeContainer(transport)
        let database = container.sharedCloudDatabase
        let (ids, user) = ([ada, bob], user)
        let fetch = Task { try await database.recordZones(for: ids) }
        let connection = try await transport.welcomed(user: user)
        for id in ids {
            let call = try await transport.call()
            let request = try call.payload.withUnsafeBytes { try coder.decodeFetchZonesRequest($0) }
            #expect(request.0 == .shared && request.1 == [id.modelID])
            let zone = Zone(id: id.modelID, capabilities: [.fetchChanges, .atomic])
            connection.answer(
                call.stream,
                coder.encodeFetchZonesResponse([
                    id == ada ? .success(zone) : .failure(ServiceError(.zoneNotFound, "no"))
                ])
            )
        }
        let fetched = try await fetch.value
        #expect(try fetched[ada]?.get().zoneID == ada && code(fetched[bob]) == .zoneNotFound)

        let leave = Task { try await database.modifyRecordZones(saving: [], deleting: ids) }
        for id in ids {
            let call = try await transport.call()
            let request = try call.payload.withUnsafeBytes { try coder.decodeModifyZonesRequest($0) }
            #expect(request.database == .shared && request.deletions == [id.modelID] && request.saves.isEmpty)
            connection.answer(call.stream, coder.encodeModifyZonesResponse(.init(saves: [], deletions: [nil])))
        }
        #expect(try await leave.value.deleteResults.keys.count == 2)

        let list = Task { try await database.allRecordZones() }
        let call = try await transport.call()
        #expect(try call.payload.withUnsafeBytes { try coder.decodeListZonesRequest($0) } == .shared)
        connection.answer(
            call.stream, coder.encodeListZonesResponse(ids.map { Zone(id: $0.modelID, capabilities: .custom) }))
        #expect(try await list.value.map(\.zoneID) == ids)
        withExtendedLifetime(folder) {}
    }

    @Test("are refused unsent for what the shared database can't have")
    func refusals() async throws {
        let (container, folder) = try fakeContainer(transport)
        let database = container.sharedCloudDatabase
        let default_ = CKRecordZone.ID(ownerName: ada.ownerName)
        for zoneID in [CKRecordZone.ID(zoneName: "Notes"), .default, default_] {
            let record = note("a", zoneID)
            #expect(await failure { try await database.save(record) }?.code == .invalidArguments)
            #expect(await failure { try await database.record(for: record.recordID) }?.code == .invalidArguments)
            #expect(
                await failure { try await database.deleteRecord(withID: record.recordID) }?.code == .invalidArguments)
            #expect(await failure { try await database.recordZone(for: zoneID) }?.code == .invalidArguments)
            #expect(await failure { try await database.deleteRecordZone(withID: zoneID) }?.code == .invalidArguments)
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
            let refusal = await failure {
                try await database.records(matching: query, inZoneWith: zoneID, resultsLimit: 1)
            }
            #expect(refusal?.code == .invalidArguments)
            let changes = await failure { try await database.recordZoneChanges(inZoneWith: zoneID, since: nil) }
            #expect(changes?.code == .invalidArguments)
        }
        for zoneID in [ada, CKRecordZone.ID(zoneName: "Notes")] {
            let zone = CKRecordZone(zoneID: zoneID)
            #expect(await failure { try await database.save(zone) }?.code == .permissionFailure)
        }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        #expect(
            await failure { try await database.records(matching: query, resultsLimit: 1) }?.code == .invalidArguments)
        let subscriptions = [
            CKRecordZoneSubscription(zoneID: ada, subscriptionID: "z"),
            CKQuerySubscription(
                recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "q",
                options: .firesOnRecordCreation),
        ]
        for subscription in subscriptions {
            #expect(await failure { try await database.save(subscription) }?.code == .invalidArguments)
        }
        withExtendedLifetime(folder) {}
    }

    @Test("of a record in a zone of the user's own name are refused once that name is known")
    func ownName() async throws {
        let (container, folder) = try fakeContainer(transport)
        let database = container.sharedCloudDatabase
        let own = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Notes", ownerName: user))
        let name = Task { try await container.userRecordID() }
        let connection = try await transport.welcomed(user: user)
        #expect(try await name.value.recordName == user)
        #expect(await failure { try await database.record(for: own) }?.code == .invalidArguments)
        let changes = await failure { try await database.recordZoneChanges(inZoneWith: own.zoneID, since: nil) }
        #expect(changes?.code == .invalidArguments)
        withExtendedLifetime((folder, connection)) {}
    }

    @Test("give changed zones with their owners")
    func databaseChanges() async throws {
        let (container, folder) = try fakeContainer(transport)
        let fetch = Task { try await container.sharedCloudDatabase.databaseChanges(since: nil) }
        let connection = try await transport.welcomed(user: user)
        let call = try await transport.call()
        let request = try call.payload.withUnsafeBytes { try coder.decodeDatabaseChangesRequest($0) }
        #expect(request.database == .shared)
        connection.answer(
            call.stream,
            coder.encodeDatabaseChangesResponse(
                DatabaseChangesPage(
                    changed: [ada.modelID], deletions: [.init(zone: bob.modelID, reason: .deleted)], token: [1],
                    moreComing: false)))
        let page = try await fetch.value
        #expect(page.modifications.map(\.zoneID) == [ada] && page.deletions.map(\.zoneID) == [bob])
        withExtendedLifetime(folder) {}
    }
}
