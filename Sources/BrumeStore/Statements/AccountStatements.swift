package import BrumeModel

/// The signed statements of a private database's owner, the first in front: what each says only devices need to know,
/// and whether it follows from the one before is checked before it comes here.
///
/// Bounded by ``Limits/statementsPerAccount``, ``Limits/statementBytesPerAccount`` and
/// ``Limits/statementResetsPerAccount``.
package struct AccountStatements: Equatable, Sendable {
    package private(set) var all: [SharedBytes] = []
    /// The bytes of all of them.
    private(set) var statementBytes = 0
    /// Of those whose place a first one took, the earliest in front.
    package private(set) var replaced: [ReplacedStatements] = []

    package init() {}

    /// Statements that were kept; nil for some that never are.
    init?(_ statements: [SharedBytes], replaced: [ReplacedStatements]) {
        for statement in statements {
            guard append(statement) else { return nil }
        }
        for replaced in replaced {
            guard note(replaced) else { return nil }
        }
    }

    /// Whether there is none, and never was.
    package var isEmpty: Bool { all.isEmpty && replaced.isEmpty }

    /// What a quota counts of them.
    var byteCount: Int { statementBytes + replaced.count * Self.replacedBytes }

    /// The number of the last one; 0 where there is none.
    package var last: UInt32 { UInt32(all.count) }

    /// The statement of a number, which begin with 1; nil where there is none.
    package subscript(number: UInt32) -> SharedBytes? {
        number >= 1 && number <= last ? all[Int(number) - 1] : nil
    }

    /// About what they take in memory.
    var approximateBytes: Int { byteCount + (all.count + replaced.count * 2) * Self.placeBytes }

    private static let placeBytes = 64
    private static let replacedBytes = 2 * ReplacedStatements.hashBytes

    /// Takes the next one; returns false if it is none, or there is no room for it.
    mutating func append(_ statement: SharedBytes) -> Bool {
        guard !statement.isEmpty, statement.count <= Limits.statementBytes, all.count < Limits.statementsPerAccount,
            statementBytes + statement.count <= Limits.statementBytesPerAccount
        else { return false }
        all.append(statement)
        statementBytes += statement.count
        return true
    }

    /// All go, and what they were is kept in mind; returns false if there are none, or no room for it.
    mutating func replaceAll(_ replaced: ReplacedStatements) -> Bool {
        guard !all.isEmpty, note(replaced) else { return false }
        all = []
        statementBytes = 0
        return true
    }

    /// Keeps in mind some that went.
    mutating func note(_ replaced: ReplacedStatements) -> Bool {
        guard self.replaced.count < Limits.statementResetsPerAccount else { return false }
        self.replaced.append(replaced)
        return true
    }

    /// Those behind a number, the first in front, as many as fit into so many bytes; one at least where there are any.
    func page(after number: UInt32, bytes limit: Int) -> ArraySlice<SharedBytes> {
        guard number < last else { return [] }
        let start = Int(number)
        var end = start
        var bytes = 0
        repeat {
            bytes += all[end].count
            end += 1
        } while end < all.count && bytes + all[end].count <= limit
        return all[start..<end]
    }
}
