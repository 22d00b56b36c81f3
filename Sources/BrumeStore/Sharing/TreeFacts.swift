internal import BrumeModel

/// What is asked of shared trees for one record after the other: without a copy of a tree, which would retain each of
/// its parts.
struct TreeFacts: Sendable {
    private struct Fact {
        let since: ChangePosition
        var isEnded: Bool
    }

    private var facts: [UInt32: Fact] = [:]

    /// Whether there is a tree of a number, maybe one that ended. No tree has the number 0.
    func holds(_ number: UInt32) -> Bool { number != 0 && facts[number] != nil }

    /// Whether there is a tree of a number whose share is there.
    func isLive(_ number: UInt32) -> Bool { number != 0 && facts[number]?.isEnded == false }

    func hasEnded(_ number: UInt32) -> Bool { number != 0 && facts[number]?.isEnded == true }

    /// Whether a commit began a tree, which is there still.
    func begins(_ number: UInt32, withCommit sequence: UInt64) -> Bool {
        facts[number].map { $0.since.sequence == sequence && !$0.isEnded } ?? false
    }

    mutating func note(_ tree: SharedTree, number: UInt32) {
        facts[number] = Fact(since: tree.since, isEnded: tree.isEnded)
    }

    mutating func end(_ number: UInt32) { facts[number]?.isEnded = true }

    mutating func drop(_ number: UInt32) { facts[number] = nil }
}
