package import BrumeModel

/// Which segments of the journal are still needed: those with a commit that no snapshot holds.
///
/// Fed with each entry that is appended (or replayed) and each snapshot that is durable; it says what may be removed.
/// Pure.
package struct SegmentCoverage: Sendable {
    private struct Use {
        let segment: UInt64
        var lastSequence: UInt64
    }

    /// The segments with commits of a database that are not in a snapshot, oldest first.
    private var uses: [DatabaseID: [Use]] = [:]

    package init() {}

    package mutating func appended(_ database: DatabaseID, sequence: UInt64, segment: UInt64) {
        if let last = uses[database]?.last, last.segment == segment {
            uses[database]![uses[database]!.count - 1].lastSequence = max(last.lastSequence, sequence)
        } else {
            uses[database, default: []].append(Use(segment: segment, lastSequence: sequence))
        }
    }

    /// Notes that a snapshot of `database` up to `sequence` is durable.
    package mutating func snapshotted(_ database: DatabaseID, upTo sequence: UInt64) {
        uses[database]?.removeAll { $0.lastSequence <= sequence }
        if uses[database]?.isEmpty == true { uses[database] = nil }
    }

    /// Whether every commit of `database` that was appended is in a snapshot: it may be dropped from memory.
    package func holdsAll(of database: DatabaseID) -> Bool { uses[database] == nil }

    /// The oldest segment that is needed; `current`, when none is.
    package func firstNeeded(current: UInt64) -> UInt64 {
        uses.values.reduce(current) { min($0, $1.first?.segment ?? current) }
    }

    /// The databases that still need segments below `segment`: those to make snapshots of.
    package func databases(needingSegmentsBefore segment: UInt64) -> [DatabaseID] {
        uses.filter { ($0.value.first?.segment ?? segment) < segment }.map(\.key)
    }
}
