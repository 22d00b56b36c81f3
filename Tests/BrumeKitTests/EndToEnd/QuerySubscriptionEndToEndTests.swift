import BrumeAdmin
import BrumeKit
import BrumeModel
import BrumeTestKit
import Foundation
import Testing

@Suite("Query subscriptions over a connection", .timeLimit(.minutes(2)))
struct QuerySubscriptionEndToEndTests {
    let server: RunningServer

    init() throws {
        server = try RunningServer()
    }

    /// A device that listens, and what it is told.
    private final class Listener {
        var events: CKContainer.NotificationEvents.Iterator

        init(_ device: CKContainer) async throws {
            events = device.notificationEvents.makeAsyncIterator()
            guard case .ready? = try await events.next()?.kind else {
                Issue.record("the first event is not the one that says that the stream is open")
                return
            }
        }

        func next() async throws -> NotificationEvent { try #require(try await events.next()) }

        func change() async throws -> RecordChange {
            let event = try await next()
            guard case .recordChanged(let change) = event.kind else {
                Issue.record("\(event.kind) is no change of a record")
                throw CKError(.internalError)
            }
            return change
        }
    }

    private func note(_ name: String, _ fields: [String: any CKRecordValueProtocol]) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        for (key, value) in fields { record[key] = value }
        return record
    }

