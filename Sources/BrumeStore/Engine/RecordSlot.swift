internal import BrumeModel

/// A record as the engine keeps it: its encoded bytes, and beside them what decisions need without decoding.
///
/// In a custom zone a deleted record keeps its slot as a tombstone: name, type and position, nothing else.
struct RecordSlot: Sendable {
    var name: String
    var type: String
    /// Of the latest change.
    var position: ChangePosition
    /// Of the change that created the record: unique in the database, and the same as long as the record lives. It is the last
    /// of all orders that queries answer in. ``ZoneState/put(_:)`` keeps it.
    var created = ChangePosition.start
    var tag: ChangeTag
    /// The encoded `brume.v1.Record`, immutable; empty in a tombstone.
    var bytes: [UInt8]
    /// The name of the parent record, or empty.
    var parent: String
    /// The names that `deleteSelf` references point to, one for each reference.
    var cascadeTargets: [String]
    var isDeleted: Bool

    /// What a record takes beside its bytes and texts: its slot, the places of its name in the look-ups and of its changes in
    /// the feed, and what an allocation adds.
    private static let overheadBytes = 256

    /// About what the record takes in memory.
    var approximateBytes: Int {
        RecordSlot.overheadBytes + bytes.count + name.utf8.count + type.utf8.count + parent.utf8.count
            + cascadeTargets.reduce(0) { $0 + 2 * $1.utf8.count }
    }
}
