import BrumeModel
import BrumeProtocol
import BrumeServer
import BrumeTestKit
import Testing

@Suite("A server's figures", .timeLimit(.minutes(4)))
struct FiguresTests {
    private func stats(_ peer: FrameClient) async throws -> ServerFigures {
        switch try await peer.call(UInt64(Method.adminStats.rawValue), []) {
        case .success(let bytes): return try bytes.withUnsafeBytes { try MessageCoder().decodeStatsResponse($0) }
        case .failure(let status): throw TestFailure("no figures: \(status)")
        }
    }

    @Test("calls, failures, conflicts, commits and syncs are counted, on whatever loop they were")
    func counting() async throws {
        try await RunningServer.running(adjust: { $0.loopCount = 3 }) { server in
            let admin = try await server.adminClient()
            let before = try await stats(admin)
            #expect(before.loops == 3 && before.health.isServing)
            let zone = HostileRequests.zone("Notes")
            for name in ["alice", "bob", "carol"] {
                let peer = try await FrameClient.welcomed(server, token: try server.addAccount(name))
                try await peer.makeZone("Notes")
                try await peer.mustSave("n", in: zone)
                // Without its tag the record that is there is a conflict: the item's failure, and not the call's.
                let problem = try await peer.outcome(
                    HostileRequests.modifyRecords(zone: zone, [HostileRequests.save("n", fields: [])]))
                #expect(problem?.code == .serverRecordChanged)
                let gone = try await peer.fail(
                    HostileRequests.Method.recordsChanges, HostileRequests.changes(zone: HostileRequests.zone("Gone")))
                #expect(gone.code == .zoneNotFound)
                peer.abort()
            }
            let after = try await stats(admin)
            let came = after.since(before)
            let modify = came[Method.recordsModify.rawValue]
            #expect(modify.name == "Records.Modify" && modify.ended == 6 && modify.failureCount == 0)
            #expect(modify.latencyNanoseconds.count == 6 && modify.latencyNanoseconds.maximum > 0)
            #expect(came.itemFailures == [.serverRecordChanged: 3])
            let changes = came[Method.recordsChanges.rawValue]
            #expect(changes.ended == 3 && changes.failures == [.zoneNotFound: 3])
            // Each account's zone, record, and its users' records in two databases.
            #expect(came.commits >= 6 && came.changes >= came.commits)
            #expect(came.journal.batchEntries.sum == came.commits)
            #expect(came.journal.syncNanoseconds.count == came.journal.batchBytes.count)
            #expect(came.connections.welcomed == 3)
            #expect(after.databases.loaded >= 3 && after.memory.databaseBytes > 3 * 1_024)
            #expect(after.memory.residentBytes > 1_000_000)
        }
    }

    @Test("only the operator gets them")
    func permission() async throws {
        try await RunningServer.running { server in
            let peer = try await FrameClient.welcomed(server, token: try server.addAccount("alice"))
            #expect(try await peer.fail(UInt64(Method.adminStats.rawValue), []).code == .permissionFailure)
        }
    }

    @Test("streams and what they were sent are counted, and what is kept for a device that is away")
    func pushes() async throws {
        try await RunningServer.running { server in
            let admin = try await server.adminClient()
            let token = try server.addAccount("alice")
            let writer = try await FrameClient.welcomed(server, token: token, device: 1)
            try await writer.makeZone("Notes")
            _ = try await writer.succeed(
                HostileRequests.Method.subscriptionsModify,
                HostileRequests.saveZoneSubscription(id: "s", zone: HostileRequests.zone("Notes")))
            let reader = try await FrameClient.welcomed(server, token: token, device: 2)
            let stream = reader.openCall(HostileRequests.Method.notificationsOpen)
            reader.sendFrame(.message, stream: stream)
            _ = try await reader.answer(to: stream).get()
            try await writer.mustSave("n", in: HostileRequests.zone("Notes"))
            _ = try await reader.answer(to: stream).get()
            let figures = try await stats(admin)
            #expect(figures.push.streams == 1 && figures.push.published == 1)
            // Being told that the stream is ready is no event.
            #expect(figures.push.sent == 1)
            #expect(figures.push.lagNanoseconds.count == 1 && figures.push.backlogEvents == 1)
            #expect(figures.memory.backlogBytes > 0)
        }
    }
}
