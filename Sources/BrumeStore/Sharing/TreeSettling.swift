internal import BrumeModel

/// A change of a record in a zone with shared trees.
enum TreeEvent: Sendable {
    /// - isNew: Whether there was no such record before.
    /// - mayMove: Whether its parent, or the share that it is the root of, is another than before.
    case put(slot: Int32, position: ChangePosition, isNew: Bool, mayMove: Bool)
    /// A member of a tree was deleted.
    case deletion(tree: UInt32, SharedTree.Departure)
}

/// What there is to do until a zone's trees are as a commit's changes want them.
///
/// 1. What the commit changed itself is looked at: which tree covers it now?
/// 2. Where that is another than before, all that stands below goes with it. It is walked through, to the roots of
///    other shares.
/// 3. What was found comes into its new tree, in the order of its last changes.
///
/// All that a commit moves does so at positions behind the commit's own changes, and the order does not depend on
/// slots: worked out again from the journal it is the same, so tokens stay what they were.
struct TreeSettling: Sendable {
    /// The sequence of the commit.
    let sequence: UInt64
    /// Slots whose cover is another than before, and what stands below them is to be looked at.
    var pending: [Int32] = []
    /// What the commit itself moved, or may have.
    var changed: Set<Int32> = []
    /// The records to be placed, with the numbers that they had before.
    var moving: [Int32: UInt32] = [:]
    /// Records of trees that were made ready for shares which the commit begins.
    var adoptedCount = 0
    /// How many have been given positions.
    var placedCount: UInt32 = 0

    init(sequence: UInt64) {
        self.sequence = sequence
    }

    /// The next position for what moves without a change of its own. A commit has fewer changes than this begins at,
    /// and fewer records move than there is room behind it: see ``StoreLimits/movedRecordsPerRequest``.
    mutating func nextPosition() -> ChangePosition {
        defer { placedCount += 1 }
        return ChangePosition(sequence: sequence, index: TreeSettling.firstIndex + placedCount)
    }

    static let firstIndex: UInt32 = 1 << 17
}
