internal import BrumeModel

/// Finds the trees that records are covered by.
struct TreeFinder {
    /// What the commit in hand changed: its numbers may be those from before.
    var changed: Set<Int32> = []
    /// Whether records with others below them were moved, so that no number is to be relied on.
    var trustsNone = false
    private var known: [Int32: UInt32] = [:]

    init() {}

    /// The number of the tree that covers a record; 0 for none.
    mutating func cover(of slot: Int32, in zone: ZoneState) -> UInt32 {
        var path: [Int32] = []
        var current = slot
        var found: UInt32 = 0
        while true {
            if let number = known[current] {
                found = number
                break
            }
            if !trustsNone, !changed.contains(current) {
                found = zone.trees.cover(of: current)
                break
            }
            let kinship = zone.kinship(of: current)
            if let number = zone.trees.numberOfShare[kinship.share] {
                found = number
                path.append(current)
                break
            }
            // Until it is known: a circle that comes here again ends.
            known[current] = 0
            path.append(current)
            guard !kinship.parent.isEmpty, let parent = zone.liveSlot(of: kinship.parent) else { break }
            current = parent
        }
        for passed in path { known[passed] = found }
        return found
    }
}
