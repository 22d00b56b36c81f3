/// What a piece of work may still cost, counted as what is really done: comparisons, elements of lists, fields that are
/// passed, bytes of text, candidates. A unit is some ten to twenty nanoseconds.
///
/// Counts instead of time, so that the same request ends in the same way on every machine, and in a simulation whose
/// clock stands still. Belongs to one loop. An object, because the work and what it calls back charge the same one.
final class CostMeter {
    @exclusivity(unchecked) private(set) var left = 0

    /// Begins anew with so many units.
    func reset(to units: Int) { left = units }

    func charge(_ units: Int) { left -= units }

    var isSpent: Bool { left <= 0 }
}
