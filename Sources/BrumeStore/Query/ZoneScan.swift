internal import BrumeModel

/// The records of one zone that a query looks at, in the order that its plan has chosen.
struct ZoneScan {
    enum Source {
        /// All places of a zone without indexes.
        case slots(next: Int32)
        /// What is in a tree of records that are shared with the user.
        case tree(Feed.Entries, number: UInt32)
        /// Records by name, which are looked up as they are read.
        case names([String], next: Int)
        /// What changed while the other sources were read.
        case changed([Int32], next: Int)
        /// Records whose numbers all streams have, from one number on.
        case streams([OrdinalStream], next: UInt32)
        /// In no order that the query knows.
        case ranges(RangeReader)
        /// In the order of the query's first sort key; with a filter, those in it alone.
        case sorted(RangeReader, OrdinalFilter?)
        /// About in the order of the distance that the query sorts by first.
        case rings(RingReader)
        /// The same, the farthest first.
        case far(FarReader)

        /// Finds the places in indexes again: commits may have changed these.
        mutating func restart() {
            switch self {
            case .streams(var streams, let next):
                for index in streams.indices { streams[index].restart() }
                self = .streams(streams, next: next)
            case .ranges(var reader):
                reader.restart()
                self = .ranges(reader)
            case .sorted(var reader, var filter):
                reader.restart()
                for index in filter?.sources.indices ?? 0..<0 { filter!.sources[index].restart() }
                self = .sorted(reader, filter)
            case .rings(var rings):
                rings.reader.restart()
                self = .rings(rings)
            case .far(var far):
                far.reader?.restart()
                self = .far(far)
            case .slots, .tree, .names, .changed: break
            }
        }
    }

    /// Read one after the other, the last one first.
    var sources: [Source]
    /// Whether what changed is among the sources, or was.
    var isAtChanged = false
    /// The parts of the predicate that records have to be checked against: the sources decide the others.
    let parts: [Int]
    /// Records under these keys of a range are checked against all parts.
    let doubtfulKeys: [PostingTree.Key]
    /// Whether the sources may give a record twice.
    let mayRepeat: Bool
    /// About how many records are to be read.
    let recordsEstimated: Int
    /// The plan's sentences about it.
    let steps: [String]

    /// A scan of what is shared with a user in a zone. Others' records cost nothing, and so time tells nothing of them.
    static func through(_ trees: GuestTrees, parts: [Int]) -> ZoneScan {
        ZoneScan(
            sources: trees.feeds.sorted { $0.key < $1.key }.map { .tree($0.value.entries(), number: $0.key) },
            parts: parts, doubtfulKeys: [], mayRepeat: true, recordsEstimated: trees.count,
            steps: ["all \(trees.count) records that are shared with the user"])
    }

    /// A scan of a whole zone.
    static func through(_ slots: RecordSlots, parts: [Int], mayRepeat: Bool = false) -> ZoneScan {
        ZoneScan(
            sources: [.slots(next: 0)], parts: parts, doubtfulKeys: [], mayRepeat: mayRepeat,
            recordsEstimated: slots.count, steps: ["all \(slots.count) places of the zone, in the order of storage"])
    }
}
