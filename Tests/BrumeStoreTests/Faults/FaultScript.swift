import BrumeModel
import BrumeStore
import BrumeTestKit
import Testing

/// A fixed run of the store that uses all it does with a disk: a new folder, batches, segments that fill up, snapshots
/// of two databases, the removal of segments, a restart, and more of the same.
///
/// It remembers what was acknowledged, so that ``check(_:)`` can tell what a fault has cost.
final class FaultScript {
    let disk = SimulatedDisk()
    /// By database and sequence: what the database was after that commit.
    private var portraits: [DatabaseID: [String]] = [:]
    private var acknowledged: [DatabaseID: UInt64] = [:]
    /// Records in acknowledged commits that were looked for after a fault.
    private(set) var recordsChecked = 0
    /// Whether a full disk was met and the same work was done again.
    private(set) var fullDisks = 0

    static let ids = [Desk.privateID, Desk.publicID]
    private static let names = (0..<6).map { "r\($0)" }

    /// Runs from the beginning to the end, or to the first fault.
    func run() throws(StoreError) {
        for life in 0..<2 {
            let log = try opened()
            var desks: [Desk] = []
            for id in FaultScript.ids {
                desks.append(Desk(try log.open(id), caller: Caller(user: Desk.owner, isOwner: id.scope == .private)))
                note(desks.last!.database)
            }
            for step in 0..<5 {
                for desk in desks {
                    for commit in commits(of: desk, step: life * 5 + step) {
                        note(desk.database)
                        _ = try log.append(commit.entry)
                    }
                }
                try again { () throws(StoreError) in try log.flush() }
                for desk in desks { acknowledged[desk.database.id] = desk.database.sequence }
                if step % 2 == 1 {
                    let capture = desks[step / 2 % 2].database.capture()
                    try again { () throws(StoreError) in try log.writeSnapshot(capture) }
                    try again { () throws(StoreError) in try log.trim() }
                }
            }
        }
    }

    private func opened() throws(StoreError) -> ManualJournal {
        var opened: ManualJournal?
        try again { () throws(StoreError) in
            opened = try ManualJournal(opening: disk, options: Folder.options(1024), newEpoch: 7)
        }
        return opened!
    }

    /// What a full disk refused is done once more: there is room then.
    private func again(_ work: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try work()
        } catch {
            guard case .disk(let cause) = error, cause.isFull else { throw error }
            fullDisks += 1
            try work()
        }
    }

    private func commits(of desk: Desk, step: Int) -> [Commit] {
        let isPrivate = desk.database.id.scope == .private
        var commits: [Commit] = []
        if isPrivate, step == 0, let commit = desk.makeZone("notes") { commits.append(commit) }
        if isPrivate, step % 2 == 1 {
            let number = UInt32(step / 2 + 1)
            let statement = StatementTests.statement(number)
            commits.append(try! desk.database.append(statement: statement, number: number, nowMilliseconds: 1)!)
            commits.append(
                try! desk.database.append(
                    ringEntry: statement, number: number, root: "", zone: Desk.zone, quota: nil, nowMilliseconds: 1)!)
        }
        let zone = isPrivate ? Desk.zone : ZoneID.defaultZone
        let bytes = [UInt8](repeating: UInt8(step), count: 60 + step * 10)
        let names = [FaultScript.names[step % 6], FaultScript.names[(step + 2) % 6]]
        let saved = desk.modify(zone, policy: .allKeys, saves: names.map { .of($0, ["x": .bytes(bytes)]) })
        if let commit = saved.commit { commits.append(commit) }
        if step % 3 == 2 {
            let deleted = desk.modify(zone, deletions: [FaultScript.names[(step + 1) % 6], names[0]])
            if let commit = deleted.commit { commits.append(commit) }
        }
        return commits
    }

    private func note(_ database: Database) {
        let sequence = Int(database.sequence)
        var known = portraits[database.id] ?? []
        while known.count <= sequence { known.append("") }
        known[sequence] = FaultScript.portrait(of: database)
        portraits[database.id] = known
    }

    /// Opens the folder as a start would, and returns what is wrong; nil: all that was acknowledged is there, and
    /// nothing of half a batch.
    func problem() -> String? {
        do throws(StoreError) {
            let log = try ManualJournal(opening: disk, options: Folder.options(1024, 5), newEpoch: 8)
            for id in FaultScript.ids {
                let database = try log.open(id)
                if let problem = problem(with: database) { return problem }
            }
            return nil
        } catch {
            return "the folder does not open: \(error)"
        }
    }

    private func problem(with database: Database) -> String? {
        guard let known = portraits[database.id] else { return nil }
        let sequence = Int(database.sequence)
        if database.sequence < acknowledged[database.id] ?? 0 {
            return "commits up to \(acknowledged[database.id]!) were acknowledged, \(sequence) is left"
        }
        guard sequence < known.count else { return "commit \(sequence) was never made" }
        recordsChecked += database.recordCount
        return known[sequence] == FaultScript.portrait(of: database) ? nil : "commit \(sequence) is not as it was made"
    }

    /// What a database holds, as text.
    static func portrait(of database: Database) -> String {
        var lines = ["\(database.sequence) \(database.statements.all)"]
        database.rings.forEachEntry { lines.append("\($0) \($1) \($2)") }
        for zone in database.zones {
            lines.append("\(zone.id.name) \(database.incarnation(of: zone.id) ?? 0)")
            let outcomes = database.fetchRecords(
                FetchRecordsRequest(database: database.id.scope, zones: [.init(zone: zone.id, names: names)]))
            for case .record(let bytes) in outcomes[0] {
                lines.append("\(bytes.count) \(CRC32C.checksum(bytes.array))")
            }
            guard !zone.id.isDefault, let incarnation = database.incarnation(of: zone.id) else { continue }
            let start = ChangeToken(kind: .zone, epoch: database.epoch, incarnation: incarnation, position: .start)
            let page = try? database.zoneChanges(zone: zone.id, since: start, resultsLimit: 1000, desiredKeys: [])
            lines.append("\(page?.deletions.map(\.name) ?? []) \(page?.token.position.rawValue ?? 0)")
        }
        return lines.joined(separator: "\n")
    }
}
