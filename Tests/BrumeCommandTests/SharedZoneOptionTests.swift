internal import BrumeKit
internal import BrumeModel
internal import BrumeTestKit
internal import Testing

@testable internal import brume

@Suite("Options for shared zones")
struct SharedZoneOptionTests {
    private static let owner = "_" + String(repeating: "a", count: 32)

    @Test(
        "that make no sense together are said to, without a server",
        arguments: [
            ["records", "get", "Notes", "first", "--owner", "ada"],
            ["records", "get", "default", "first", "--owner", owner],
            ["records", "save", "Notes", "first", "--type", "Note", "--owner", owner, "--public"],
            ["records", "query", "--type", "Note", "--owner", owner], ["changes", "Notes", "--shared"],
            ["changes", "--owner", owner], ["watch", "--shared", "--zone", "Notes"],
            ["watch", "--shared", "--public"], ["shares", "leave", "Notes"],
            ["shares", "show", "Notes", "--owner", "ada"], ["shares", "list", "Notes", "--shared"],
            ["shares", "list", "--owner", owner],
        ])
    func mistakes(words: [String]) throws {
        let folder = try TestFolder()
        let environment = ["BRUME_SERVER": "localhost:1", "BRUME_TOKEN": "t", "BRUME_STATE": folder.path]
        let run = try CommandRun(words, environment: environment, in: folder)
        #expect(run.status == ExitCode.usage.rawValue && !run.errors.isEmpty, "\(run.errors)")
    }

    @Test("choose the shared database, and the zone with its owner")
    func zone() throws {
        func invocation(_ words: String...) throws -> Invocation {
            let parser = ArgumentParser(commands: CommandTable.commands, environment: [:], readFile: { _ in nil })
            guard case .run(let invocation) = try parser.parse(words) else {
                throw UsageError("\(words) runs no command", hint: "")
            }
            return invocation
        }
        let named = try invocation("records", "get", "Notes", "first", "--owner", Self.owner)
        #expect(try ClientContext.scope(named) == .shared)
        let zoneID = try ClientContext.zoneID("Notes", named)
        #expect(zoneID == CKRecordZone.ID(zoneName: "Notes", ownerName: Self.owner) && zoneID.otherOwner == Self.owner)
        let own = try invocation("records", "get", "Notes", "first")
        #expect(try ClientContext.scope(own) == .private)
        #expect(try ClientContext.zoneID("Notes", own).otherOwner == nil)
        #expect(try ClientContext.scope(invocation("zones", "list", "--shared")) == .shared)
        #expect(try ClientContext.scope(invocation("records", "get", "Notes", "first", "--public")) == .public)
    }

    @Test("show notifications of the shared database as such")
    func notifications() {
        func line(_ kind: NotificationEvent.Kind, isJSON: Bool) -> String {
            let event = NotificationEvent(
                position: [], notificationID: "n", subscriptionID: "brume-watch", notificationInfo: nil, kind: kind,
                committedMilliseconds: 0)
            return WatchCommand.line(of: event, isJSON: isJSON)
        }
        #expect(line(.databaseChanged(.shared), isJSON: true).contains("\"database\":\"shared\""))
        #expect(line(.databaseChanged(.shared), isJSON: false).contains("databaseChanged shared  brume-watch"))
        #expect(line(.fetchFromToken(.shared), isJSON: false).hasPrefix("fetchFromToken shared  "))
        #expect(!line(.databaseChanged(.private), isJSON: true).contains("\"database\""))
    }
}