    private func subscription(
        _ format: String, id: String = "s", options: CKQuerySubscription.Options = [.firesOnRecordCreation],
        keys: [String] = []
    ) -> CKQuerySubscription {
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: BrumeKit.NSPredicate(format: format), subscriptionID: id, options: options)
        if !keys.isEmpty { subscription.notificationInfo = CKSubscription.NotificationInfo(desiredKeys: keys) }
        return subscription
    }

    @Test("creation, update, deletion and desired keys reach another user's device in the public database")
    func publicDatabase() async throws {
        let author = server.device(token: try server.addAccount("ada")).publicCloudDatabase
        let token = try server.addAccount("bob")
        let reader = server.device(token: token)
        let saved = try await reader.publicCloudDatabase.save(
            subscription(
                "pages > 10 AND title BEGINSWITH 'B'",
                options: [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion],
                keys: ["title", "pages", "tags"]))
        let query = try #require(saved as? CKQuerySubscription)
        #expect(query.predicate.canonicalFormat == "pages > 10 AND title BEGINSWITH \"B\"")
        #expect(try await author.allSubscriptions().isEmpty)
        await #expect(throws: CKError.self) { try await author.deleteSubscription(withID: "s") }

        var notifications = reader.notifications.makeAsyncIterator()
        let listener = try await Listener(reader)
        async let notified = notifications.next()
        let text = "B" + String(repeating: "x", count: 300)
        let record = try await author.save(note("n", ["title": text, "pages": 11, "tags": ["a"]]))
        try await author.save(note("small", ["title": "B", "pages": 3]))
        let created = try await listener.change()
        #expect(created.recordName == "n" && created.reason == .created && created.database == .public)
        #expect(created.fields == ["title": .string(String(text.prefix(100))), "pages": .int64(11)])
        #expect(created.isPruned)
        record["title"] = "Brume"
        let changed = try await author.save(record)
        #expect(try await listener.change().fields == ["title": .string("Brume"), "pages": .int64(11)])
        changed["title"] = "else"
        let other = try await author.save(changed)
        other["title"] = "B"
        try await author.save(other)
        #expect(try await listener.change().fields["title"] == .string("B"))
        try await author.deleteRecord(withID: record.recordID)
        let deleted = try await listener.change()
        #expect(deleted.reason == .deleted && deleted.fields.isEmpty)

        // The other listener may have begun later.
        try await author.save(note("last", ["title": "B", "pages": 20]))
        let notification = try #require(try await notified as? CKQueryNotification)
        #expect(notification.subscriptionID == "s" && notification.databaseScope == .public)
        #expect(notification.notificationType == .query && notification.recordID != nil)
    }

    @Test("one that fires once tells of one record, and is gone")
    func once() async throws {
        let author = server.device(token: try server.addAccount("ada")).publicCloudDatabase
        let reader = server.device(token: try server.addAccount("bob"))
        try await reader.publicCloudDatabase.save(
            subscription("TRUEPREDICATE", id: "once", options: [.firesOnRecordCreation, .firesOnce]))
        try await reader.publicCloudDatabase.save(subscription("n == 3"))
        let listener = try await Listener(reader)
        for number in 1...3 { try await author.save(note("n\(number)", ["n": number])) }
        #expect(try await listener.change().recordName == "n1")
        let last = try await listener.next()
        #expect(last.subscriptionID == "s")
        #expect(try await reader.publicCloudDatabase.allSubscriptions().map(\.subscriptionID) == ["s"])
    }

    @Test("the private database tells the user's other devices, in one stream with the public one's events")
    func bothDatabases() async throws {
        let token = try server.addAccount("ada")
        let (writer, reader) = (server.device(token: token), server.device(token: token))
        try await writer.privateCloudDatabase.save(subscription("n == 1"))
        try await writer.publicCloudDatabase.save(subscription("n == 2"))
        let own = try await Listener(writer)
        let listener = try await Listener(reader)
        try await writer.privateCloudDatabase.save(note("a", ["n": 1]))
        #expect(try await listener.change().database == .private)
        try await writer.publicCloudDatabase.save(note("b", ["n": 2]))
        #expect(try await listener.change().database == .public)
        // The writer is told of the reader's changes, and not of its own before them.
        try await reader.privateCloudDatabase.save(note("c", ["n": 1]))
        #expect(try await own.change().recordName == "c")
        try await reader.publicCloudDatabase.save(note("d", ["n": 2]))
        #expect(try await own.change().recordName == "d")
    }

    @Test(
        "a reset of development tells who subscribed of each record that goes, in the private database and the public one"
    )
    func reset() async throws {
        let token = try server.addAccount("ada")
        let (writer, reader) = (server.device(token: token), server.device(token: token))
        let deletions: CKQuerySubscription.Options = [.firesOnRecordDeletion]
        try await writer.privateCloudDatabase.save(subscription("n > 0", id: "own", options: deletions))
        try await writer.publicCloudDatabase.save(subscription("n > 0", id: "all", options: deletions))
        let zone = CKRecordZone.ID(zoneName: "Notes")
        try await writer.privateCloudDatabase.save(CKRecordZone(zoneID: zone))
        let inZone = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "zoned", zoneID: zone))
        inZone["n"] = 7
        try await writer.privateCloudDatabase.save(inZone)
        for number in 0...2 { try await writer.privateCloudDatabase.save(note("own\(number)", ["n": number])) }
        for number in 0...2 { try await writer.publicCloudDatabase.save(note("all\(number)", ["n": number])) }
        let listener = try await Listener(reader)
        #expect(try await server.admin().resetSchema().records == 7)
        var told: Set<String> = []
        for _ in 0..<5 {
            let change = try await listener.change()
            #expect(change.reason == .deleted && change.fields.isEmpty)
            told.insert("\(change.database) \(change.recordName)")
        }
        #expect(told == ["private zoned", "private own1", "private own2", "public all1", "public all2"])
        // The subscriptions are still there.
        try await writer.privateCloudDatabase.save(note("own3", ["n": 3]))
        try await writer.privateCloudDatabase.deleteRecord(withID: CKRecord.ID(recordName: "own3"))
        #expect(try await listener.change().recordName == "own3")
    }

    @Test("a device that was away gets what it missed of both databases")
    func away() async throws {
        let author = server.device(token: try server.addAccount("ada"))
        let token = try server.addAccount("bob")
        let reader = server.device(token: token)
        try await reader.publicCloudDatabase.save(subscription("n > 0"))
        try await reader.privateCloudDatabase.save(subscription("n > 0", id: "p"))
        var listener: Listener? = try await Listener(reader)
        try await author.publicCloudDatabase.save(note("first", ["n": 1]))
        #expect(try await listener?.change().recordName == "first")
        // The end of the iteration closes the stream, behind what was handled.
        listener = nil
        let other = server.device(token: token)
        try await other.privateCloudDatabase.save(note("private", ["n": 1]))
        try await author.publicCloudDatabase.save(note("second", ["n": 2]))
        let again = try await Listener(reader)
        var seen: [String] = []
        while Set(seen).isSuperset(of: ["second", "private"]) == false {
            seen.append(try await again.change().recordName)
        }
        #expect(seen.filter { $0 == "second" }.count == 1)
    }

    @Test("a restarted server tells whoever subscribed to look again")
    func restart() async throws {
        let author = server.device(token: try server.addAccount("ada"))
        let reader = server.device(token: try server.addAccount("bob"))
        try await reader.publicCloudDatabase.save(subscription("n > 0"))
        let listener = try await Listener(reader)
        try await author.publicCloudDatabase.save(note("first", ["n": 1]))
        #expect(try await listener.change().recordName == "first")
        server.stop()
        try server.start()
        try await author.publicCloudDatabase.save(note("second", ["n": 1]))
        var isPublicTold = false
        while !isPublicTold {
            switch try await listener.next().kind {
            case .fetchFromToken(.public): isPublicTold = true
            case .recordChanged(let change): isPublicTold = change.recordName == "second"
            default: break
            }
        }
        #expect(try await reader.publicCloudDatabase.allSubscriptions().count == 1)
    }

    @Test("what can't be evaluated or is not there is refused with a reason")
    func refusals() async throws {
        let database = server.device(token: try server.addAccount("ada")).publicCloudDatabase
        func code(_ subscription: CKSubscription) async -> CKError.Code? {
            do {
                try await database.save(subscription)
                return nil
            } catch {
                return (error as? CKError)?.code
            }
        }
        #expect(await code(subscription("title ENDSWITH 'x'")) == .invalidArguments)
        #expect(await code(CKDatabaseSubscription(subscriptionID: "d")) == .badDatabase)
        let lost = subscription("TRUEPREDICATE")
        lost.zoneID = CKRecordZone.ID(zoneName: "Nowhere")
        #expect(await code(lost) == .zoneNotFound)
        let nobody = server.device(token: nil).publicCloudDatabase
        await #expect(throws: CKError.self) { try await nobody.save(self.subscription("TRUEPREDICATE")) }
    }
}
