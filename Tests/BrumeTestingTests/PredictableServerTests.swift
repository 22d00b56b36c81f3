import BrumeTesting
import CloudKit
import Foundation
import Testing

@Suite("A predictable server", .timeLimit(.minutes(1)))
struct PredictableServerTests {
    /// What an app might show or write: names, tags, dates and users of what it saved, before a restart of the server
    /// and after it.
    private func output() async throws -> String {
        try await TestServer.run(options: .predictable) { server in
            let phone = try server.device(of: "ada").privateCloudDatabase
            try await phone.save(notes)
            let first = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: notes.zoneID))
            first["text"] = "milk"
            try await phone.save(first)
            server.clock.advance(by: .milliseconds(90_500))
            try await server.restart()
            first["text"] = "oat milk"
            try await phone.save(first)
            let second = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: notes.zoneID))
            try await phone.save(second)
            try await phone.save(CKRecordZoneSubscription(zoneID: notes.zoneID))
            let subscriptions = try await phone.allSubscriptions().map(\.subscriptionID)
            let user = try await server.device(of: "ada").container.userRecordID().recordName
            return [
                try await server.dump(of: "ada", showing: [.changeTags, .dates, .users]), "\(subscriptions)", user,
                "\(first)",
            ].joined(separator: "\n")
        }
    }

    @Test("gives the same names, tags, dates and users in every run")
    func sameOutput() async throws {
        let first = try await output()
        #expect(try await output() == first)
        #expect(
            first.hasPrefix(
                """
                zone Notes
                  Note 00000000-0000-0000-0000-000000000001 [tag 30d4qonzerczb, created 2001-01-01T00:00:00.000Z by ada, \
                modified 2001-01-01T00:01:30.500Z by ada]
                    text: "oat milk"
                  Note 00000000-0000-0000-0000-000000000002 [tag 2ebwef10ccz2y, created 2001-01-01T00:01:30.500Z by ada, \
                modified 2001-01-01T00:01:30.500Z by ada]
                ["00000000-0000-0000-0000-000000000003"]
                _
                """))
    }

    @Test("dates records by the clock that it is given, and devices see those dates")
    func clock() async throws {
        var options = TestServer.Options()
        let clock = TestClock(startDate: Date(timeIntervalSince1970: 1_900_000_000))
        options.clock = clock
        try await TestServer.run(options: options) { server in
            let database = try server.device(of: "ada").privateCloudDatabase
            try await database.save(notes)
            clock.advance(by: .seconds(60))
            let record = try await database.save(note("n"))
            #expect(record.creationDate == Date(timeIntervalSince1970: 1_900_000_060))
            #expect(clock.date == record.creationDate)
            #expect(server.clock === clock)
        }
    }

    @Test("names are predictable in tasks of the body, and nowhere else")
    func names() async {
        let names = await withPredictableNames {
            let first = CKRecord.ID().recordName
            let second = await Task { CKRecord.ID().recordName }.value
            let elsewhere = await Task.detached { CKRecord.ID().recordName }.value
            #expect(UUID(uuidString: elsewhere) != nil && !elsewhere.hasPrefix("00000000"))
            return [first, second]
        }
        #expect(names == ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"])
        #expect(names.allSatisfy { UUID(uuidString: $0) != nil })
        #expect(CKRecord.ID().recordName != CKRecord.ID().recordName)
    }
}
