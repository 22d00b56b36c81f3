import BrumeEncryption
import BrumeModel

@testable import BrumeKit

/// The ring of one zone as a server has it, beside the account's statements.
///
/// `@unchecked Sendable`: one test has it.
final class RingDesk: @unchecked Sendable {
    let statements = StatementDesk()
    let zone = "Diary"
    var entries: [SharedBytes] = []
    /// Pages are small, so that there are some.
    var entriesPerPage = 2
    /// Comes between a fetch and the entry that follows it: another device is faster.
    var isOvertakenBy: (() throws -> Void)?
    /// What a lying server makes of a page.
    var lie: ((inout RingPage) -> Void)?
    private(set) var fetchCount = 0

    var steps: Steps { statements.steps }
    var scope: IdentityScope { statements.scope }
    var signed: [SignedRingEntry] { get throws { try entries.map { try SignedRingEntry($0.array) } } }

    func fetch(after number: UInt32) throws -> RingPage {
        if steps.next() != nil { throw Steps.Broken() }
        fetchCount += 1
        var page = RingPage(
            entries: Array(entries.dropFirst(Int(number)).prefix(entriesPerPage)), last: UInt32(entries.count))
        lie?(&page)
        return page
    }

    /// Whether an entry is there now; false where it was refused.
    func append(_ entry: SharedBytes) throws -> Bool {
        if let overtake = isOvertakenBy {
            isOvertakenBy = nil
            try overtake()
        }
        let fault = steps.next()
        if let fault, fault != .after { throw Steps.Broken() }
        let isTaken = take(entry)
        if fault != nil { throw Steps.Broken() }
        return isTaken
    }

    /// Checks what a server does: the place, the number, and that the keys are the account's newest.
    private func take(_ bytes: SharedBytes) -> Bool {
        do throws(EncryptionRefusal) {
            let signed = try SignedRingEntry(bytes.array)
            let entry = signed.entry
            let number = Int(entry.number)
            let place = entry.ring.place
            guard place.container == scope.container, place.environment == scope.environment, entry.ring.root == nil,
                place.owner == scope.account, place.zone == zone
            else { return false }
            if number <= entries.count, entries[number - 1] == bytes { return true }
            guard number == entries.count + 1, !statements.statements.isEmpty else { return false }
            var kept: [Statement] = []
            for bytes in statements.statements { kept.append(try SignedStatement(bytes.array).statement) }
            let owners = StatementChain(kept: kept)
            try signed.checkSignature(by: owners.last.keys)
            let owner = entry.member(named: scope.account)
            guard let named = owner.flatMap({ owners.statement(of: $0.statementHash) }), named.keys == owners.last.keys
            else { return false }
            var directory = StatementDirectory()
            directory.add(owners)
            if let last = entries.last {
                var chain = try RingChain(keptLast: last.array, byteCount: entries.reduce(0) { $0 + $1.count })
                try chain.append(signed, statements: directory)
            } else {
                _ = try RingChain(first: signed, of: entry.ring, statements: directory)
            }
            entries.append(bytes)
            return true
        } catch {
            return false
        }
    }
}
