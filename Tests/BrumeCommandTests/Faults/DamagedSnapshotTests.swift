internal import BrumeKit
internal import BrumeModel
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// A snapshot that the disk gives back otherwise than it was written.
@Suite("A server on a damaged snapshot", .serialized, .timeLimit(.minutes(2)))
struct DamagedSnapshotTests {
    @Test(
        "does not start, and names the file; told to check behind the start, it refuses that database alone and says so"
    )
    func damaged() async throws {
        let server = try ServerProcess(folder: TestFolder())
        try server.start()
        #expect(try server.operate("health").status == 0)
        let tokens = [try server.addAccount("ada"), try server.addAccount("bob")]
        for token in tokens {
            let session = try ClientSession.unshared(server.configuration(token: token))
            try await session.makeFaultZone()
            try await session.insert("kept")
        }
        server.send(SIGTERM)
        #expect(try await server.end() == 0)

        // Of bob, whose user record name is in the file's name.
        let list = try server.operate("account", "list", "--json", "--container", "iCloud.faults").output
        let last = try #require(list.last { !$0.isEmpty })
        let user = try #require(last.components(separatedBy: "\"").first { $0.hasPrefix("_") })
        let folder = server.dataFolder + "/snapshots"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let name = try #require(names.first { $0.contains("private") && $0.contains(user) })
        let path = URL(fileURLWithPath: folder + "/" + name)
        var bytes = try Data(contentsOf: path)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: path)

        #expect(throws: TestFailure.self) { try server.start() }
        #expect(try await server.end() == ExitCode.damaged.rawValue)
        #expect(server.log.contains(name) && server.log.contains("is damaged at byte"))
        #expect(server.log.contains("Restore a backup; without one, brume help verify describes --accept-loss"))
        // One that is missing has no place where it is damaged.
        try FileManager.default.removeItem(at: path)
        #expect(throws: TestFailure.self) { try server.start() }
        #expect(try await server.end() == ExitCode.damaged.rawValue)
        #expect(server.log.contains("\(name): the file is missing"), "\(server.log)")
        try bytes.write(to: path)

        try server.start(options: ["--check-snapshots", "background"])
        try await server.waitForLog("a snapshot can't be relied on")
        let health = try server.operate("health", "--json")
        #expect(health.status == ExitCode.damaged.rawValue)
        #expect(try health.json()["damageFound"] == .bool(true) && health.json()["serving"] == .bool(true))
        let (ada, bob) = (
            try ClientSession.unshared(server.configuration(token: tokens[0])),
            try ClientSession.unshared(server.configuration(token: tokens[1]))
        )
        #expect(try await ada.changes().names == ["kept"])
        guard
            case .failure(let error as ServiceError)? = await within(
                milliseconds: 30_000, { try await bob.insert("new") })
        else {
            Issue.record("a damaged database was used")
            return
        }
        #expect(error.code == .internalError && error.message.contains("can't be loaded"))
        server.kill()
        // Nothing was repaired by deleting.
        #expect(try Data(contentsOf: path) == bytes)
    }
}
