import BrumeTestKit
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("The growth of the journal", .timeLimit(.minutes(4)))
struct JournalGrowthTests {
    @Test("snapshots are due at a number of segments, and again when the journal is as large as they were")
    func growth() {
        var schedule = SnapshotSchedule(segmentsKept: 1, segmentBytes: 100, journalBytes: 400, ageMilliseconds: 1_000)
        func afterGrowth(to segments: UInt64) -> SnapshotSchedule.Action {
            schedule.segmentBegan(segmentsKept: segments)
            return schedule.next(nowNanoseconds: 5)
        }
        #expect((1...6).map { afterGrowth(to: $0) } == [.none, .none, .none, .start, .none, .none])
        schedule.ended(snapshotBytes: 1_000, segmentsKept: 1, nowNanoseconds: 5)
        #expect(afterGrowth(to: 9) == .none)
        #expect(afterGrowth(to: 10) == .start)
        schedule.ended(snapshotBytes: 0, segmentsKept: 1, nowNanoseconds: 5)
        #expect(afterGrowth(to: 4) == .start)
    }

    @Test("snapshots are due when the oldest commit that only the journal holds has its age")
    func age() {
        var schedule = SnapshotSchedule(segmentsKept: 1, segmentBytes: 100, journalBytes: 400, ageMilliseconds: 1)
        #expect(schedule.next(nowNanoseconds: 9_000_000) == .none)
        schedule.changed(nowNanoseconds: 10_000_000)
        schedule.changed(nowNanoseconds: 10_500_000)
        #expect(schedule.next(nowNanoseconds: 10_900_000) == .wait(untilNanoseconds: 11_000_000))
        #expect(schedule.next(nowNanoseconds: 11_000_000) == .start)
        // This one may come too late for the run.
        schedule.changed(nowNanoseconds: 11_200_000)
        #expect(schedule.next(nowNanoseconds: 13_000_000) == .none)
        schedule.ended(snapshotBytes: 1, segmentsKept: 1, nowNanoseconds: 13_000_000)
        #expect(schedule.next(nowNanoseconds: 13_000_000) == .start)
        schedule.ended(snapshotBytes: 1, segmentsKept: 1, nowNanoseconds: 14_000_000)
        #expect(schedule.next(nowNanoseconds: 99_000_000) == .none)
    }

    @Test("snapshots are due when a replay would have many records to find, and later the longer the last took")
    func movedRecords() {
        var schedule = SnapshotSchedule(segmentsKept: 1, segmentBytes: 100, journalBytes: 400, ageMilliseconds: 900_000)
        let minute: UInt64 = 60_000_000_000
        schedule.changed(nowNanoseconds: 5)
        schedule.recordsMoved(SnapshotSchedule.movedRecordsMax - 1)
        #expect(schedule.next(nowNanoseconds: 5) == .wait(untilNanoseconds: 900_000_000_005))
        schedule.recordsMoved(1)
        #expect(schedule.next(nowNanoseconds: 5) == .start)
        schedule.recordsMoved(SnapshotSchedule.movedRecordsMax)
        schedule.changed(nowNanoseconds: 6)
        #expect(schedule.next(nowNanoseconds: 6) == .none)
        schedule.ended(snapshotBytes: 1, segmentsKept: 1, nowNanoseconds: 7)
        #expect(schedule.next(nowNanoseconds: 7) == .wait(untilNanoseconds: minute + 7))
        #expect(schedule.next(nowNanoseconds: minute + 7) == .start)
        schedule.recordsMoved(SnapshotSchedule.movedRecordsMax)
        // After a long run later.
        schedule.ended(snapshotBytes: 1, segmentsKept: 1, nowNanoseconds: 2 * minute + 7)
        #expect(schedule.next(nowNanoseconds: 3 * minute) == .wait(untilNanoseconds: 12 * minute + 7))
        #expect(schedule.next(nowNanoseconds: 13 * minute) == .start)
        schedule.ended(snapshotBytes: 1, segmentsKept: 1, nowNanoseconds: 13 * minute)
        #expect(schedule.next(nowNanoseconds: 30 * minute) == .none)
        // Those that a run did not save are still to be found.
        schedule.recordsMoved(SnapshotSchedule.movedRecordsMax)
        #expect(schedule.next(nowNanoseconds: 30 * minute) == .start)
        schedule.ended(snapshotBytes: nil, segmentsKept: 1, nowNanoseconds: 30 * minute)
        #expect(schedule.next(nowNanoseconds: 30 * minute) == .wait(untilNanoseconds: 31 * minute))
    }

    @Test("a run that failed is tried again after a pause that grows, and at once when somebody asks")
    func failures() {
        var schedule = SnapshotSchedule(segmentsKept: 9, segmentBytes: 100, journalBytes: 400, ageMilliseconds: 1)
        var now: UInt64 = 0
        var pauses: [UInt64] = []
        for _ in 0..<8 {
            #expect(schedule.next(nowNanoseconds: now) == .start)
            schedule.ended(snapshotBytes: nil, segmentsKept: 9, nowNanoseconds: now)
            guard case .wait(let time) = schedule.next(nowNanoseconds: now) else {
                Issue.record("a failed run is forgotten")
                return
            }
            pauses.append((time - now) / 1_000_000_000)
            now = time
        }
        #expect(pauses == [15, 30, 60, 120, 240, 480, 900, 900])
        #expect(schedule.next(nowNanoseconds: now) == .start)
        schedule.ended(snapshotBytes: nil, segmentsKept: 9, nowNanoseconds: now)
        schedule.requested()
        #expect(schedule.next(nowNanoseconds: now) == .start)
        // Whoever asks while a run is under way gets one that begins afterwards.
        schedule.requested()
        #expect(schedule.next(nowNanoseconds: now) == .none)
        schedule.ended(snapshotBytes: 5, segmentsKept: 1, nowNanoseconds: now)
        #expect(schedule.next(nowNanoseconds: now) == .start)
        schedule.ended(snapshotBytes: 5, segmentsKept: 1, nowNanoseconds: now)
        #expect(schedule.next(nowNanoseconds: now) == .none)
    }

    @Test("a commit that only the journal holds gets into a snapshot when it has its age")
    func oldCommit() async throws {
        try await RunningServer.running(adjust: { $0.snapshotAgeMilliseconds = 50 }) { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            try await peer.makeZone("Notes")
            try await server.log.wait(for: "snapshots written")
            try await server.expectServes(token: token)
        }
    }

    @Test("a server that runs and runs keeps a bounded journal")
    func bounded() async throws {
        try await RunningServer.running(adjust: {
            $0.journalSegmentBytes = 64 * 1024
            $0.snapshotJournalBytes = 512 * 1024
        }) { server in
            let token = try server.addAccount("alice")
            let peer = try await FrameClient.welcomed(server, token: token)
            let zone = HostileRequests.zone("Notes")
            try await peer.makeZone("Notes")
            let field = HostileRequests.field("text", text: [UInt8](repeating: 0x61, count: 50_000))
            for number in 0..<20 {
                try await peer.take(
                    HostileRequests.modifyRecords(zone: zone, [HostileRequests.save("r\(number)", fields: [field])]))
            }
            try await server.log.wait(for: "snapshots written")
            try await server.log.wait(for: "segmentsRemoved=")
            _ = try await peer.succeed(
                HostileRequests.Method.recordsFetch, HostileRequests.fetch(zone: zone, names: ["r0", "r19"]))
            try await server.expectServes(token: token)
        }
    }
}
