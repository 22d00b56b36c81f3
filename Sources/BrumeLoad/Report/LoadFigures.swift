package import BrumeModel

/// What one thread, or all of them together, measured.
package struct LoadFigures: Sendable {
    /// One kind of operation.
    package struct Kind: Sendable {
        package var latency = Histogram()
        /// Records saved, fetched, or received as changes.
        package var records: UInt64 = 0
        /// Failed operations by error.
        package var errors: [String: UInt64] = [:]

        package init() {}

        package var failures: UInt64 { errors.values.reduce(0, +) }

        fileprivate mutating func merge(_ other: Kind) {
            latency.merge(other.latency)
            records += other.records
            errors.merge(other.errors) { $0 + $1 }
        }
    }

    package private(set) var kinds: [LoadOperation: Kind] = [:]

    package init() {}

    package mutating func succeeded(_ operation: LoadOperation, nanoseconds: UInt64, records: Int) {
        kinds[operation, default: Kind()].latency.record(nanoseconds)
        kinds[operation]!.records += UInt64(records)
    }

    /// Counts a failure under `text`, which says what was wrong, or under `code` when there are too many different
    /// texts.
    package mutating func failed(_ operation: LoadOperation, code: String, text: String) {
        let known = kinds[operation]?.errors
        let isNew = known?[text] == nil && (known?.count ?? 0) >= LoadLimits.errorTexts
        kinds[operation, default: Kind()].errors[isNew ? code : text, default: 0] += 1
    }

    package mutating func merge(_ other: LoadFigures) {
        for (operation, figures) in other.kinds { kinds[operation, default: Kind()].merge(figures) }
    }

    /// Operations that succeeded. Deliveries result from a publish and are not counted.
    package var operations: UInt64 {
        kinds.reduce(0) { $0 + ($1.key == .deliver || $1.key == .deliverAll ? 0 : $1.value.latency.count) }
    }
    package var failures: UInt64 { kinds.values.reduce(0) { $0 + $1.failures } }
}
