internal import BrumeModel

/// A record as the engine keeps it: its encoded bytes, and beside them what decisions need without decoding.
///
/// In a custom zone a deleted record keeps its slot as a tombstone: name, type and position, nothing else.
struct RecordSlot: Sendable {
    var name: String
    var type: String
    /// Of the latest change.
    var position: ChangePosition
    var tag: ChangeTag
    /// The encoded `brume.v1.Record`, immutable; empty in a tombstone.
    var bytes: [UInt8]
    /// The name of the parent record, or empty.
    var parent: String
    /// The names that `deleteSelf` references point to, one for each reference.
    var cascadeTargets: [String]
    var isDeleted: Bool
}
