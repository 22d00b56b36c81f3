internal import BrumeModel
internal import BrumeRecord

/// What the references of one request may cost the loop. A request is decided in one piece, so its cost has to be
/// bounded before.
///
/// Records are read only as far as there is room. What was read is taken even if it turned out to be too much: the
/// items after it find no room, and are not read.
///
/// The first record always has room, so that each can be changed and deleted by itself, even one that was stored before
/// a limit was lowered.
struct ReferenceBudget: Sendable {
    /// `deleteSelf` references that may still come or go.
    private(set) var references = Limits.cascadeReferencesPerRequest
    /// Fields and references of any kind that may still be looked at for them.
    private(set) var steps = StoreLimits.referenceStepsPerRequest
    /// Records that may still fall with those that the request deletes.
    private(set) var cascades = Limits.cascadesPerRequest
    /// Records and references that may still be looked at again, because items undo each other.
    private(set) var visits = StoreLimits.referenceVisitsPerRequest
    private var isUntouched = true

    /// The references of a record that is deleted, or nil when there is no room for them.
    mutating func read(_ record: RecordSlot) -> StoredRecord.Cascades? {
        read(older: record, newer: nil)?.older
    }

    /// The references of a record that is saved, before and after, or nil when there is no room for both.
    ///
    /// - Parameters:
    ///   - older: The version that the zone has, or nil where that is of no interest.
    ///   - newer: The encoded fields of the record as it is to be.
    mutating func read(
        older: RecordSlot?, newer: SharedBytes?
    ) -> (older: StoredRecord.Cascades, newer: StoredRecord.Cascades)? {
        let isFirst = isUntouched
        var before = StoredRecord.Cascades()
        let after = newer.map { ReferenceBudget.cascades(of: $0, within: room(isFirst: isFirst)) }
        guard take(after, isFirst: isFirst) else { return nil }
        if let older {
            before = older.cascades(within: room(isFirst: isFirst))
            guard take(before, isFirst: isFirst) else { return nil }
        }
        return (before, after ?? StoredRecord.Cascades())
    }

    /// Takes what a settlement looked at, whether or not it stands.
    mutating func take(_ cost: ReferenceGraph.Cost) {
        cascades = max(0, cascades - cost.cascades)
        visits = max(0, visits - cost.visits)
        take(references: cost.references, steps: cost.steps)
    }

    private mutating func take(references weight: Int, steps: Int) {
        isUntouched = false
        references = max(0, references - weight)
        self.steps = max(0, self.steps - steps)
    }

    private func room(isFirst: Bool) -> StoredRecord.Cascades.Room {
        isFirst ? .unlimited : StoredRecord.Cascades.Room(weight: references, steps: steps)
    }

    /// Returns false when it is more than there was room for.
    private mutating func take(_ read: StoredRecord.Cascades?, isFirst: Bool) -> Bool {
        guard let read, read.steps > 0 else { return true }
        let fits = isFirst || read.fits(room(isFirst: false))
        take(references: read.weight, steps: read.steps)
        return fits
    }

    private static func cascades(
        of fields: SharedBytes, within room: StoredRecord.Cascades.Room
    ) -> StoredRecord.Cascades {
        fields.withUnsafeBytes { bytes in
            guard let cascades = try? StoredRecord.cascades(of: bytes, within: room) else {
                preconditionFailure("a checked field can't be read")
            }
            return cascades
        }
    }
}
