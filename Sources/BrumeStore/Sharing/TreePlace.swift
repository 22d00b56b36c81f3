internal import BrumeModel

/// A place among what a user is told of shared trees.
///
/// What was in a tree when the user accepted its share, or lost it, comes as one block at that position, whatever its
/// own position: so a device is told all of it that knew nothing of the tree until then. Within a block its own
/// position says the order.
struct TreePlace: Comparable {
    var outer: ChangePosition
    var inner: ChangePosition

    /// What stands at the position by itself.
    init(_ position: ChangePosition) { (outer, inner) = (position, position) }

    init(outer: ChangePosition, inner: ChangePosition) { (self.outer, self.inner) = (outer, inner) }

    static func < (one: TreePlace, other: TreePlace) -> Bool {
        one.outer != other.outer ? one.outer < other.outer : one.inner < other.inner
    }
}

extension ChangePosition {
    /// Behind every position.
    static let last = ChangePosition(rawValue: .max)

    /// The position before this one.
    var before: ChangePosition { ChangePosition(rawValue: rawValue - 1) }
}
