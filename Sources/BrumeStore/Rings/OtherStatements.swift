package import BrumeModel

/// The signed statements of one user beside the rings of a zone that somebody else owns, in the order in which they
/// were kept: members of the rings are named by them.
///
/// A user who has lost all devices begins another chain of statements. The former stays, since entries of the rings
/// name it. Whether a statement follows from the one before in its chain is checked before it comes here.
///
/// Bounded by ``Limits/ringStatementsPerUser``, ``Limits/ringStatementBytesPerUser`` and ``Limits/ringChainsPerUser``.
package struct OtherStatements: Equatable, Sendable {
    package struct Kept: Equatable, Sendable {
        /// The number of the chain, from 1.
        package let chain: UInt32
        package let bytes: SharedBytes
    }

    package private(set) var all: [Kept] = []
    package private(set) var chainCount: UInt32 = 0
    /// The chain of the keys that the user has now; 0 where there is none.
    package private(set) var current: UInt32 = 0
    private(set) var byteCount = 0
    /// Whether an entry of the zone's rings has named the user, for whose sake all are kept.
    var isNamed = true

    package init() {}

    /// How many there are, and so the number of the last one.
    package var last: UInt32 { UInt32(all.count) }

    /// The statements of one chain, the first in front.
    package func chain(_ number: UInt32) -> [SharedBytes] { all.filter { $0.chain == number }.map(\.bytes) }

    /// About what they take in memory.
    var approximateBytes: Int { Self.emptyBytes + byteCount + all.count * Self.placeBytes }

    private static let emptyBytes = 256
    private static let placeBytes = 64

    /// Whether there is room for another one of a chain.
    func hasRoom(for statement: SharedBytes, chain: UInt32) -> Bool {
        !statement.isEmpty && statement.count <= Limits.statementBytes && all.count < Limits.ringStatementsPerUser
            && byteCount + statement.count <= Limits.ringStatementBytesPerUser && chain >= 1
            && chain <= min(chainCount + 1, UInt32(Limits.ringChainsPerUser))
    }

    /// Whether they are no more than each user may bring whom no entry has named yet.
    var isWithinUnnamedShare: Bool {
        all.count <= Limits.ringStatementsPerUnnamedUser && byteCount <= Limits.ringStatementBytesPerUnnamedUser
    }

    /// Takes the next one, for which there is room. One that begins a chain makes it the current one.
    mutating func append(_ statement: SharedBytes, chain: UInt32) {
        precondition(hasRoom(for: statement, chain: chain), "a user's statement is taken for which there is no room")
        all.append(Kept(chain: chain, bytes: statement))
        byteCount += statement.count
        if chain > chainCount { (chainCount, current) = (chain, chain) }
    }

    /// Makes another chain the one of the user's keys; returns false if there is none of the number, or it is that.
    mutating func select(_ chain: UInt32) -> Bool {
        guard chain >= 1, chain <= chainCount, chain != current else { return false }
        current = chain
        return true
    }

    /// Those behind a number, the first in front, as many as fit into so many bytes; one at least where there are any.
    package func page(after number: UInt32, bytes limit: Int) -> [SharedBytes] {
        guard number < last else { return [] }
        var page: [SharedBytes] = []
        var bytes = 0
        for kept in all[Int(number)...] {
            bytes += kept.bytes.count
            if !page.isEmpty, bytes > limit { break }
            page.append(kept.bytes)
        }
        return page
    }
}
