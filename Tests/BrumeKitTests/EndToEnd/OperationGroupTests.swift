import BrumeKit
import BrumeLock
import BrumeServer
import Foundation
import Testing

@Suite("An operation group", .timeLimit(.minutes(1)))
struct OperationGroupTests {
    private final class Lines: Sendable {
        private let lines = Lock<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    @Test("has its name in the server's log, with each call, and can forge no line there")
    func log() async throws {
        let lines = Lines()
        let server = try TestServer(log: Log(minimum: .debug) { lines.add($0) })
        let container = server.device(token: try server.account("ada"))
        let group = CKOperationGroup()
        group.name = "first \"launch\"\nerror forged"
        try await container.privateCloudDatabase.configuredWith(group: group) { database in
            _ = try await database.allRecordZones()
        }
        _ = try await container.privateCloudDatabase.allRecordZones()
        let user = try await container.userRecordID().recordName
        let calls = lines.all.filter { $0.contains(" debug call ") }
        #expect(calls.count == 2)
        #expect(calls.allSatisfy { $0.contains("user=\(user)") })
        #expect(calls.first?.contains("group=\"first \\u{22}launch\\u{22}\\u{a}error forged\"") == true)
        #expect(calls.last?.hasSuffix("group=") == true)
    }
}
