/// What a server does not look at of rings, so that a test can prove that it is noticed.
package struct RingWeaknesses: OptionSet, Sendable {
    /// Saves go on after members of a ring left, or have other keys.
    package static let ignoresMembers = RingWeaknesses(rawValue: 1)
    /// Whoever joins a ring brings whose statements they will.
    package static let takesForeignStatements = RingWeaknesses(rawValue: 2)
    /// A guest's proof is not checked.
    package static let takesAnyProof = RingWeaknesses(rawValue: 4)
    /// An entry may name keys of members that were replaced.
    package static let takesOldKeys = RingWeaknesses(rawValue: 8)
    /// An entry may be of a member who only reads, or takes part no more.
    package static let takesReadersEntries = RingWeaknesses(rawValue: 16)
    /// Values of the zone's key come into shared trees.
    package static let takesZoneKeys = RingWeaknesses(rawValue: 32)

    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }
}

extension LoadedDatabase {
    package func testOnly_weakenRings(_ weaknesses: RingWeaknesses) { ringHeads.testOnly_weaknesses = weaknesses }
}
