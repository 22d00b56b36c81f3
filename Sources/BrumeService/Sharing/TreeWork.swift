internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// A request that shares records with many others below them, from its coming until their trees are ready and it can be
/// decided. On the loop that owns the database, which stays in memory for as long.
final class TreeWork {
    typealias Give = (_ outcome: Outcome, _ position: UInt64) -> Void

    let request: DataRequest
    let identity: Identity
    let share: ClientShare
    let loaded: LoadedDatabase
    let give: Give
    /// The account whose share of the loop's time it takes.
    var account: ClientShare.Key { share.key }
    private let trees: [LargeTree]
    /// The trees that were found ready in this turn, one after the other, since the last one that was not.
    private var readyCount = 0
    private var next = 0
    private var restarts = 0
    private let deadlineNanoseconds: UInt64

    /// Throws `zoneBusy` where such requests are being worked on already.
    init(
        _ request: DataRequest, sharing trees: [LargeTree], in loaded: LoadedDatabase, identity: Identity,
        share: ClientShare, nowNanoseconds: UInt64, _ give: @escaping Give
    ) throws(ServiceError) {
        self.request = request
        self.trees = trees
        self.loaded = loaded
        self.identity = identity
        self.share = share
        self.give = give
        deadlineNanoseconds = nowNanoseconds + ServiceLimits.treeWorkNanoseconds
        for (index, tree) in trees.enumerated() {
            do throws(ServiceError) {
                try loaded.database.beginTree(tree)
            } catch {
                for begun in trees[..<index] { loaded.database.endTree(begun) }
                throw error
            }
        }
        loaded.slicedWorkCount += 1
    }

    /// Goes on for as much as a turn has for it.
    ///
    /// - Returns: Whether the request can be decided, in this turn.
    func work(
        units: Int, _ budget: inout QueryBudget, now: () -> UInt64
    ) throws(ServiceError) -> Bool {
        // Commits have come since the last turn.
        readyCount = 0
        var left = units
        var before = now()
        while left > 0, budget.isLeft {
            let step = min(left, ServiceLimits.treeStepUnits)
            let progress = loaded.database.continueTree(trees[next], units: step)
            let after = now()
            budget.spend(nanoseconds: after - before)
            before = after
            switch progress {
            case .ready:
                readyCount += 1
                next = (next + 1) % trees.count
                if readyCount == trees.count { return true }
                continue
            case .underWay: readyCount = 0
            case .broken: try beginAgain()
            }
            left -= step
        }
        return false
    }

    func isLate(at nanoseconds: UInt64) -> Bool { nanoseconds > deadlineNanoseconds }

    private func beginAgain() throws(ServiceError) {
        readyCount = 0
        restarts += 1
        if restarts > ServiceLimits.treeRestarts { throw Database.treesAreBusy }
        loaded.database.endTree(trees[next])
        try loaded.database.beginTree(trees[next])
    }

    /// Drops what no share has taken.
    func end() {
        for tree in trees { loaded.database.endTree(tree) }
        loaded.slicedWorkCount -= 1
    }
}
