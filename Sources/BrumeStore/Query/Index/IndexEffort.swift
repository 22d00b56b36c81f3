/// What one query has spent on making indexes, and what came of it.
///
/// Whoever changes records while an index is made has work done again: changes have to be taken over first, what was
/// half taken in is thrown away, and others' queries may push out the index itself. So a query gives up making indexes
/// when that takes more than the making, and reads with those that are there. What it did is not lost: the next query
/// goes on with it.
struct IndexEffort {
    /// Units of a query that may be lost in any case: some 60 milliseconds.
    private static let unitsLostMin = 4_096

    private var unitsSpent = 0
    /// What is left of them in the indexes, as ``FieldIndex/progress`` counts it.
    private var unitsGained = 0
    /// The index that is being made, and its progress when this query last left it.
    private var current: (zone: UInt64, id: IndexID, progress: Int)?

    /// Whether the query may go on making indexes.
    var isWorthIt: Bool { unitsSpent - unitsGained <= unitsGained + IndexEffort.unitsLostMin }

    /// The query is about to go on with an index, which has come so far.
    mutating func begin(_ id: IndexID, ofZone zone: UInt64, progress: Int) {
        if let current, current.zone == zone, current.id == id { return }
        current = (zone, id, progress)
    }

    /// So many units were spent on the index, which has come so far: less far than before, if it was pushed out and
    /// begun anew.
    mutating func spend(_ units: Int, progress: Int) {
        guard let known = current else { preconditionFailure("work on an index was not begun") }
        unitsSpent += units
        unitsGained += progress - known.progress
        current = (known.zone, known.id, progress)
    }
}
