/// Why the store can't go on.
package enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A call to the disk failed.
    case disk(DiskError)
    /// A file holds something else than what was written. Nothing is repaired by deleting: restore a backup, or ask
    /// what is affected with `brume verify`.
    case damaged(Damage)
    /// A file of a format that this version does not know.
    case unknownVersion(file: String, version: UInt32)

    package var description: String {
        switch self {
        case .disk(let error): error.description
        case .damaged(let damage): damage.description
        case .unknownVersion(let file, let version):
            "\(file) has format version \(version), which this version of Brume can't read; use a newer one"
        }
    }
}

/// A place in a file that does not hold what was written there.
package struct Damage: Error, Equatable, Sendable, CustomStringConvertible {
    package let file: String
    package let offset: UInt64
    /// What is wrong.
    package let problem: String
    /// Whether the whole file is missing, so that no place in it is meant.
    package let isMissing: Bool

    package init(file: String, offset: UInt64, problem: String, isMissing: Bool = false) {
        self.file = file
        self.offset = offset
        self.problem = problem
        self.isMissing = isMissing
    }

    package init(missing file: String, _ problem: String) {
        self.init(file: file, offset: 0, problem: problem, isMissing: true)
    }

    package var description: String {
        isMissing ? "\(file): \(problem)" : "\(file) is damaged at byte \(offset): \(problem)"
    }
}
