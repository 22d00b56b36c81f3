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
    /// The zone whose indexes are being made, and how far each had come when this query last left it.
    private var zone: UInt64?
    private var progress: [IndexID: Int] = [:]

    /// Whether the query may go on making indexes.
    var isWorthIt: Bool { unitsSpent - unitsGained <= unitsGained + IndexEffort.unitsLostMin }

    /// The query is about to go on with an index, which has come so far.
    mutating func begin(_ id: IndexID, ofZone zone: UInt64, progress: Int) {
        if self.zone != zone { (self.zone, self.progress) = (zone, [:]) }
        // One that was pushed out since then has come less far.
        unitsGained += progress - self.progress[id, default: progress]
        self.progress[id] = progress
    }

    /// So many units were spent on the index, which has come so far.
    mutating func spend(_ units: Int, on id: IndexID, progress: Int) {
        guard let known = self.progress[id] else { preconditionFailure("work on an index was not begun") }
        unitsSpent += units
        unitsGained += progress - known
        self.progress[id] = progress
    }
}
