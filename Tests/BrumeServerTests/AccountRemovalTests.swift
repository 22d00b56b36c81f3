import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

/// An account that is removed together with what it stores.
@Suite("The removal of an account with its data")
struct AccountRemovalTests {
    @Test("saves that come at the same time are deleted too, and other accounts keep theirs", arguments: [1, 3])
    func duringSaves(loopCount: Int) throws {
        let server = try SteppedServer { $0.loopCount = loopCount }
        let (first, second) = (
            try server.connect(account: "a"), try server.connect(account: "a", container: "iCloud.two")
        )
        let other = try server.connect(account: "b", device: 2)
        for peer in [first, second, other] {
            try peer.makeZone("Notes")
            try peer.save(["x", "y"], zone: ZoneID(name: "Notes"))
            try peer.save(["z"])
        }
        for turnsBefore in 0..<3 {
            first.startSave("late-\(turnsBefore)")
            for _ in 0..<turnsBefore { server.turn() }
        }
        let removal = server.beginRemoving(account: "a")
        first.startSave("latest")
        second.startSave("latest")
        server.settle()
        #expect(removal.error == nil)
        #expect(removal.summary?.databases == 2)
        // Those that were saved before the tokens were revoked are among them.
        #expect((6...11).contains(removal.summary?.records ?? 0), "\(String(describing: removal.summary))")
        // The user's own record stays, without fields.
        #expect(server.recordCount(ofAccount: 1) == 1)
        #expect(server.recordCount(ofAccount: 1, container: "iCloud.two") == 1)
        #expect(server.tokenCounts["a"] == nil && server.tokenCounts["b"] == 1)
        try other.save(["more"], zone: ZoneID(name: "Notes"))
        #expect(server.recordCount(ofAccount: 2) == 5)
        #expect(try server.refusal(account: "a").code == ErrorCode.notAuthenticated.rawValue)
    }

    @Test("where the disk is full the account stays, without tokens, and is removed when there is room")
    func fullDisk() throws {
        let disk = SimulatedDisk()
        let server = try SteppedServer(disk: disk) { $0.journalSegmentBytes = 65_536 }
        let peer = try server.connect(account: "a")
        try peer.makeZone("Notes")
        try peer.save(["x", "y"], zone: ZoneID(name: "Notes")) { _ in ["f": .string("short")] }
        disk.faults.capacityBytes = disk.usedBytes
        // More than the journal's file has room for.
        let fields: [String: FieldValue?] = ["f": .string(String(repeating: "x", count: 200_000))]
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private,
            zones: [
                ZoneModification(
                    zone: .defaultZone, saves: [RecordSave(name: "large", type: "Note", fields: fields)])
            ])
        peer.start(.recordsModify, MessageCoder().encodeModifyRecordsRequest(request))
        func go(_ turns: Int) {
            for _ in 0..<turns {
                server.turn()
                server.stepJournal()
            }
        }
        go(10)
        let early = server.beginRemoving(account: "a")
        go(20)
        #expect(early.error == .diskFull, "\(String(describing: early.error))")
        #expect(server.tokenCounts["a"] == 1, "nothing has changed")
        // Room for the account file, but not for what the journal waits to write.
        disk.faults.capacityBytes = disk.usedBytes + 8_192
        let refused = server.beginRemoving(account: "a")
        go(20)
        #expect(refused.summary == nil)
        #expect(refused.error?.message.contains("remove it again") == true, "\(String(describing: refused.error))")
        #expect(server.tokenCounts["a"] == 0)
        disk.faults.capacityBytes = nil
        server.settle()
        let removed = server.beginRemoving(account: "a")
        server.settle()
        #expect(removed.error == nil && removed.summary?.databases == 1, "\(String(describing: removed.error))")
        #expect(server.tokenCounts["a"] == nil)
        let unknown = server.beginRemoving(account: "a")
        server.settle()
        #expect(unknown.error?.code == .unknownItem)
    }
}
