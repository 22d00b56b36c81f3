import BrumeRandom
import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

@Suite("Power cuts and disk faults")
struct CrashTests {
    /// A run of the store on a disk that fails, and what has to be true afterwards.
    private final class Run {
        let disk = SimulatedDisk()
        let ids = [Desk.privateID, Desk.publicID]
        var generator: SeededGenerator
        /// By database and sequence: what the database was then.
        var portraits: [DatabaseID: [String]] = [:]
        /// The last commit of each database that was acknowledged.
        var acknowledged: [DatabaseID: UInt64] = [:]
        var restarts = 0
        var written = 0

        init(seed: UInt64) {
            generator = SeededGenerator(seed: seed)
        }

        /// Opens the folder and works until a fault stops it.
        func live() throws(StoreError) {
            let log = try ManualJournal(opening: disk, options: Folder.options(2048, generator.next()), newEpoch: 7)
            var desks: [Desk] = []
            for id in ids {
                let database = try log.open(id)
                check(database)
                desks.append(Desk(database, caller: Caller(user: Desk.owner, isOwner: id.scope == .private)))
                if portraits[id] == nil { portraits[id] = [portrait(of: database)] }
                portraits[id]!.removeSubrange((Int(database.sequence) + 1)...)
            }
            for _ in 0..<40 {
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    let desk = generator.pick(desks)
                    guard let commit = act(desk) else { continue }
                    portraits[desk.database.id]!.append(portrait(of: desk.database))
                    _ = try log.append(commit.entry)
                }
                try log.flush()
                for desk in desks { acknowledged[desk.database.id] = desk.database.sequence }
                if generator.oneIn(6) {
                    try log.writeSnapshot(generator.pick(desks).database.capture())
                    try log.trim()
                }
            }
        }

        private func act(_ desk: Desk) -> Commit? {
            let isPrivate = desk.database.id.scope == .private
            if isPrivate, desk.database.incarnation(of: Desk.zone) == nil { return desk.makeZone("notes") }
            if isPrivate, generator.oneIn(20) { return desk.deleteZone("notes").commit }
            let zone = isPrivate && !generator.oneIn(4) ? Desk.zone : .defaultZone
            let names = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                "r\(Int.random(in: 0..<12, using: &generator))"
            }
            if generator.oneIn(4) { return desk.modify(zone, isAtomic: false, deletions: names).commit }
            written += 1
            let bytes = [UInt8](
                repeating: UInt8(truncatingIfNeeded: written), count: Int.random(in: 0..<300, using: &generator))
            return desk.modify(
                zone, policy: .allKeys, isAtomic: false,
                saves: names.map { .of($0, ["x": .bytes(bytes), "n": .int64(Int64(written))]) }
            ).commit
        }

        /// Every acknowledged commit is there, and the database is as it was after some commit: nothing of half a
        /// batch.
        func check(_ database: Database) {
            let sequence = database.sequence
            #expect(sequence >= acknowledged[database.id] ?? 0, "an acknowledged commit is lost")
            guard let known = portraits[database.id] else { return }
            #expect(sequence < known.count, "there are commits that nobody made")
            if sequence < known.count { #expect(portrait(of: database) == known[Int(sequence)]) }
        }

        private func portrait(of database: Database) -> String {
            var lines: [String] = ["\(database.sequence)"]
            for zone in database.zones {
                let names = (0..<12).map { "r\($0)" }
                let outcomes = database.fetchRecords(
                    FetchRecordsRequest(database: database.id.scope, zones: [.init(zone: zone.id, names: names)]))
                lines.append("\(zone.id.name) \(String(describing: database.incarnation(of: zone.id)))")
                for case .record(let bytes) in outcomes[0] {
                    lines.append("\(bytes.count) \(CRC32C.checksum(bytes.array))")
                }
                if !zone.id.isDefault, let incarnation = database.incarnation(of: zone.id) {
                    let token = ChangeToken(
                        kind: .zone, epoch: database.epoch, incarnation: incarnation, position: .start)
                    let page = try? database.zoneChanges(
                        zone: zone.id, since: token, resultsLimit: 1000, desiredKeys: [])
                    lines.append("\(page?.deletions.map(\.name) ?? []) \(page?.token.position.rawValue ?? 0)")
                }
            }
            return lines.joined(separator: "\n")
        }
    }

    @Test("what was acknowledged survives power cuts, and nothing of half a batch does", arguments: 0..<200)
    func powerCuts(seed: UInt64) throws {
        let run = Run(seed: seed)
        for _ in 0..<4 {
            run.disk.faults.powerCutCall = run.disk.calls + Int.random(in: 0..<80, using: &run.generator)
            do throws(StoreError) {
                try run.live()
            } catch {
                guard case .disk = error else {
                    Issue.record("seed \(seed): after a power cut the folder is called damaged: \(error)")
                    return
                }
            }
            run.disk.crash(seed: run.generator.next())
        }
        try run.live()
        #expect(try Verification(of: run.disk).isSound, "seed \(seed)")
    }

    @Test("whichever call fails, what was acknowledged is there after the restart", arguments: 0..<120)
    func failingCalls(call: Int) throws {
        let run = Run(seed: 4711)
        run.disk.faults.failingCall = call
        do throws(StoreError) {
            try run.live()
        } catch {
            guard case .disk(let error) = error else {
                Issue.record("call \(call): an error of the disk is called damage: \(error)")
                return
            }
            #expect(error.message == "input/output error")
        }
        run.disk.crash(seed: UInt64(call))
        try run.live()
    }
}
