import BrumeKit
import BrumeLock
import BrumeTestKit
import Foundation
import Testing

private typealias Matches = [(CKRecord.ID, Result<CKRecord, any Error>)]

/// What is deprecated, without the warning.
private protocol DeprecatedQueries {
    func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void)
    func records(matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord]
}

extension CKDatabase: DeprecatedQueries {}

private final class Counter: Sendable {
    private let count = Lock(0)
    var value: Int { count.withLock { $0 } }
    func add(_ number: Int) { count.withLock { $0 += number } }
}

private func names(_ matches: Matches) -> [String] { matches.map(\.0.recordName) }

@Suite("Queries, from the SDK to a server and back", .timeLimit(.minutes(2)))
struct QueryTests {
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

    private func query(_ format: String, _ arguments: Any...) -> CKQuery {
        CKQuery(recordType: "Note", predicate: NSPredicate(format: format, argumentArray: arguments))
    }

    private var all: CKQuery { CKQuery(recordType: "Note", predicate: NSPredicate(value: true)) }

    /// Notes n0, n1 …, whose number is their name's.
    private func save(_ count: Int, in zone: CKRecordZone.ID, to database: CKDatabase) async throws {
        let records = (0..<count).map { number in
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n\(number)", zoneID: zone))
            record["number"] = number
            record["title"] = number % 2 == 0 ? "even \(number)" : "odd \(number)"
            record["tags"] = number % 3 == 0 ? ["three", "all"] : ["all"]
            return record
        }
        let results = try await database.modifyRecords(saving: records, deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
    }

    @Test("find what matches, in the order asked for, with the fields asked for")
    func matching() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        try await save(20, in: zone, to: database)
        let query = query("number >= %d AND title BEGINSWITH %@", 10, "odd")
        query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: false)]
        let page = try await database.records(matching: query, inZoneWith: zone, desiredKeys: ["number"])
        #expect(names(page.matchResults) == ["n19", "n17", "n15", "n13", "n11"])
        #expect(page.queryCursor == nil)
        let first = try #require(try page.matchResults.first?.1.get())
        #expect(first["number"] == 19)
        #expect(first["title"] == nil)
        #expect(first.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(first.recordID.zoneID == zone)
        // The record that a query gave can be changed and saved.
        first["number"] = 100
        try await database.save(first)
        let changed = try await database.records(matching: self.query("number == 100"))
        #expect(names(changed.matchResults) == ["n19"])
        let tagged = try await database.records(matching: self.query("tags CONTAINS 'three' AND number < 8"))
        #expect(Set(names(tagged.matchResults)) == ["n0", "n3", "n6"])
    }

    @Test("page through all matches with a cursor, whose limit and keys may change, and none comes twice")
    func paging() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        try await save(50, in: zone, to: database)
        let query = all
        query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
        var page = try await database.records(matching: query, inZoneWith: zone, resultsLimit: 7)
        // The cursor holds the query as it was.
        query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: false)]
        var found = names(page.matchResults)
        var pages = 1
        while let cursor = page.queryCursor {
            // Others come and go.
            try await database.deleteRecord(withID: CKRecord.ID(recordName: found[pages], zoneID: zone))
            let keys: [String]? = pages % 2 == 0 ? nil : []
            page = try await database.records(continuingMatchFrom: cursor, desiredKeys: keys, resultsLimit: 7 + pages)
            for (_, result) in page.matchResults { #expect((try result.get()["title"] == nil) == (keys != nil)) }
            found += names(page.matchResults)
            pages += 1
        }
        #expect(found == (0..<50).map { "n\($0)" })
        #expect(pages == 6)
    }

    @Test("leave the page's size to the server, which gives 100")
    func pageSize() async throws {
        try await save(101, in: .default, to: database)
        let page = try await database.records(matching: all)
        #expect(page.matchResults.count == 100)
        let rest = try await database.records(continuingMatchFrom: try #require(page.queryCursor))
        #expect(rest.matchResults.count == 1)
        #expect(rest.queryCursor == nil)
    }

    @Test("a cursor survives an archive and a restart of the server")
    func restart() async throws {
        try await save(5, in: .default, to: database)
        let query = all
        query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        let page = try await database.records(matching: query, resultsLimit: 2)
        #expect(names(page.matchResults) == ["n0", "n2"])
        let cursor = try #require(page.queryCursor)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: cursor, requiringSecureCoding: true)
        server.stop()
        try server.start()
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryCursor.self, from: archive))
        #expect(copy == cursor)
        let rest = try await database.records(continuingMatchFrom: copy)
        #expect(names(rest.matchResults) == ["n4", "n1", "n3"])
    }

    @Test("all zones of the private database are looked at when none is named, and matches name theirs")
    func allZones() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        try await save(2, in: zone, to: database)
        try await save(3, in: .default, to: database)
        let page = try await database.records(matching: all)
        #expect(page.matchResults.count == 5)
        #expect(page.matchResults.filter { $0.0.zoneID == zone }.count == 2)
        #expect(try await database.records(matching: all, inZoneWith: .default).matchResults.count == 3)
        let nowhere = await failure {
            try await database.records(matching: all, inZoneWith: CKRecordZone.ID(zoneName: "Nowhere")).matchResults
        }
        #expect(nowhere?.code == .zoneNotFound)
    }

    @Test("the public database is read by all, and finds what the caller made")
    func publicDatabase() async throws {
        try await save(3, in: .default, to: device.publicCloudDatabase)
        let other = server.device(token: try server.addAccount("eve")).publicCloudDatabase
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "eve's"))
        try await other.save(record)
        #expect(try await other.records(matching: all).matchResults.count == 4)
        #expect(
            try await server.device(token: nil).publicCloudDatabase.records(matching: all).matchResults.count == 4)
        let own = query("creatorUserRecordID == %@", CKRecord.ID(recordName: CKCurrentUserDefaultName))
        #expect(names(try await other.records(matching: own).matchResults) == ["eve's"])
        // As CloudKit writes it: with the creator of a record that was fetched.
        let creator = try #require(try await other.record(for: record.recordID).creatorUserRecordID)
        #expect(
            names(try await other.records(matching: query("creatorUserRecordID == %@", creator)).matchResults) == [
                "eve's"
            ])
        #expect(
            await failure { try await server.device(token: nil).publicCloudDatabase.records(matching: own) }?.code
                == .notAuthenticated)
    }

    @Test("an answer with completion handlers, and the deprecated forms")
    func completionHandlers() async throws {
        try await save(3, in: .default, to: database)
        let (all, database) = (all, database)
        let deprecated: any DeprecatedQueries = database
        let first = try await withCheckedThrowingContinuation { continuation in
            database.fetch(withQuery: all, resultsLimit: 2) { continuation.resume(with: $0) }
        }
        #expect(first.matchResults.count == 2)
        let cursor = try #require(first.queryCursor)
        let second = try await withCheckedThrowingContinuation { continuation in
            database.fetch(withCursor: cursor) { continuation.resume(with: $0) }
        }
        #expect(second.matchResults.count == 1)
        #expect(second.queryCursor == nil)
        let performed: (Int?, CKError.Code?) = await withCheckedContinuation { continuation in
            deprecated.perform(all, inZoneWith: nil) { records, error in
                continuation.resume(returning: (records?.count, (error as? CKError)?.code))
            }
        }
        #expect(performed == (3, nil))
        let failed: (Int?, CKError.Code?) = await withCheckedContinuation { continuation in
            deprecated.perform(all, inZoneWith: CKRecordZone.ID(zoneName: "Nowhere")) { records, error in
                continuation.resume(returning: (records?.count, (error as? CKError)?.code))
            }
        }
        #expect(failed == (nil, .zoneNotFound))
        let records = try await deprecated.records(matching: all, inZoneWith: nil)
        #expect(records.count == 3)
        // CloudKit's code takes the pair apart.
        let (matches, _) = try await database.records(matching: all, inZoneWith: .default)
        #expect(matches.count == 3)
    }

    @Test("what the server can't answer is invalidArguments with a sentence")
    func failures() async throws {
        let database = database
        for query in [
            CKQuery(recordType: "Users", predicate: NSPredicate(value: true)), query("title LIKE 'a*'"),
            query("title == nil"), query("owner.name == 'x'"),
        ] {
            let error = await failure { try await database.records(matching: query) }
            #expect(error?.code == .invalidArguments)
            #expect(error?.localizedDescription.isEmpty == false)
        }
        #expect(
            await failure { try await database.records(matching: all, resultsLimit: -1) }?.code == .invalidArguments)
        // A cursor of another database.
        try await save(2, in: .default, to: device.publicCloudDatabase)
        let page = try await device.publicCloudDatabase.records(matching: all, resultsLimit: 1)
        let cursor = try #require(page.queryCursor)
        #expect(
            await failure { try await database.records(continuingMatchFrom: cursor) }?.code == .invalidArguments)
        #expect(
            await failure { try await server.device(token: nil).privateCloudDatabase.records(matching: all) }?.code
                == .notAuthenticated)
    }

    @Test("a query sees every save that was acknowledged, and of an atomic batch all records or none")
    func consistency() async throws {
        try await database.save(CKRecordZone(zoneID: zone))
        let writer = server.device(token: token).privateCloudDatabase
        let (zone, database) = (zone, database)
        // A query may come before the first batch, and needs to know the type.
        let first = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "first", zoneID: zone))
        first["round"] = -1
        try await writer.save(first)
        let acknowledged = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<20 {
                    let records = (0..<10).map { index in
                        let id = CKRecord.ID(recordName: "n\(round)-\(index)", zoneID: zone)
                        let record = CKRecord(recordType: "Note", recordID: id)
                        record["round"] = round
                        return record
                    }
                    _ = try await writer.modifyRecords(saving: records, deleting: [])
                    acknowledged.add(10)
                }
            }
            group.addTask {
                var count = 0
                while count < 200 {
                    let before = acknowledged.value
                    let page = try await database.records(
                        matching: CKQuery(recordType: "Note", predicate: NSPredicate(format: "round >= 0")),
                        inZoneWith: zone, resultsLimit: 400)
                    count = page.matchResults.count
                    #expect(count >= before, "a save was acknowledged and is not found")
                    #expect(count % 10 == 0, "part of an atomic batch is seen")
                }
            }
            try await group.waitForAll()
        }
    }
}

/// Compiles as in an app: the newer call where nothing says what it is to return, the older ones where that is said.
@available(*, deprecated)
private func queries(_ database: CKDatabase, _ query: CKQuery, _ zoneID: CKRecordZone.ID) async throws {
    let page = try await database.records(matching: query, inZoneWith: zoneID)
    _ = (page.matchResults, page.queryCursor)
    let records: [CKRecord] = try await database.records(matching: query, inZoneWith: zoneID)
    let performed = try await database.perform(query, inZoneWith: nil)
    _ = records + performed
}
