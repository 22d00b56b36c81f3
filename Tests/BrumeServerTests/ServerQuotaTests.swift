import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService
@testable import BrumeStore

@Suite("Quotas of a server")
struct ServerQuotaTests {
    private func save(
        _ name: String, bytes: Int, in database: DatabaseScope = .private, by peer: FramePeer,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) throws -> ErrorCode? {
        do {
            try peer.save([name], database: database, policy: policy) { _ in
                ["x": .bytes([UInt8](repeating: 1, count: bytes))]
            }
            return nil
        } catch let error as ServiceError {
            return error.code
        }
    }

    @Test("all users together fill a public database, and nobody's private one")
    func publicDatabase() throws {
        let server = try SteppedServer { $0.publicQuotaBytes = 10_000 }
        let (a, b) = (try server.connect(account: "a"), try server.connect(account: "b", device: 2))
        #expect(try save("one", bytes: 6_000, in: .public, by: a) == .quotaExceeded, "half of it is another's")
        #expect(try save("one", bytes: 4_300, in: .public, by: a) == nil)
        #expect(try save("two", bytes: 4_300, in: .public, by: b) == nil)
        #expect(
            try save("three", bytes: 4_300, in: .public, by: server.connect(account: "c", device: 3)) == .quotaExceeded)
        #expect(try save("two", bytes: 60_000, by: b) == nil)
    }

    /// With one loop and with several, where the databases are on different ones.
    @Test("an account's private databases share it, in all containers and environments", arguments: [1, 4])
    func shared(loopCount: Int) throws {
        let server = try SteppedServer {
            $0.quotaBytes = 20_000
            $0.loopCount = loopCount
        }
        let first = try server.connect(account: "a", container: "iCloud.one")
        let second = try server.connect(account: "a", container: "iCloud.two")
        #expect(try save("record", bytes: 9_000, by: first) == nil)
        #expect(try save("record", bytes: 9_000, by: second) == nil)
        #expect(try save("other", bytes: 3_000, by: second) == .quotaExceeded)
        #expect(try save("other", bytes: 3_000, by: first) == .quotaExceeded)
        // Another account has its own, and what goes from one database is room in the others.
        #expect(try save("record", bytes: 9_000, by: server.connect(account: "b", container: "iCloud.two")) == nil)
        #expect(try save("record", bytes: 10, by: first, policy: .allKeys) == nil)
        #expect(try save("other", bytes: 3_000, by: second) == nil)
    }

    enum Kept: CaseIterable {
        case inJournal, inSnapshots
        /// By a version that did not write down what a quota counts.
        case inEarlierSnapshots
    }

    @Test("what an account's databases hold from before the start counts, used or not", arguments: Kept.allCases)
    func restart(kept: Kept) throws {
        let disk = SimulatedDisk()
        func start() throws -> SteppedServer { try SteppedServer(disk: disk) { $0.quotaBytes = 20_000 } }
        do {
            let server = try start()
            for container in ["iCloud.one", "iCloud.two"] {
                #expect(try save("record", bytes: 9_000, by: server.connect(account: "a", container: container)) == nil)
            }
            #expect(server.storedBytes(ofAccount: "a") > 18_000)
            if kept != .inJournal { server.snapshot() }
            if kept == .inEarlierSnapshots {
                for id in server.loadedIDs {
                    guard let database = try SnapshotReader.load(id, epoch: 1, from: disk) else { continue }
                    var capture = database.capture()
                    capture.quotaBytes = 0
                    _ = try SnapshotWriter.write(capture, to: disk)
                }
            }
        }
        disk.crash(seed: 1, .nothing)
        let server = try start()
        let peer = try server.connect(account: "a", container: "iCloud.two")
        // The first save has the others looked for.
        #expect(try save("small", bytes: 10, by: peer) == nil)
        #expect(try save("other", bytes: 3_000, by: peer) == .quotaExceeded)
        let used = server.storedBytes(ofAccount: "a")
        #expect((18_000..<20_000).contains(used))
        #expect(
            try save(
                "record", bytes: 8_000, by: server.connect(account: "a", container: "iCloud.one"), policy: .allKeys)
                == nil)
        #expect((900...1_100).contains(used - server.storedBytes(ofAccount: "a")))
    }

    @Test("a database that leaves the memory counts on")
    func dropped() throws {
        let server = try SteppedServer {
            $0.quotaBytes = 20_000
            $0.memoryBudgetBytes = 1
        }
        let first = try server.connect(account: "a", container: "iCloud.one")
        #expect(try save("record", bytes: 9_000, by: first) == nil)
        first.disconnect()
        server.snapshot()
        for _ in 0..<3 {
            server.turn(after: 60_000_000_000)
            server.settle()
        }
        #expect(!server.loadedIDs.contains { $0.scope == .private })
        let second = try server.connect(account: "a", container: "iCloud.two")
        #expect(try save("record", bytes: 11_500, by: second) == .quotaExceeded)
        #expect(try save("record", bytes: 9_500, by: second) == nil)
    }

    @Test("what is left is the same after a crash", arguments: [false, true])
    func crash(isSnapshotted: Bool) throws {
        let disk = SimulatedDisk()
        func start() throws -> (SteppedServer, FramePeer) {
            let server = try SteppedServer(disk: disk) { $0.quotaBytes = 10_000 }
            return (server, try server.connect(account: "a"))
        }
        func most(_ peer: FramePeer) throws -> Int {
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
