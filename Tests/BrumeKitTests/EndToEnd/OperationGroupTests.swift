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

    @Test("and a trace that an app keeps is in the log where each of its calls begins and ends")
    func trace() async throws {
        let server = try RunningServer()
        let database = server.device(token: try server.addAccount("ada")).privateCloudDatabase
        let configuration = CKOperation.Configuration()
        configuration.traceParent = "no trace"
        #expect(configuration.traceParent == nil)
        configuration.traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        try await database.configuredWith(configuration: configuration) { database in
            _ = try await database.allRecordZones()
            // The calls of an inner configuration belong to it as well.
            let group = CKOperationGroup()
            _ = try await database.configuredWith(group: group) { try await $0.allRecordZones() }
        }
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        operation.configuration = configuration.copy() as? CKOperation.Configuration
        await withCheckedContinuation { done in
            operation.fetchRecordZonesResultBlock = { _ in done.resume() }
            database.add(operation)
        }
        _ = try await database.allRecordZones()
        let lines = server.log.all.filter { $0.contains("call method=Zones.List") }
        let traced = lines.filter {
            $0.contains("trace=4bf92f3577b34da6a3ce929d0e0e4736 parent=00f067aa0ba902b7")
        }
        #expect(lines.count == 8 && traced.count == 6, "\(lines)")
        #expect(lines.filter { $0.contains("trace=") } == traced)
    }
}
