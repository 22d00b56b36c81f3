internal import BrumeModel
internal import BrumeWire

/// What the references of one request may cost the loop. A request is decided in one piece, so its cost has to be
/// bounded before.
///
/// The first record always has room, so that each can be changed and deleted by itself, whatever was stored before a
/// limit was lower.
struct ReferenceBudget: Sendable {
    /// `deleteSelf` references that may still come or go.
    private(set) var references = Limits.cascadeReferencesPerRequest
    /// Fields and references of whatever kind that may still be looked at for them.
    private(set) var steps = StoreLimits.referenceStepsPerRequest
    /// Records that may still fall with those that the request deletes.
    private(set) var cascades = Limits.cascadesPerRequest
    private var isUntouched = true

    /// For the references of a record that is saved or that the request deletes. False, and nothing is taken, when
    /// there is no room.
    mutating func take(
        _ cascades: StoredRecord.Cascades, and others: StoredRecord.Cascades = StoredRecord.Cascades()
    ) -> Bool {
        let (weight, steps) = (cascades.weight + others.weight, cascades.steps + others.steps)
        if steps == 0 { return true }
        guard isUntouched || weight <= references && steps <= self.steps else { return false }
        isUntouched = false
        references = max(0, references - weight)
        self.steps = max(0, self.steps - steps)
        return true
    }

    /// For records that fall.
    mutating func take(cascades count: Int, references weight: Int, steps: Int) {
        isUntouched = false
        cascades -= count
        references -= weight
        self.steps = max(0, self.steps - steps)
    }
}
