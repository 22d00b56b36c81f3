import BrumeAdmin
internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// A full disk under a real server: writes are refused, reading and pushing go on, and nothing is lost or shown too
/// early.
@Suite("A server on a full disk", .serialized, .timeLimit(.minutes(4)))
struct DiskFullProcessTests {
    /// A save that waits for room.
    private struct Held {
        let name: String
        let task: Task<String, any Error>
    }

    /// Inserts records until the disk is full; gives those that were acknowledged and the one that waits.
    private func fill(
        _ server: ServerProcess, _ session: ClientSession, prefix: String
    ) async throws -> (acknowledged: [String], held: Held) {
        let lines = server.log.components(separatedBy: Self.fullLine).count
        var acknowledged: [String] = []
        for index in 0..<200 {
            let name = "\(prefix)\(index)"
            let isDone = Lock(false)
            let task = Task {
                defer { isDone.withLock { $0 = true } }
                return try await session.insert(name, byteCount: 60_000)
            }
            var isFull = false
            try await waitUntil("a save is acknowledged, or the disk is full") {
                if isDone.withLock({ $0 }) { return true }
                isFull = server.log.components(separatedBy: Self.fullLine).count > lines
                return isFull
            }
            if isFull { return (acknowledged, Held(name: name, task: task)) }
            _ = try await task.value
            acknowledged.append(name)
        }
        throw TestFailure("the disk did not become full")
    }

    private static let fullLine = "the disk is full"

    /// A write is refused at once, with a time to come back.
    private func expectRefusal(_ session: ClientSession) async {
        let outcome = await within(milliseconds: 30_000) { try await session.insert("refused-" + UUID().uuidString) }
        guard case .failure(let error as ServiceError)? = outcome else {
            Issue.record("a write on a full disk was not refused: \(String(describing: outcome))")
            return
        }
        #expect(error.code == .serviceUnavailable)
        #expect(error.retryAfterMilliseconds == 5_000)
        #expect(error.message.contains("full"))
    }

    @Test(
        "refuses writes, goes on with reads and streams, and recovers when there is room",
        .enabled(if: SmallDisk.isPossible, "no tmpfs can be mounted here"))
    func tmpfs() async throws {
        let folder = try TestFolder()
        let disk = try SmallDisk(in: folder, mebibytes: 6)
        let server = try ServerProcess(folder: folder, dataFolder: disk.path + "/data")
        try server.start()
        let (ada, bob) = (try server.addAccount("ada"), try server.addAccount("bob"))
        let writer = try ClientSession.unshared(server.configuration(token: ada))
        let reader = try ClientSession.unshared(server.configuration(token: bob))
        try await writer.makeFaultZone()
        try await reader.makeFaultZone()
        try await reader.insert("bob's")
        let before = try await reader.changes()

        let listening = CKContainer(identifier: "iCloud.faults", configuration: server.configuration(token: bob))
        _ = try await listening.privateCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "all"))
        let events = Lock<[String]>([])
        let listener = Task {
            for try await event in listening.notificationEvents { events.withLock { $0.append("\(event.kind)") } }
        }
        defer { listener.cancel() }
        try await waitUntil("the stream is open") { events.withLock { !$0.isEmpty } }

        try disk.fill(leaving: 300_000)
        let (acknowledged, held) = try await fill(server, writer, prefix: "a")
        await expectRefusal(writer)
        await expectRefusal(reader)
        let health = try await reader.health()
        #expect(health.isServing && health.isDiskFull && !health.isDamageFound)
        #expect(try server.operate("health").status == ExitCode.failed.rawValue)
        // A database without commits in doubt is read as ever, and the stream is there.
        #expect(try await reader.changes().names == before.names)
        _ = try await reader.ping()
        // One with such a commit shows it to nobody: the read waits as long as its caller does.
        let early = await within(milliseconds: 1_000) { try await writer.changes().names }
        #expect(early == nil, "what is not durable was shown: \(String(describing: early))")

        try disk.empty()
        let heldTag = try await held.task.value
        try await server.waitForLog("there is room on the disk")
        try await writer.insert("afterwards")
        try await reader.insert("bob's second")
        try await waitUntil("the stream tells of it") { events.withLock { $0.count > 1 } }
        let after = try await writer.changes()
        #expect(after.names == acknowledged + [held.name, "afterwards"])
        #expect(after.tags[acknowledged.count] == heldTag)

        server.kill()
        try server.expectSound()
        try server.start()
        #expect(try await writer.changes().names == after.names)
        #expect(try await reader.changes(since: before.token).names == ["bob's second"])
        #expect(try await reader.health().isDiskFull == false)
        server.send(SIGTERM)
        #expect(try await server.end() == 0)
    }

    @Test(
        "refuses to change accounts without room as it refuses writes, changes nothing, and does it when there is room")
    func accounts() async throws {
        let server = try ServerProcess(folder: TestFolder())
        try server.start()
        _ = try server.addAccount("ada")
        let before = try server.operate("account", "list").output
        let session = try #require(
            try Operator.folderSession(server.dataFolder, container: "iCloud.faults", environment: .development))
        func limit(_ bytes: String) throws {
            #expect(try Tool.run(["prlimit", "--pid", String(server.pid), "--fsize=\(bytes):"]).status == 0)
        }
        try limit("1")
        let changes: [(String, @Sendable () async throws -> Void)] = [
            ("add", { _ = try await session.addAccount(name: "bob", email: "") }),
            ("token", { _ = try await session.createToken(name: "ada") }),
            ("revoke", { _ = try await session.revokeTokens(name: "ada") }),
            ("remove", { try await session.removeAccount(name: "ada") }),
        ]
        for (name, change) in changes {
            guard case .failure(let error as ServiceError)? = await within(milliseconds: 30_000, change) else {
                Issue.record("\(name) was done without room")
                continue
            }
            #expect(error.code == .serviceUnavailable && error.retryAfterMilliseconds == 5_000, "\(name): \(error)")
            #expect(error.message.contains("full"), "\(name)")
        }
        #expect(try server.operate("account", "add", "bob").status != 0)
        #expect(try server.operate("account", "list").output == before)
        try limit("unlimited")
        _ = try server.addAccount("bob")
        _ = try await session.createToken(name: "ada")
        server.kill()
        try server.expectSound()
        #expect(try server.operate("account", "list").output.contains { $0.contains("2 tokens") })
    }

    @Test("takes a limit on the size of files as a full disk, and ends with 74 when it has to stop on one")
    func fileSizeLimit() async throws {
        let server = try ServerProcess(folder: TestFolder())
        try server.start()
        let session = try ClientSession.unshared(server.configuration(token: server.addAccount("ada")))
        try await session.makeFaultZone()
        func limit(_ bytes: String) throws {
            #expect(try Tool.run(["prlimit", "--pid", String(server.pid), "--fsize=\(bytes):"]).status == 0)
        }
        try limit("300000")
        let (first, held) = try await fill(server, session, prefix: "a")
        await expectRefusal(session)
        try limit("unlimited")
        _ = try await held.task.value
        try await session.insert("between")

        try limit("600000")
        let (second, lost) = try await fill(server, session, prefix: "b")
        server.send(SIGTERM)
        #expect(try await server.end() == ExitCode.diskFailed.rawValue)
        #expect(server.log.contains("the journal can't be written"))
        #expect(server.log.contains("make room on the disk"))
        try server.expectSound()
        try server.start()
        // The client asks again with its operation's id, and now it has its one effect.
        _ = try await lost.task.value
        let names = try await session.changes().names
        #expect(names == first + [held.name, "between"] + second + [lost.name])
        server.kill()
    }
}
