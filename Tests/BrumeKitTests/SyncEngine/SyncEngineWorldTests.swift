@testable import BrumeKit
import Foundation
import Testing

@Suite("Sync engines under a seed", .timeLimit(.minutes(2)))
struct SyncEngineWorldTests {
    /// `BRUME_ENGINE_SEEDS=N` runs so many, `BRUME_ENGINE_SEED=S` that one alone.
    private var seeds: [UInt64] {
        let variables = ProcessInfo.processInfo.environment
        if let seed = variables["BRUME_ENGINE_SEED"].flatMap(UInt64.init) { return [seed] }
        let count = variables["BRUME_ENGINE_SEEDS"].flatMap(UInt64.init) ?? 40
        let first = UInt64.random(in: 0...1_000_000_000)
        return (0..<count).map { first + $0 }
    }

    private func run(devices: Int, _ faults: SyncEngineWorld.Faults) {
        for seed in seeds {
            let world = SyncEngineWorld(seed: seed, devices: devices, faults: faults)
            if ProcessInfo.processInfo.environment["BRUME_ENGINE_SEED"] != nil { world.trace = [] }
            let problems = world.run(steps: 120)
            #expect(problems.isEmpty, "seed \(seed)")
            for line in world.trace ?? [] { print(line) }
            if !problems.isEmpty { return }
        }
    }

    /// Against the server's own shards and sessions: fewer seeds, each of which costs a whole server.
    ///
    /// - Returns: What there was to withstand, of all seeds.
    private func runOnShards(devices: Int, _ faults: SyncEngineWorld.Faults) throws -> [ShardServer.Trials] {
        var trials: [ShardServer.Trials] = []
        for seed in seeds.prefix(max(1, seeds.count / 8)) {
            let server = try ShardServer()
            let world = SyncEngineWorld(seed: seed, devices: devices, faults: faults, shards: server)
            if ProcessInfo.processInfo.environment["BRUME_ENGINE_SEED"] != nil { world.trace = [] }
            let problems = world.run(steps: 120)
            #expect(problems.isEmpty, "seed \(seed)")
            for line in world.trace ?? [] { print(line) }
            trials.append(server.trials)
            if !problems.isEmpty { break }
        }
        return trials
    }

    /// Chance decides what one run meets; all of them together meet everything.
    private func expectTrials(_ trials: [ShardServer.Trials]) {
        #expect(trials.reduce(0) { $0 + $1.pushes } > 10 * trials.count)
        #expect(trials.contains { $0.conflicts > 0 } && trials.contains { $0.deaths > 0 })
    }

    @Test("lose no edit and end alike on the server's own shards, which die in the midst of requests as well")
    func editsOnShards() throws {
        let trials = try runOnShards(devices: 3, .init(parents: true))
        expectTrials(trials)
    }

    @Test("end alike on the server's own shards with deletions, zones that are made again, and little history")
    func zoneDeletionsOnShards() throws {
        let trials = try runOnShards(devices: 2, .init(deletions: true, zoneDeletions: true))
        expectTrials(trials)
    }

    @Test("lose no edit and end alike, with crashes, cuts, conflicts and expired tokens")
    func edits() {
        run(devices: 2, .init())
    }

    @Test("save no record before its parent, whichever of them waits for files")
    func parents() {
        run(devices: 2, .init(parents: true))
    }

    @Test("lose no edit of what nobody deleted, with deletions too")
    func deletions() {
        run(devices: 3, .init(deletions: true))
    }

    @Test("end alike with zones that are deleted and made again")
    func zoneDeletions() {
        run(devices: 2, .init(deletions: true, zoneDeletions: true))
    }
}
