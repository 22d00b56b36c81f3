import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer

@Suite("Quotas of a server")
struct ServerQuotaTests {
    private func save(
        _ name: String, bytes: Int, in database: DatabaseScope = .private, by peer: SteppedPeer
    ) throws -> ErrorCode? {
        do {
            try peer.save([name], database: database) { _ in ["x": .bytes([UInt8](repeating: 1, count: bytes))] }
            return nil
        } catch let error as ServiceError {
            return error.code
        }
    }

    @Test("all users together fill a public database, and nobody's private one")
    func publicDatabase() throws {
        let server = try SteppedServer { $0.publicQuotaBytes = 10_000 }
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        #expect(try save("one", bytes: 6_000, in: .public, by: a) == nil)
        #expect(try save("two", bytes: 6_000, in: .public, by: b) == .quotaExceeded)
        #expect(try save("two", bytes: 1_000, in: .public, by: b) == nil)
        #expect(try save("two", bytes: 60_000, by: b) == nil)
    }

    @Test("what is left is the same after a crash", arguments: [false, true])
    func crash(isSnapshotted: Bool) throws {
        let disk = SimulatedDisk()
        func start() throws -> (SteppedServer, SteppedPeer) {
            let server = try SteppedServer(disk: disk) { $0.quotaBytes = 10_000 }
            return (server, try server.connect(account: "a"))
        }
        func most(_ peer: SteppedPeer) throws -> Int {
            var (fits, fails) = (0, 20_000)
            while fails - fits > 1 {
                let middle = (fits + fails) / 2
                // Under a tag that no record has: what fits fails for that, and nothing is written.
                let request = ModifyRecordsRequest<DecodedFields>(
                    database: .private,
                    zones: [
                        ZoneModification(
                            zone: ZoneID(name: "Z"),
                            saves: [
                                RecordSave(
                                    name: "probe", type: "Note",
                                    fields: ["x": .bytes([UInt8](repeating: 1, count: middle))]),
                                RecordSave(name: "none", type: "Note", changeTag: "a-1", fields: [:]),
                            ])
                    ])
                let answer = try peer.call(.recordsModify, MessageCoder().encodeModifyRecordsRequest(request))
                let results = try answer.withUnsafeBytes { bytes -> [ZoneModificationResult<Record>] in
                    try MessageCoder().decodeModifyRecordsResponse(bytes)
                }
                if case .failure(let error) = results[0].saves[0].outcome, error.code == .quotaExceeded {
                    fails = middle
                } else {
                    fits = middle
                }
            }
            return fits
        }
        var (server, peer) = try start()
        try peer.makeZone("Z")
        for name in ["one", "two", "three"] { #expect(try save(name, bytes: 1_500, by: peer) == nil) }
        let left = try most(peer)
        #expect((4_000..<6_000).contains(left))
        if isSnapshotted { server.snapshot() }
        disk.crash(seed: 1, .nothing)
        (server, peer) = try start()
        // But for the digits of another run's change tag.
        #expect(try abs(most(peer) - left) <= 8)
        _ = server
    }
}
