/// Work that commits leave to a database's indexes: what one commit may do of it at once, and which zones have more.
struct IndexBacklog {
    /// What the commit may still do, in ``IndexUpdate``'s units.
    var unitsLeft = 0
    private var commit: UInt64 = 0
    /// Zones with changes that wait, by incarnation, the one that waits longest first; some may have none left, or be
    /// gone.
    private(set) var zones: [UInt64] = []
    /// How often some of it was done, so that indexes have changed.
    private(set) var steps: UInt64 = 0

    /// Begins a commit, whose changes follow.
    mutating func begin(commit sequence: UInt64, units: Int) {
        if commit == sequence { return }
        commit = sequence
        unitsLeft = units
    }

    mutating func add(_ zone: UInt64) {
        if zones.last != zone, !zones.contains(zone) { zones.append(zone) }
    }

    /// Removes the first zone, which has nothing left.
    mutating func removeFirst() { zones.removeFirst() }

    mutating func noteStep() { steps += 1 }
}
