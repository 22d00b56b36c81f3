package import BrumeModel
package import BrumeStore

/// What ``ScriptedCommitLogs`` keep: the durable commits of all databases, for one server after the other.
///
/// `@unchecked Sendable`: a test has one thread.
package final class ScriptedLogStorage: @unchecked Sendable {
    private var entries: [DatabaseID: [JournalEntry]] = [:]
    private var savedSequences: [DatabaseID: UInt64] = [:]
    /// The number of servers that have used it, which names the run of each.
    private(set) var runs: UInt32 = 0

    package init() {}

    package let epoch: UInt32 = 1

    func beginRun() -> UInt32 {
        runs += 1
        return runs
    }

    /// The databases that hold commits, in an order that is the same in every run.
    package var ids: [DatabaseID] { entries.keys.sorted { ($0.container, $0.owner) < ($1.container, $1.owner) } }

    package func holds(_ id: DatabaseID) -> Bool { entries[id] != nil }

    /// The last durable commit of a database; 0 when it has none.
    package func sequence(of id: DatabaseID) -> UInt64 { entries[id]?.last?.sequence ?? 0 }

    package func savedSequence(of id: DatabaseID) -> UInt64 { savedSequences[id] ?? 0 }

    /// Makes a commit durable: one of the server's, or one of another owner.
    package func commit(_ entry: JournalEntry) {
        precondition(entry.sequence == sequence(of: entry.database) + 1, "a commit is missing, or comes twice")
        entries[entry.database, default: []].append(entry)
    }

    package func save(_ id: DatabaseID, upTo sequence: UInt64) {
        precondition(sequence <= self.sequence(of: id), "a commit is saved that is not durable")
        savedSequences[id] = max(savedSequence(of: id), sequence)
    }

    /// The database in its latest durable state.
    package func open(_ id: DatabaseID, run: UInt32) -> OpenedDatabase {
        let database = Database(id: id, epoch: epoch)
        for entry in entries[id] ?? [] {
            do throws(ReplayError) {
                try database.apply(entry)
            } catch {
                preconditionFailure("a commit can't be replayed: \(error.problem)")
            }
        }
        database.begin(run: run)
        return OpenedDatabase(database, savedSequence: savedSequence(of: id))
    }
}
