package import BrumeModel

/// What one connection, or all of them together, measured.
package struct LoadFigures: Sendable {
    /// One kind of operation.
    package struct Kind: Sendable {
        package var latency = Histogram()
        /// Records saved, fetched, or received as changes.
        package var records: UInt64 = 0
        /// Failed operations by error code's name.
        package var errors: [String: UInt64] = [:]

        package init() {}
    }

    package var kinds: [LoadOperation: Kind] = [:]

    package init() {}

    package mutating func succeeded(_ operation: LoadOperation, nanoseconds: UInt64, records: Int) {
        kinds[operation, default: Kind()].latency.record(nanoseconds)
        kinds[operation]!.records += UInt64(records)
    }

    package mutating func failed(_ operation: LoadOperation, code: String) {
        kinds[operation, default: Kind()].errors[code, default: 0] += 1
    }

    package mutating func merge(_ other: LoadFigures) {
        for (operation, figures) in other.kinds {
            kinds[operation, default: Kind()].latency.merge(figures.latency)
            kinds[operation]!.records += figures.records
            kinds[operation]!.errors.merge(figures.errors) { $0 + $1 }
        }
    }

    /// Operations that succeeded.
    package var operations: UInt64 { kinds.values.reduce(0) { $0 + $1.latency.count } }
    package var failures: UInt64 { kinds.values.reduce(0) { $0 + $1.errors.values.reduce(0, +) } }
}
