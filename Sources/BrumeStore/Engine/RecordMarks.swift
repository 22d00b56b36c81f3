internal import BrumeRecord

/// What the engine has to know of a record without reading it. The bits are those of ``RecordSlot``.
struct RecordMarks: OptionSet {
    let rawValue: UInt32

    /// It has a parent, or references that delete it with their targets.
    static let refersToOthers = RecordMarks(rawValue: 1 << 30)
    /// It is a share, or the root of one: see ``SharingPart``.
    static let sharing = RecordMarks(rawValue: 1 << 29)
    /// It names assets.
    static let assets = RecordMarks(rawValue: 1 << 28)
    static let all: RecordMarks = [.refersToOthers, .sharing, .assets]
}

extension RecordMarks {
    /// Those of a record whose bytes were checked.
    init(_ summary: StoredRecord.Summary) {
        self = summary.refersToOthers ? .refersToOthers : []
        if summary.concernsSharing { insert(.sharing) }
        if summary.holdsAssets { insert(.assets) }
    }
}
