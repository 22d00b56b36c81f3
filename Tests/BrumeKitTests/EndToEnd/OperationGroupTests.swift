import BrumeKit
import BrumeTestKit
import Foundation
import Testing

@Suite("An operation group", .timeLimit(.minutes(1)))
struct OperationGroupTests {
    @Test("has its name in the server's log, with each call, and can forge no line there")
    func log() async throws {
        let server = try RunningServer()
        let container = server.device(token: try server.addAccount("ada"))
        let group = CKOperationGroup()
        group.name = "first \"launch\"\nerror forged"
        try await container.privateCloudDatabase.configuredWith(group: group) { database in
            _ = try await database.allRecordZones()
        }
        _ = try await container.privateCloudDatabase.allRecordZones()
        let user = try await container.userRecordID().recordName
        let calls = server.log.all.filter { $0.contains(" debug call ") }
        #expect(calls.count == 2)
        #expect(calls.allSatisfy { $0.contains("user=\(user)") })
        #expect(calls.first?.contains("group=\"first \\u{22}launch\\u{22}\\u{a}error forged\"") == true)
        #expect(calls.last?.hasSuffix("group=") == true)
    }
}
