internal import BrumeModel

/// What one shard counts. Belongs to the shard's loop: no lock, no atomic, and no allocation except for the first
/// failure of a kind.
struct ShardFigures {
    private var itemFailures: [ErrorCode: UInt64] = [:]
    private var commits: UInt64 = 0
    private var changes: UInt64 = 0
    private var pushLagNanoseconds = Histogram()
    /// What was transferred and removed of assets; what is held is counted elsewhere.
    var assets = ServerFigures.Assets()

    mutating func committed(changes count: Int) {
        commits += 1
        changes += UInt64(count)
    }

    /// A request to save and delete records went through, with these results.
    mutating func modified(_ results: [ZoneModificationResult<SharedBytes>]) {
        for result in results {
            for index in result.saves.indices {
                if case .failure(let error) = result.saves[index].outcome { itemFailures[error.code, default: 0] += 1 }
            }
            for index in result.deletions.indices {
                if let error = result.deletions[index] { itemFailures[error.code, default: 0] += 1 }
            }
        }
    }

    /// A commit's events were handed to the devices that listen.
    mutating func published(committedNanoseconds: UInt64, nowNanoseconds: UInt64) {
        pushLagNanoseconds.record(nowNanoseconds > committedNanoseconds ? nowNanoseconds - committedNanoseconds : 0)
    }

    /// All that was counted.
    var collected: ServerFigures {
        var figures = ServerFigures()
        figures.loops = 1
        figures.itemFailures = itemFailures
        figures.commits = commits
        figures.changes = changes
        figures.push.lagNanoseconds = pushLagNanoseconds
        figures.assets = assets
        return figures
    }
}
