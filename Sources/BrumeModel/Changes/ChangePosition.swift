/// The position of a record change in its database's order: the commit's sequence, and the change's index in the
/// commit.
///
/// All changes of a commit share its sequence, so that a page of a feed can end where a commit ends. Positions are
/// ordered by their raw values.
package struct ChangePosition: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// 44 bits of sequence, 20 of index: 17 million million commits of up to a million changes.
    package init(sequence: UInt64, index: UInt32) {
        precondition(sequence < 1 << 44 && index < 1 << 20, "a change position is out of range")
        rawValue = sequence << 20 | UInt64(index)
    }

    /// The position after every change of the commit.
    package static func end(ofSequence sequence: UInt64) -> ChangePosition {
        ChangePosition(sequence: sequence, index: 1 << 20 - 1)
    }

    package static let start = ChangePosition(rawValue: 0)

    package var sequence: UInt64 { rawValue >> 20 }
    package var index: UInt32 { UInt32(truncatingIfNeeded: rawValue & 0xF_FFFF) }

    package static func < (left: ChangePosition, right: ChangePosition) -> Bool { left.rawValue < right.rawValue }
    // The standard library's default would call `<` through the protocol, in look-ups that every event makes.
    package static func <= (left: ChangePosition, right: ChangePosition) -> Bool { left.rawValue <= right.rawValue }
    package static func > (left: ChangePosition, right: ChangePosition) -> Bool { left.rawValue > right.rawValue }
    package static func >= (left: ChangePosition, right: ChangePosition) -> Bool { left.rawValue >= right.rawValue }
}
