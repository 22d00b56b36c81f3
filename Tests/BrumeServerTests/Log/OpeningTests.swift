import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A whole server on a log that takes its time to open a database.
@Suite("A database that the log opens")
struct OpeningTests {
    @Test(
        "stays in memory for no reader without an account if it is empty: they could name any number",
        arguments: [ScriptedCommitLogs.Opening.atOnce, .inBackground])
    func empty(_ opening: ScriptedCommitLogs.Opening) throws {
        let server = try SteppedServer(log: ScriptedLogStorage())
        let log = try #require(server.log)
        log.opening = opening
        let list = MessageCoder().encodeListZonesRequest(.public)
        for number in 0..<10 {
            let reader = try server.connect(account: nil, container: "iCloud.nobody\(number)")
            _ = try reader.call(.zonesList, list)
            #expect(server.loadedIDs.isEmpty)
        }
        // What somebody has written to stays.
        try server.connect(account: "a").save(["one"], database: .public)
        _ = try server.connect(account: nil).call(.zonesList, list)
        #expect(server.loadedIDs.map(\.scope).contains(.public))
    }
}
