/// An access of a query, and the parts of the predicate that it decides: the records that it leads to are checked
/// against the other parts only.
struct AccessPath {
    var access: Access
    /// Parts of the outermost AND (``PredicateEvaluator/parts``) that hold for all records that the access leads to,
    /// but for those under ``doubtfulKeys``. A search for several words has a path for each, and they decide it
    /// together.
    var parts: [Int] = []
    /// Keys that different values share, some of which match.
    var doubtfulKeys: [PostingTree.Key] = []

    /// The same, except where an index has records with more words or elements than it takes in: then it leads to
    /// these, too, and so decides nothing.
    func withUnindexed(_ indexes: ZoneIndexes) -> AccessPath {
        let (access, isWider) = access.withUnindexed(indexes)
        return isWider ? AccessPath(access: access) : self
    }
}

/// What leads to a term's matches.
struct TermAccess {
    var access: Access
    /// Whether each record that it leads to matches, but for those under ``doubtfulKeys``.
    var isExact: Bool
    var doubtfulKeys: [PostingTree.Key] = []

    static let nothing = TermAccess(access: .union([]), isExact: true)
}
