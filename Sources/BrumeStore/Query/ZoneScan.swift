internal import BrumeModel

/// The records of one zone that a query looks at, in the order that its plan has chosen.
struct ZoneScan {
    enum Source {
        /// All places of a zone without indexes.
        case slots(next: Int32)
        case list([Int32], next: Int)
        /// Records whose numbers all streams have, from one number on.
        case streams([OrdinalStream], next: UInt32)
        /// In no order that the query knows.
        case ranges(RangeReader)
        /// In the order of the query's first sort key.
        case sorted(RangeReader)
        /// By the distance that the query sorts by first, about.
        case rings(RingReader)
    }

    /// Read one after the other.
    var sources: [Source]
    /// Parts of the predicate that records are to be asked for: the sources decide the others.
    let parts: [Int]
    /// Records that stand under these keys of a range are asked for all parts.
    let doubtfulKeys: [PostingTree.Key]
    /// Whether the sources may give a record twice.
    let mayRepeat: Bool
    /// Sentences.
    let steps: [String]

    /// A zone that is looked through.
    static func through(_ slots: RecordSlots, parts: [Int]) -> ZoneScan {
        ZoneScan(
            sources: [.slots(next: 0)], parts: parts, doubtfulKeys: [], mayRepeat: false,
            steps: ["all \(slots.count) places of the zone, in the order of storage"])
    }
}
