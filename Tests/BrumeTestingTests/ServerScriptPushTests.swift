import BrumeTesting
import CloudKit
import Synchronization
import Testing

/// What a device hears, as it comes.
private final class Listener: Sendable {
    private let task: Task<Void, any Error>
    private let stream: AsyncStream<String?>

    init(_ device: TestDevice) {
        let (stream, continuation) = AsyncStream<String?>.makeStream()
        self.stream = stream
        task = Task {
            defer { continuation.finish() }
            for try await notification in device.container.notifications {
                continuation.yield((notification as? CKQueryNotification)?.recordID?.recordName)
            }
        }
    }

    deinit { task.cancel() }

    /// The record that the next notification names.
    func next() async -> String? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next() ?? nil
    }

    /// The error that ended it.
    func end() async -> CKError? {
        do {
            try await task.value
            return nil
        } catch {
            return error as? CKError
        }
    }
}

@Suite("A server's script of notifications", .timeLimit(.minutes(1)))
struct ServerScriptPushTests {
    /// A server with a device that listens to notes, and one that writes them.
    private func run(
        _ body: (TestServer, _ writer: CKDatabase, _ reader: TestDevice, Listener) async throws -> Void
    ) async throws {
        try await TestServer.run { server in
            let writer = try server.device(of: "ada").privateCloudDatabase
            let reader = try server.device(of: "ada")
            try await writer.save(notes)
            try await reader.privateCloudDatabase.save(
                CKQuerySubscription(
                    recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "notes",
                    options: .firesOnRecordCreation))
            let listener = Listener(reader)
            try await server.script.waitUntilListening(reader)
            try await body(server, writer, reader, listener)
        }
    }

    @Test("tells who listens, so that nothing is saved too early")
    func listening() async throws {
        try await run { _, writer, _, listener in
            try await writer.save(note("1"))
            #expect(await listener.next() == "1")
        }
    }

    @Test("loses notifications; what they told of is in the feed")
    func lost() async throws {
        try await run { server, writer, reader, listener in
            let rule = server.script.losePushes(.any.to(reader).of(subscription: "notes"))
            try await writer.save(note("1"))
            try await writer.save(note("2"))
            #expect(await listener.next() == "2")
            #expect(rule.firedCount == 1)
            let changes = try await reader.privateCloudDatabase.recordZoneChanges(
                inZoneWith: notes.zoneID, since: nil)
            #expect(changes.modificationResultsByID.count == 2)
        }
    }

    @Test("sends notifications twice")
    func doubled() async throws {
        try await run { server, writer, _, listener in
            server.script.doublePushes(.any.to("ada"))
            try await writer.save(note("1"))
            try await writer.save(note("2"))
            #expect(await [listener.next(), listener.next(), listener.next()] == ["1", "1", "2"])
        }
    }

    @Test("holds notifications back, and later ones overtake them")
    func held() async throws {
        try await run { server, writer, _, listener in
            let held = server.script.holdPushes(times: 2)
            for name in ["1", "2", "3"] { try await writer.save(note(name)) }
            #expect(await listener.next() == "3")
            #expect(held.heldCount == 2)
            held.release()
            #expect(await [listener.next(), listener.next()] == ["1", "2"])
            try await writer.save(note("4"))
            #expect(await listener.next() == "4")
        }
    }

    @Test("signs an account out, which ends its calls and listeners, and in again on the same devices")
    func signOut() async throws {
        try await run { server, writer, reader, listener in
            let stranger = try server.device(of: "ben").privateCloudDatabase
            try await stranger.save(notes)
            try await server.signOut("ada")
            #expect(await failure { try await writer.save(note("1")) }?.code == .notAuthenticated)
            #expect(try await reader.container.accountStatus() == .noAccount)
            #expect(await listener.end()?.code == .notAuthenticated)
            try await stranger.save(note("1"))
            try await server.signOut("ada")
            try server.signIn("ada")
            try server.signIn("ada")
            #expect(try await reader.container.accountStatus() == .available)
            try await writer.save(note("1"))
            let again = Listener(reader)
            try await server.script.waitUntilListening(reader)
            try await writer.save(note("2"))
            // What was saved meanwhile may come first.
            while let name = await again.next(), name != "2" {}
        }
    }

    @Test("a listener that begins without a network hears of what is saved when it has one")
    func offlineListener() async throws {
        try await run { server, writer, reader, listener in
            reader.goOffline()
            try await writer.save(note("1"))
            reader.goOnline()
            #expect(await listener.next() == "1")
            let relaunched = try reader.relaunched()
            relaunched.goOffline()
            let second = Listener(relaunched)
            #expect(await failure { try await relaunched.privateCloudDatabase.allRecordZones() } != nil)
            relaunched.goOnline()
            try await server.script.waitUntilListening(relaunched)
            try await writer.save(note("2"))
            while let name = await second.next(), name != "2" {}
        }
    }
}
