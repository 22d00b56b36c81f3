import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("A revoked token")
struct RevokedWhileWaitingTests {
    @Test("ends calls that wait for their database as well", arguments: [DatabaseScope.private, .public])
    func waiting(_ scope: DatabaseScope) throws {
        let disk = SimulatedDisk()
        do {
            let first = try SteppedServer(disk: disk)
            let peer = try first.connect(account: "a")
            for scope in [DatabaseScope.private, .public] { try peer.save(["r"], database: scope) }
            first.snapshot()
        }
        disk.endProcess()
        let server = try SteppedServer(disk: disk) { $0.shortLoadBytes = 0 }
        server.isLoaderHeld = true
        let peer = try server.connect(account: "a")
        let request = ModifyRecordsRequest<DecodedFields>(
            database: scope,
            zones: [ZoneModification(zone: .defaultZone, saves: [RecordSave(name: "late", type: "Note", fields: [:])])])
        let call = peer.start(.recordsModify, MessageCoder().encodeModifyRecordsRequest(request))
        server.settle()
        #expect(!peer.isAnswered(call))
        server.revokeTokens(keepingSessionsOf: "a")
        server.isLoaderHeld = false
        server.settle()
        guard case .failure(let error)? = peer.outcome(call) else {
            Issue.record("it was done")
            return
        }
        #expect(error.code == .notAuthenticated)
    }
}
