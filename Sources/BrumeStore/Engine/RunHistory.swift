internal import BrumeModel

/// Which run of the server wrote which commits of a database.
///
/// Every start of a server on a data folder draws a random number that names the run. A token names the run that wrote
/// its place in history, a change tag the run that made it. A folder that was put back to an older state by plain
/// copying, without `brume restore`, goes on with sequences that were given out before; but in another run, so that a
/// token of the lost future is told from one of this history even when new commits have passed that place: here another
/// run wrote it. Tokens from before the copy was taken stay good.
///
/// Each journal entry names its run; a snapshot holds the list. Bounded: the oldest runs go first. What they wrote
/// counts as written by the oldest one that is left, and tokens that name them have expired.
struct RunHistory: Equatable, Sendable {
    /// Oldest first, never empty. The first one reaches back to the beginning.
    private(set) var runs: [DatabaseRun]

    /// The history of a database without commits, or of one whose commits don't name their run: all of it has one
    /// epoch.
    init(epoch: UInt32) {
        runs = [DatabaseRun(firstSequence: 0, id: epoch)]
    }

    /// What a snapshot holds; nil when it can't be a history up to `sequence`.
    init?(_ runs: [DatabaseRun], upTo sequence: UInt64) {
        guard let last = runs.last, last.firstSequence <= sequence else { return nil }
        for (before, run) in zip(runs, runs.dropFirst())
        where before.firstSequence >= run.firstSequence || before.id == run.id {
            return nil
        }
        self.runs = runs
    }

    /// The run that wrote a commit, or that would write it if it is the next.
    ///
    /// - Complexity: O(1) for what the latest run wrote, else O(runs after it).
    func run(of sequence: UInt64) -> UInt32 {
        (runs.last { $0.firstSequence <= sequence } ?? runs[0]).id
    }

    /// Notes that a commit was applied.
    mutating func note(_ sequence: UInt64, run: UInt32, limit: Int) {
        if run == 0 || run == runs[runs.count - 1].id { return }
        runs.append(DatabaseRun(firstSequence: sequence, id: run))
        if runs.count > limit { runs.removeFirst(runs.count - limit) }
    }
}
