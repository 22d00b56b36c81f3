import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// A whole server on a log that refuses for a while.
@Suite("A log that refuses")
struct LogRefusalTests {
    private let storage = ScriptedLogStorage()
    private let server: SteppedServer
    private let log: ScriptedCommitLogs
    private let ada: FramePeer

    private init() throws {
        server = try SteppedServer(log: storage)
        log = try #require(server.log)
        ada = try server.connect(account: "a")
        log.savesAtOnce = false
        try ada.save(["one"])
    }

    private var adas: DatabaseID {
        DatabaseID(
            container: SteppedServer.container, environment: .development, scope: .private,
            owner: server.userRecordName(ofAccount: 1))
    }

    @Test("commits because it is full or behind has saves come back later, and reads go on", arguments: [true, false])
    func commits(isFull: Bool) throws {
        (log.isFull, log.isBehind) = (isFull, !isFull)
        let error = #expect(throws: ServiceError.self) { try ada.save(["two"]) }
        #expect(error?.code == .serviceUnavailable && error?.retryAfterMilliseconds ?? 0 > 0)
        let list = MessageCoder().encodeListZonesRequest(.private)
        _ = try ada.call(.zonesList, list)
        (log.isFull, log.isBehind) = (false, false)
        try ada.save(["two"])
        #expect(server.recordCount(ofAccount: 1) == 3, "with the user's own record")
    }

    @Test("to save is asked again, and nothing is forgotten meanwhile")
    func saving() throws {
        let before = storage.savedSequence(of: adas)
        log.failsToSave = true
        server.snapshot()
        try #require(storage.savedSequence(of: adas) == before && before < storage.sequence(of: adas))
        log.failsToSave = false
        server.snapshot()
        #expect(storage.savedSequence(of: adas) == storage.sequence(of: adas))
    }
}
