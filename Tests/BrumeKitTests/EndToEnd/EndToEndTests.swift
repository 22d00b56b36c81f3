import BrumeKit
import BrumeLock
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

private func note(_ name: String, in zone: CKRecordZone.ID, _ text: String) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["text"] = text
    return record
}

@Suite("The SDK and a server", .timeLimit(.minutes(2)))
struct EndToEndTests {
    let server: RunningServer
    let token: String
    let device: CKContainer
    let zone = CKRecordZone.ID(zoneName: "Notes")

    var database: CKDatabase { device.privateCloudDatabase }

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
        device = server.device(token: token)
    }

    @Test("save, fetch, change and delete a record")
    func record() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        let record = note("n", in: zone, "one")
        let saved = try await database.save(record)
        #expect(saved["text"] == "one")
        #expect(record.recordChangeTag == saved.recordChangeTag)
        #expect(record.recordChangeTag != nil)
        record["text"] = "two"
        try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        #expect(fetched["text"] == "two")
        #expect(fetched.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(try await database.deleteRecord(withID: record.recordID) == record.recordID)
        #expect(await code { try await database.record(for: record.recordID) } == .unknownItem)
        let elsewhere = CKRecord.ID(recordName: "n", zoneID: CKRecordZone.ID(zoneName: "Nowhere"))
        #expect(await code { try await database.record(for: elsewhere) } == .zoneNotFound)
    }

    @Test("tell the loser of a conflict all three versions")
    func conflict() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        try await database.save(note("n", in: zone, "base"))
        let other = server.device(token: token).privateCloudDatabase
        let theirs = try await other.record(for: CKRecord.ID(recordName: "n", zoneID: zone))
        let ours = try await database.record(for: theirs.recordID)
        theirs["text"] = "theirs"
        try await other.save(theirs)
        ours["text"] = "ours"
        let error = await #expect(throws: CKError.self) { try await database.save(ours) }
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.serverRecord?["text"] == "theirs")
        #expect(error?.clientRecord?["text"] == "ours")
        #expect(error?.ancestorRecord?["text"] == "base")
        let merged = try #require(error?.serverRecord)
        merged["text"] = "merged"
        try await database.save(merged)
        #expect(try await other.record(for: theirs.recordID)["text"] == "merged")
    }

    @Test("save a batch in a custom zone all or not at all")
    func atomicBatch() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        try await database.save(note("taken", in: zone, "x"))
        let batch = [note("new", in: zone, "a"), note("taken", in: zone, "b")]
        let results = try await database.modifyRecords(saving: batch, deleting: [])
        #expect(await code { try results.saveResults[batch[0].recordID]?.get() } == .batchRequestFailed)
        #expect(await code { try results.saveResults[batch[1].recordID]?.get() } == .serverRecordChanged)
        #expect(await code { try await database.record(for: batch[0].recordID) } == .unknownItem)
        let separate = try await database.modifyRecords(saving: batch, deleting: [], atomically: false)
        #expect(await code { try separate.saveResults[batch[0].recordID]?.get() } == nil)
        #expect(await code { try separate.saveResults[batch[1].recordID]?.get() } == .serverRecordChanged)
    }

    @Test("refuse a request of 401 records, or of more than 2 MB, as a whole")
    func tooManyItems() async throws {
        for count in [3, 6] {
            // 2.7 MB, which the server refuses, and 5.4 MB, which is more than a frame may hold.
            let large = (0..<count).map { note("l\($0)", in: .default, String(repeating: "x", count: 900_000)) }
            #expect(await code { try await database.modifyRecords(saving: large, deleting: []) } == .limitExceeded)
        }
        let records = (0..<401).map { note("n\($0)", in: .default, "x") }
        #expect(await code { try await database.modifyRecords(saving: records, deleting: []) } == .limitExceeded)
        let results = try await database.modifyRecords(saving: Array(records.dropLast()), deleting: [])
        #expect(results.saveResults.count == 400)
        #expect(try await database.records(for: records.dropLast().map(\.recordID)).count == 400)
    }

    @Test("fetch records that take several answers")
    func largeFetch() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        let text = String(repeating: "x", count: 600_000)
        for index in 0..<4 { try await database.save(note("n\(index)", in: zone, text)) }
        let ids = (0..<4).map { CKRecord.ID(recordName: "n\($0)", zoneID: zone) }
        let results = try await database.records(for: ids)
        for id in ids { #expect(try results[id]?.get()["text"] == text) }
    }

    @Test("make, list and delete zones")
    func zones() async throws {
        let saved = try await database.save(CKRecordZone(zoneID: zone))
        #expect(saved.capabilities.contains(.atomic))
        #expect(try await database.allRecordZones().map(\.zoneID) == [.default, zone])
        #expect(try await database.recordZone(for: zone).zoneID == zone)
        try await database.deleteRecordZone(withID: zone)
        #expect(await code { try await database.recordZone(for: zone) } == .zoneNotFound)
        #expect(await code { try await database.deleteRecordZone(withID: .default) } == .invalidArguments)
    }

    @Test("follow a database's and a zone's changes from tokens")
    func changes() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        var databaseToken: CKServerChangeToken?
        let first = try await database.databaseChanges(since: databaseToken)
        #expect(first.modifications.map(\.zoneID) == [zone])
        databaseToken = first.changeToken

        let records = (0..<5).map { note("n\($0)", in: zone, "x") }
        _ = try await database.modifyRecords(saving: records, deleting: [])
        var token: CKServerChangeToken?
        var seen: Set<CKRecord.ID> = []
        var more = true
        while more {
            let page = try await database.recordZoneChanges(inZoneWith: zone, since: token, resultsLimit: 2)
            seen.formUnion(page.modificationResultsByID.keys)
            (token, more) = (page.changeToken, page.moreComing)
        }
        #expect(seen == Set(records.map(\.recordID)))
        try await database.deleteRecord(withID: records[0].recordID)
        let page = try await database.recordZoneChanges(inZoneWith: zone, since: token, desiredKeys: [])
        #expect(page.modificationResultsByID.isEmpty)
        #expect(page.deletions.map(\.recordID) == [records[0].recordID])
        #expect(page.deletions.map(\.recordType) == ["Note"])

        try await database.deleteRecordZone(withID: zone)
        let last = try await database.databaseChanges(since: databaseToken)
        #expect(last.deletions.map(\.zoneID) == [zone])
        #expect(last.deletions.map(\.reason) == [.deleted])
        #expect(
            await code { try await database.recordZoneChanges(inZoneWith: zone, since: token) } == .zoneNotFound)
    }

    @Test("tell that a zone was deleted, and then that one of its name is there")
    func zoneMadeAgain() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        let token = try await database.databaseChanges(since: nil).changeToken
        try await database.deleteRecordZone(withID: zone)
        try await database.save(CKRecordZone(zoneID: zone))
        let page = try await database.databaseChanges(since: token)
        #expect(page.modifications.map(\.zoneID) == [zone])
        #expect(page.deletions.map(\.zoneID) == [zone] && page.deletions.map(\.reason) == [.deleted])
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
        let transcript = Transcript()
        operation.recordZoneWithIDChangedBlock = { transcript.add("changed \($0.zoneName)") }
        operation.recordZoneWithIDWasDeletedBlock = { transcript.add("deleted \($0.zoneName)") }
        await withCheckedContinuation { continuation in
            operation.fetchDatabaseChangesResultBlock = { _ in continuation.resume() }
            database.add(operation)
        }
        #expect(transcript.lines == ["deleted Notes", "changed Notes"])
        let later = try await database.databaseChanges(since: page.changeToken)
        #expect(later.modifications.isEmpty && later.deletions.isEmpty)
        let first = try await database.databaseChanges(since: nil)
        #expect(first.modifications.map(\.zoneID) == [zone] && first.deletions.isEmpty)
    }

    @Test("give a device back the data that went with its latest changes")
    func clientChangeToken() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        let other = server.device(token: token).privateCloudDatabase
        #expect(try await clientTokens(database) == [nil, nil])
        let sent = try await modify(database, [note("a", in: zone, "x"), note("b", in: zone, "x")], Data([1, 0, 2]))
        #expect(sent == nil)
        #expect(try await clientTokens(database) == [Data([1, 0, 2]), Data([1, 0, 2])])
        #expect(try await clientTokens(other) == [nil, nil])
        // A batch that fails is not on the server, and says so. The other device has data of its own.
        let failed = try await modify(database, [note("a", in: zone, "new")], Data([3]))
        #expect(failed?.code == .serverRecordChanged)
        _ = try await modify(other, [note("c", in: zone, "x")], Data([4]))
        #expect(try await clientTokens(database) == [Data([1, 0, 2]), Data([1, 0, 2])])
        #expect(try await clientTokens(other) == [Data([4]), Data([4])])
        let large = try await modify(database, [note("d", in: zone, "x")], Data(count: 1_025))
        #expect(large?.code == .invalidArguments)
        #expect(large?.localizedDescription.contains("1024") == true)
    }

    private func modify(_ database: CKDatabase, _ records: [CKRecord], _ data: Data) async throws -> CKError? {
        let operation = CKModifyRecordsOperation(recordsToSave: records)
        operation.clientChangeTokenData = data
        let failure = Lock<CKError?>(nil)
        operation.perRecordSaveBlock = { _, result in
            if case .failure(let error) = result { failure.withLock { $0 = error as? CKError } }
        }
        return await withCheckedContinuation { continuation in
            operation.modifyRecordsResultBlock = { _ in continuation.resume(returning: failure.withLock { $0 }) }
            database.add(operation)
        }
    }

    /// What the zone's last page gives, and what its end gives.
    private func clientTokens(_ database: CKDatabase) async throws -> [Data?] {
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zone],
            configurationsByRecordZoneID: [
                zone: CKFetchRecordZoneChangesOperation.ZoneConfiguration(resultsLimit: 1)
            ])
        let given = Lock<[Data?]>([])
        operation.recordZoneChangeTokensUpdatedBlock = { _, _, data in given.withLock { $0 = [data] } }
        operation.recordZoneFetchResultBlock = { _, result in
            if case .success(let end) = result { given.withLock { $0.append(end.clientChangeTokenData) } }
        }
        return try await withCheckedThrowingContinuation { continuation in
            operation.fetchRecordZoneChangesResultBlock = { result in
                continuation.resume(with: result.map { given.withLock { $0 } })
            }
            database.add(operation)
        }
    }

    @Test("keep subscriptions, and push a change to the user's other device")
    func push() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        let subscription = CKDatabaseSubscription(subscriptionID: "all")
        try await database.save(subscription)
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["all"])
        #expect(try await database.subscription(for: "all") is CKDatabaseSubscription)

        let other = server.device(token: token)
        var events = other.notificationEvents.makeAsyncIterator()
        guard case .ready? = try await events.next()?.kind else {
            Issue.record("the first event is not the one that says that the stream is open")
            return
        }
        var notifications = other.notifications.makeAsyncIterator()
        async let notified = notifications.next()
        try await database.save(note("n", in: zone, "x"))
        let event = try #require(try await events.next())
        #expect(event.kind == .databaseChanged(.private))
        #expect(event.committedMilliseconds > 0)
        // The second listener may have begun behind that one.
        try await database.save(note("m", in: zone, "x"))
        let notification = try #require(try await notified as? CKDatabaseNotification)
        #expect(notification.subscriptionID == "all")
        #expect(notification.databaseScope == .private)

        try await database.deleteSubscription(withID: "all")
        #expect(await code { try await database.subscription(for: "all") } == .unknownItem)
    }

    @Test("know the account, and who has none")
    func accounts() async throws {
        #expect(try await device.accountStatus() == .available)
        let user = try await device.userRecordID()
        #expect(user.recordName.hasPrefix("_"))
        #expect(try await server.device(token: token).userRecordID() == user)
        #expect(try await device.ping() > 0)

        let stranger = server.device(token: "no such token")
        #expect(try await stranger.accountStatus() == .noAccount)
        #expect(await code { try await stranger.privateCloudDatabase.allRecordZones() } == .notAuthenticated)

        try await device.publicCloudDatabase.save(note("public", in: .default, "for all"))
        let nobody = server.device(token: nil)
        let id = CKRecord.ID(recordName: "public")
        #expect(try await nobody.publicCloudDatabase.record(for: id)["text"] == "for all")
        #expect(
            await code { try await nobody.publicCloudDatabase.save(note("p", in: .default, "")) } == .notAuthenticated)
        #expect(try await nobody.accountStatus() == .noAccount)
    }

    @Test("go on after the server was started again, while calls are made")
    func restart() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        let database = database
        let zone = zone
        let writer = Task {
            for index in 0..<60 {
                try await database.save(note("n\(index)", in: zone, "x"))
                _ = try await database.record(for: CKRecord.ID(recordName: "n\(index)", zoneID: zone))
            }
        }
        server.stop()
        try server.start()
        try await writer.value
        var count = 0
        var token: CKServerChangeToken?
        var more = true
        while more {
            let page = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            count += page.modificationResultsByID.count
            (token, more) = (page.changeToken, page.moreComing)
        }
        #expect(count == 60)
    }

    @Test("are told to fetch when the server may have forgotten what they acknowledged")
    func forgottenDevice() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        var first = server.device(token: token).notificationEvents.makeAsyncIterator()
        #expect(try await first.next()?.kind == .ready(resumed: false))
        server.stop()
        try server.start()
        var later = server.device(token: token).notificationEvents.makeAsyncIterator()
        #expect(try await later.next()?.kind == .ready(resumed: false))
        #expect(try await later.next()?.kind == .fetchFromToken(.private))
    }

    @Test("make more calls at one moment than a connection takes")
    func manyCalls() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        let database = database
        let zone = zone
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<300 {
                group.addTask { try await database.save(note("n\(index)", in: zone, "\(index)")) }
            }
            try await group.waitForAll()
        }
        let ids = (0..<300).map { CKRecord.ID(recordName: "n\($0)", zoneID: zone) }
        let results = try await database.records(for: ids, desiredKeys: ["text"])
        for (index, id) in ids.enumerated() { #expect(try results[id]?.get()["text"] == "\(index)") }
    }

    @Test("that can't be reached is said at once, but to calls of quality utility or background, which wait for it")
    func unreachable() async throws {
        let database = server.device(token: token).privateCloudDatabase
        let patient = CKOperation.Configuration()
        patient.qualityOfService = .utility
        server.stop()
        #expect(await errorCode { _ = try await database.allRecordZones() } == .networkUnavailable)
        #expect(await errorCode { _ = try await server.device(token: token).userRecordID() } == .networkUnavailable)
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        let end: CKError.Code? = await withCheckedContinuation { continuation in
            operation.fetchRecordZonesResultBlock = { result in
                if case .failure(let error as CKError) = result { return continuation.resume(returning: error.code) }
                continuation.resume(returning: nil)
            }
            database.add(operation)
        }
        #expect(end == .networkUnavailable)
        let waiting = Task {
            try await database.configuredWith(configuration: patient) { try await $0.allRecordZones() }.count
        }
        let answered = await errorCode { _ = try await database.allRecordZones() }
        #expect(answered == .networkUnavailable)
        try server.start()
        #expect(try await waiting.value == 1)
    }

    @Test("refuses names that nothing can have, and goes on")
    func unfitNames() async throws {
        let database = server.device(token: token).privateCloudDatabase
        let long = String(repeating: "n", count: 70_000)
        for name in ["", "ä", "a\u{0}b", long] {
            let id = CKRecord.ID(recordName: name)
            // There is no record of that name to be found, nor to be deleted.
            let found = await errorCode { _ = try await database.record(for: id) }
            #expect(found == .unknownItem || found == .invalidArguments)
            let new = CKRecord(recordType: "Note", recordID: id)
            #expect(await errorCode { _ = try await database.save(new) } == .invalidArguments)
            let zone = CKRecordZone(zoneName: name)
            #expect(await errorCode { _ = try await database.save(zone) } == .invalidArguments)
            #expect(
                await errorCode { _ = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil) }
                    == .invalidArguments)
        }
        let record = CKRecord(recordType: "Note")
        record["_bad"] = 1
        #expect(await errorCode { _ = try await database.save(record) } == .invalidArguments)
        #expect(try await database.allRecordZones().count == 1)
    }

    @Test("tell a wrong certificate authority from a server that is away")
    func wrongCA() async throws {
        let other = try TestCertificates(hasOwnAuthority: true)
        let container = server.device(token: token) { $0.caPath = other.caPath }
        let error = await #expect(throws: CKError.self) { try await container.privateCloudDatabase.allRecordZones() }
        #expect(error?.code == .networkFailure)
        #expect(error?.localizedDescription.contains("BRUME_CA") == true)
    }
}
