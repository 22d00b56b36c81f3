internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeRandom
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// The server is killed with -9 under saves. `Scripts/kill-loop.sh` runs more rounds.
@Suite("An acknowledged save survives kill -9", .serialized)
struct KillTests {
    private static let writers = 4
    private static let zone = ZoneID(name: "Kill")

    private static var rounds: Int {
        ProcessInfo.processInfo.environment["KILL_ROUNDS"].flatMap { Int($0) } ?? 3
    }

    /// What was acknowledged, by record name: the highest value.
    private final class Acknowledged: Sendable {
        private struct State {
            var values: [String: Int64] = [:]
            var count = 0
            var isStopped = false
            var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?
        }

        private let state = Lock(State())

        func add(_ name: String, _ value: Int64) {
            let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
                state.values[name] = value
                state.count += 1
                guard let waiter = state.waiter, state.count >= waiter.count else { return nil }
                state.waiter = nil
                return waiter.continuation
            }
            waiter?.resume()
        }

        /// Returns when so many more were acknowledged.
        func wait(for more: Int) async {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiter = ($0.count + more, continuation) }
            }
        }

        /// No more is wanted: the writers end.
        func stop() { state.withLock { $0.isStopped = true } }

        var isStopped: Bool { state.withLock { $0.isStopped } }
        var values: [String: Int64] { state.withLock { $0.values } }
        var count: Int { state.withLock { $0.count } }
    }

    @Test("no round loses or turns back one, and the folder stays sound")
    func killLoop() async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("kill test: seed \(seed), \(Self.rounds) rounds")
        var random = SeededGenerator(seed: seed)
        let folder = try TestFolder()
        let server = try ServerProcess(folder: folder)
        let token = try server.addAccount("k")
        try server.start()
        let configuration = server.configuration(token: token)
        let reader = try ClientSession.unshared(configuration)
        for result in try await reader.modifyZones(ModifyZonesRequest(database: .private, saves: [Self.zone])).saves {
            _ = try result.get()
        }
        let acknowledged = Acknowledged()
        try await withThrowingTaskGroup { group in
            for writer in 0..<Self.writers {
                group.addTask { try await Self.write(writer, configuration, acknowledged) }
            }
            for round in 0..<Self.rounds {
                await acknowledged.wait(for: Int.random(in: 1...150, using: &random))
                server.kill()
                let verified = try CommandRun(["verify", server.dataFolder], in: folder)
                #expect(verified.status == 0, "round \(round), seed \(seed): \(verified.output) \(verified.errors)")
                try server.start()
                try await Self.check(acknowledged.values, reader, "round \(round), seed \(seed)")
            }
            await acknowledged.wait(for: 20)
            acknowledged.stop()
            try await group.waitForAll()
        }
        try await Self.check(acknowledged.values, reader, "at the end, seed \(seed)")
        #expect(server.stop() == 0)
        print("kill test: \(acknowledged.count) acknowledged saves, all there")
    }

    /// Saves records of its own over and over, each time with the next value; counts what is acknowledged.
    private static func write(
        _ writer: Int, _ configuration: BrumeConfiguration, _ acknowledged: Acknowledged
    ) async throws {
        let session = try ClientSession.unshared(configuration)
        var value: Int64 = 0
        while !acknowledged.isStopped {
            value += 1
            let name = "w\(writer)-\(value % 7)"
            let save = RecordSave<DecodedFields>(
                name: name, type: "T",
                fields: ["value": .int64(value), "filler": .bytes([UInt8](repeating: 7, count: 500))])
            var operationID = [UInt8](repeating: UInt8(writer), count: 16)
            withUnsafeBytes(of: value) { operationID.replaceSubrange(8..<16, with: $0) }
            let request = ModifyRecordsRequest<DecodedFields>(
                database: .private, savePolicy: .allKeys, operationID: operationID,
                zones: [ZoneModification(zone: zone, saves: [save])])
            for result in try await session.modifyRecords(request).flatMap(\.saves) {
                guard case .record = result.outcome else { throw ValueError(message: "\(result.outcome)") }
            }
            acknowledged.add(name, value)
        }
    }

    /// Each record has the value that was acknowledged last, or a later one whose answer is under way.
    private static func check(
        _ expected: [String: Int64], _ session: ClientSession, _ when: String
    ) async throws {
        let names = expected.keys.sorted()
        let request = FetchRecordsRequest(
            database: .private, zones: [FetchRecordsRequest.ZoneFetch(zone: zone, names: names)])
        let outcomes = try await session.fetchRecords(request).flatMap { $0 }
        #expect(outcomes.count == names.count)
        for (name, outcome) in zip(names, outcomes) {
            guard case .record(let record) = outcome, case .int64(let value)? = record.fields["value"] else {
                Issue.record("\(name) was acknowledged and is lost, \(when): \(outcome)")
                continue
            }
            #expect(value >= expected[name]!, "\(name) turned back, \(when)")
        }
    }
}
