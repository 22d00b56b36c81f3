import Testing

@testable import BrumeServer

@Suite("The growth of the journal", .timeLimit(.minutes(4)))
struct JournalGrowthTests {
    @Test("snapshots are due at a number of segments, and again when the journal is as large as they were")
    func schedule() {
        var schedule = SnapshotSchedule(segmentsMin: 4, segmentBytes: 100)
        func dueAt(_ segments: ClosedRange<UInt64>) -> UInt64? {
            segments.first { schedule.segmentBegan(segmentsKept: $0) }
        }
        #expect(dueAt(1...9) == 4)
        // Those are being written.
        #expect(dueAt(5...9) == nil)
        schedule.ended(snapshotBytes: 1_000)
        #expect(dueAt(1...20) == 10)
        // They failed.
        schedule.ended(snapshotBytes: nil)
        #expect(dueAt(1...20) == 10)
        schedule.ended(snapshotBytes: 0)
        #expect(dueAt(1...20) == 4)
    }

    @Test("a server that runs and runs keeps a bounded journal")
    func bounded() async throws {
        try await HostileServer.running(adjust: { $0.journalSegmentBytes = 64 * 1024 }) { server in
            let token = try await server.addAccount("alice")
            let peer = try await HostilePeer.welcomed(server, token: token)
            let zone = HostileRequests.zone("Notes")
            try await peer.makeZone("Notes")
            let field = HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: 50_000))
            for number in 0..<20 {
                try await peer.take(
                    HostileRequests.modifyRecords(zone: zone, [HostileRequests.save("r\(number)", fields: [field])]))
            }
            try await server.waitForLog("snapshots written")
            try await server.waitForLog("segmentsRemoved=")
            _ = try await peer.succeed(
                HostileRequests.Method.recordsFetch, HostileRequests.fetch(zone: zone, names: ["r0", "r19"]))
            try await server.expectServes(token: token)
        }
    }
}
