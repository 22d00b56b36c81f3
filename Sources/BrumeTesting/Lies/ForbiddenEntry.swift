internal import BrumeEncryption
internal import BrumeKit
internal import BrumeModel
internal import BrumeServer

/// An entry of a ring that an account has made which may not.
struct ForbiddenEntry {
    let number: UInt32
    let bytes: SharedBytes
    /// The user who has signed it.
    let author: String
    /// What the author has signed of their own keys.
    let statements: [SharedBytes]
}

extension TestServer {
    /// The entry that would be the next one of a ring, as a device makes it whose account may not: with the members of
    /// the last one, and with the account among them.
    ///
    /// - Parameter owner: The user record name of the ring's owner.
    /// - Throws: ``TestServerError`` where the account may make it.
    func forbiddenEntry(of ring: ToldRing, owner: String, by device: TestDevice) async throws -> ForbiddenEntry {
        guard let user = device.account?.userRecordID.recordName,
            let identity = try await device.container.encryptionIdentity()
        else { throw TestServerError("\(device) has no keys with which it could make others") }
        let entries = try await ringEntries(of: ring.root, in: ring.zone, database(.private, owner: owner))
        guard !entries.isEmpty else { throw TestServerError("\(ring.zone) has no keys after which a lie could come") }
        do {
            let chain = RingChain(kept: try entries.map { try SignedRingEntry($0.array) })
            let users = Set(chain.entries.flatMap { $0.entry.members.map(\.user) } + [user])
            var (known, own) = (StatementDirectory(), [SharedBytes]())
            for member in users {
                let stored = try await contents(database(.private, owner: member)).statements
                if member == user { own = stored }
                let statements = try stored.map { try SignedStatement($0.array).statement }
                if !statements.isEmpty { known.add(StatementChain(kept: statements)) }
            }
            var draft = RingDraft(after: chain.head, statements: known)
            if !draft.members.contains(where: { $0.user == user }) {
                draft.members.append(RingMember(user: user, statementHash: identity.statement.hash, role: .writer))
            }
            let entry = try RingAuthor(user: user, identity: identity.keys, statements: known)
                .entry(after: chain, keys: chain.keys(of: identity), draft)
            var longer = chain
            if (try? longer.append(entry, statements: known)) != nil {
                throw TestServerError("\(device) may make keys of \(ring.zone), and there is nothing to lie about")
            }
            return ForbiddenEntry(
                number: entry.entry.number, bytes: SharedBytes(entry.bytes), author: user, statements: own)
        } catch let refusal as EncryptionRefusal {
            throw TestServerError("an entry of \(device) can't be made: \(refusal)")
        }
    }
}
