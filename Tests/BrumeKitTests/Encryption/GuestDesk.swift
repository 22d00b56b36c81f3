import BrumeEncryption
import BrumeModel

@testable import BrumeKit

/// A server that has one ring of a shared zone, and the accounts that may take part in it, for tests that lie with it.
final class GuestDesk {
    static let (container, environment) = ("iCloud.test", "development")

    static func scope(of user: String) -> IdentityScope {
        IdentityScope(account: user, container: container, environment: environment)
    }

    let owner = "_ada"
    let zone = "Diary"
    /// The record name of the tree's root; empty for the zone's own ring.
    let root: String
    var entries: [SharedBytes] = []
    /// By user record names; the owner's, too.
    var statements: [String: [SignedStatement]] = [:]
    /// Those of users who began anew.
    var formerStatements: [String: [SignedStatement]] = [:]
    var guests: [String: RingGuest] = [:]
    /// The users who take part in the share.
    var participants: Set<String> = []
    /// Those of them who may change records.
    var writers: Set<String> = []
    /// Whether it takes no entry that is signed with keys which its author has replaced.
    var refusesFormerKeys = false
    /// Whether it lets nobody ask to be taken in.
    var refusesGuests = false
    /// What a lying server makes of a page.
    var lie: ((inout RingPage) -> Void)?
    private(set) var fetchCount = 0

    init(root: String) { self.root = root }

    func page(after number: UInt32) throws -> RingPage {
        fetchCount += 1
        var page = RingPage(entries: Array(entries.dropFirst(Int(number))), last: UInt32(entries.count))
        let members = try entries.last.map { try SignedRingEntry($0.array).entry.members } ?? []
        page.departed = members.map(\.user).filter { $0 != owner && !participants.contains($0) }
        page.renewed = members.filter { member in
            let statements = (self.statements[member.user] ?? []).map(\.statement)
            let named = statements.first { $0.hash == member.statementHash }
            return named?.keys != statements.last?.keys
        }.map(\.user)
        page.guests = guests.values.filter { participants.contains($0.user) }.sorted { $0.user < $1.user }
        for index in page.guests.indices { page.guests[index].mayWrite = writers.contains(page.guests[index].user) }
        lie?(&page)
        return page
    }

    /// Whether an entry is there now: checked as a server does.
    func append(_ bytes: SharedBytes, _ given: [SharedBytes]) throws -> Bool {
        do throws(EncryptionRefusal) {
            let signed = try SignedRingEntry(bytes.array)
            let entry = signed.entry
            if entry.number <= entries.count { return entries[Int(entry.number) - 1] == bytes }
            for statement in given {
                let next = try SignedStatement(statement.array)
                let user = next.statement.scope.account
                let known = statements[user] ?? []
                if next.statement.number == known.count + 1 { statements[user] = known + [next] }
            }
            let directory = try directory()
            if refusesFormerKeys, let keys = statements[entry.author]?.last?.statement.keys {
                try signed.checkSignature(by: keys)
            }
            for member in entry.members {
                let standing = directory.standing(of: member.user, hash: member.statementHash, in: entry.ring.place)
                guard standing?.hasNewestKeys == true else { return false }
            }
            if let last = entries.last {
                var chain = try RingChain(keptLast: last.array, byteCount: entries.reduce(0) { $0 + $1.count })
                try chain.append(signed, statements: directory)
            } else {
                _ = try RingChain(first: signed, of: entry.ring, statements: directory)
            }
            entries.append(bytes)
            for member in entry.members { guests[member.user] = nil }
            return true
        } catch {
            return false
        }
    }

    private func directory() throws(EncryptionRefusal) -> StatementDirectory {
        var directory = StatementDirectory()
        for statements in statements.values where !statements.isEmpty {
            directory.add(StatementChain(kept: statements.map(\.statement)))
        }
        for statements in formerStatements.values { directory.add(StatementChain(kept: statements.map(\.statement))) }
        return directory
    }
}
