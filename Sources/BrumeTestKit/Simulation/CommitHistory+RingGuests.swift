internal import BrumeEncryption
internal import BrumeModel

/// What is kept beside rings of users who do not own the zone (I19): statements of theirs that follow one another, and
/// guests who take part and had the link that they say they had; and rings take in nobody by keys that were replaced.
extension CommitHistory {
    /// That a device sends something that may be kept beside the rings of a zone.
    struct SentBesideRings: Hashable {
        let device: [UInt8]
        let database: DatabaseID
        let zone: String
        /// A statement, or the root that a guest asks for with the invitation's id.
        let content: [UInt8]

        static func asking(_ root: String, _ invitationID: [UInt8]) -> [UInt8] {
            Array("guest ".utf8) + Array(root.utf8) + [0] + invitationID
        }
    }

    /// Takes a commit's change beside rings; returns what is wrong with it.
    func take(besideRings change: Change, of entry: JournalEntry, into state: inout State) -> String? {
        switch change {
        case .ringStatement(let zone, let user, let number, let chain, let bytes):
            guard var kept = state.rings[zone], number == (kept.statements[user] ?? []).count + 1 else {
                return "I3: statement \(number) is kept beside no ring, or in another place"
            }
            if !wasSent(bytes.array, beside: zone, entry, state) {
                return "I11: statement \(number) of \(user) is kept beside a ring, and no device sent it"
            }
            if !follows(bytes, of: user, chain, in: kept) {
                fail("I19: statement \(number) is kept beside a ring, and follows none of \(user)'s")
            }
            if chain > kept.chainCount(of: user) { kept.chains[user] = chain }
            kept.statements[user, default: []].append(.init(chain: chain, bytes: bytes))
            state.rings[zone] = kept
        case .ringChain(let zone, let user, let chain):
            let count = state.rings[zone]?.chainCount(of: user) ?? 0
            guard chain >= 1, chain <= count, state.rings[zone]?.chains[user] != chain else {
                return "I3: chain \(chain) of \(user) becomes that of their keys, and is it or is none"
            }
            state.rings[zone]!.chains[user] = chain
            state.rings[zone]!.selections[user, default: 0] += 1
            ringFacts.ringCounts.selections += 1
        case .ringGuest(let zone, let root, let guest):
            if !wasSent(SentBesideRings.asking(root, guest.invitationID), beside: zone, entry, state) {
                return "I11: \(guest.user) is a guest of a ring, and has not asked for that"
            }
            if state.rings[zone]?.entries[root] == nil { return "I3: \(guest.user) is a guest of no ring" }
            state.rings[zone]!.guests[root, default: [:]][guest.user] = guest
        case .ringGuestEnd(let zone, let root, let user):
            guard state.rings[zone]?.guests[root]?.removeValue(forKey: user) != nil else {
                return "I3: \(user) is no guest any more of a ring, and was none"
            }
        case .ringUsersUnnamed(let zone, let users):
            for user in users {
                guard state.rings[zone]?.statements[user] != nil, state.rings[zone]!.unnamed.insert(user).inserted
                else { return "I3: no ring names \(user), of whom nothing is kept or that is known" }
            }
        case .ringUsersNamed(let zone, let users):
            for user in users where state.rings[zone]?.unnamed.remove(user) == nil {
                return "I3: a ring names \(user), and it is known that one does"
            }
        case .ringUsersEnd(let zone, let users):
            for user in users {
                guard state.rings[zone]?.statements.removeValue(forKey: user) != nil else {
                    return "I3: statements of \(user) go, and there are none"
                }
                state.rings[zone]!.unnamed.remove(user)
                state.rings[zone]!.chains[user] = nil
                for root in Array(state.rings[zone]!.guests.keys) { state.rings[zone]!.guests[root]![user] = nil }
            }
        default: preconditionFailure("the change is none beside rings")
        }
        return nil
    }

    private func wasSent(_ content: [UInt8], beside zone: UInt64, _ entry: JournalEntry, _ state: State) -> Bool {
        guard let name = state.name(of: zone) else { return false }
        return (ringFacts.sentBesideRings[content] ?? []).contains { sent in
            sent.database == entry.database && sent.zone == name
                && mayCommit(sent.device, sequence: entry.sequence, in: entry.database)
        }
    }

    /// Whether a statement is the user's own, and the first of their next chain or stands behind the last of one.
    private func follows(_ bytes: SharedBytes, of user: String, _ chain: UInt32, in kept: KeptRings) -> Bool {
        guard let statement = read(bytes), statement.scope.account == user, sentStatements[bytes.array] != nil else {
            return false
        }
        guard let last = kept.chain(chain, of: user).last.flatMap(read) else {
            return statement.number == 1 && chain == kept.chainCount(of: user) + 1
        }
        return statement.number == last.number + 1 && statement.previousHash == last.hash
    }

    /// What is wrong with what a commit did to rings, as it left all of it; nil for nothing.
    func problemWithRings(of entry: JournalEntry, before: State, after: State) -> String? {
        for change in entry.changes {
            switch change {
            case .ringEntry(let zone, let root, let number, let signed):
                guard let kept = after.rings[zone], let outline = outline(of: signed) else { continue }
                for member in outline.others
                where !hasNewestKeys(member.statementHash, kept.currentChain(of: member.user)) {
                    return "I19: entry \(number) of ring '\(root)' names other keys of \(member.user) than the newest"
                }
                if isDue(signed, after.statements) { return "I19: entry \(number) names old keys of the owner" }
                if let member = outline.others.first(where: { kept.unnamed.contains($0.user) }) {
                    return "I19: entry \(number) names \(member.user), whose statements may go all the same"
                }
            case .ringStatement(let zone, let user, number: 1, _, _):
                guard let kept = after.rings[zone], !kept.unnamed.contains(user) else { continue }
                if !isNamed(user, in: kept) {
                    return "I19: statements of \(user) stay beside a ring for good, and no ring names them"
                }
            case .ringUsersEnd(let zone, let users):
                guard let kept = after.rings[zone], let name = before.name(of: zone) else { continue }
                if let user = users.first(where: { before.start(of: $0, in: name) != nil || isNamed($0, in: kept) }) {
                    return "I19: statements of \(user) go, who takes part or whom a ring names"
                }
            case .ringGuest(let zone, let root, let guest):
                guard let kept = after.rings[zone], let name = after.name(of: zone) else { continue }
                if kept.currentChain(of: guest.user).last.flatMap(Self.hash) != guest.statementHash {
                    return "I19: \(guest.user) is a guest with another statement than their last one"
                }
                if !before.takesPart(guest.user, in: name, root: root) {
                    return "I19: \(guest.user) is a guest of ring '\(root)', and takes no part there"
                }
                if !hasLink(guest, before.ring(of: name, root: root).last) {
                    return "I19: \(guest.user) is a guest of ring '\(root)' with a proof that is none"
                }
                if let problem = problem(with: guest, ofRing: root, in: name, entry, before) { return problem }
            case .ringGuestEnd(let zone, let root, let user):
                guard let name = after.name(of: zone), let last = after.ring(of: name, root: root).last else {
                    continue
                }
                let isMember = outline(of: last)?.others.contains { $0.user == user } ?? false
                if isMember, case .ringEntry? = entry.changes.first { ringFacts.ringCounts.guestsTakenIn += 1 }
                if !isMember, after.takesPart(user, in: name, root: root) {
                    return "I19: \(user) is no guest of ring '\(root)' any more, and was not taken in"
                }
            default: break
            }
        }
        return nil
    }

    /// Whether an entry of any ring of a zone names a user.
    private func isNamed(_ user: String, in kept: KeptRings) -> Bool {
        kept.entries.values.joined().contains { outline(of: $0)?.others.contains { $0.user == user } ?? false }
    }

    /// What is wrong with what a guest's request replaces, and with who is told of it: a proof that holds is not taken
    /// back, and the root is fetched again for those alone who could not be taken in before.
    private func problem(
        with guest: RingGuest, ofRing root: String, in zone: String, _ entry: JournalEntry, _ before: State
    ) -> String? {
        let former = before.rings(of: zone).guests[root]?[guest.user]
        if guest.proof.isEmpty, let former, former.statementHash == guest.statementHash,
            hasProof(former, before.ring(of: zone, root: root).last)
        {
            return "I19: \(guest.user), a guest of ring '\(root)', asked again, and has lost a proof"
        }
        let hasRoot = before.zones[zone]?.records[root.isEmpty ? Names.zoneShare : root] != nil
        let isNews = hasRoot && former.map { $0.proof.isEmpty && !guest.proof.isEmpty } ?? true
        let isTold = entry.changes.contains { if case .recordPut = $0 { true } else { false } }
        if isTold != isNews {
            let told = isTold ? "fetched again" : "not fetched again"
            return "I19: \(guest.user) is a guest of ring '\(root)', and its root is \(told)"
        }
        return nil
    }

    /// Whether a guest has a proof, and it is of an invitation of an entry.
    func hasProof(_ guest: RingGuest, _ entry: SharedBytes?) -> Bool { !guest.proof.isEmpty && hasLink(guest, entry) }

    /// Whether a guest's proof is of an invitation of an entry, or they have none.
    func hasLink(_ guest: RingGuest, _ entry: SharedBytes?) -> Bool {
        if guest.proof.isEmpty { return true }
        guard let entry = entry.flatMap({ try? SignedRingEntry($0.array) })?.entry else { return false }
        let joining = RingMember.Joining(invitationID: guest.invitationID, proof: guest.proof)
        return (try? entry.check(joining, ofGuest: guest.user, statementHash: guest.statementHash)) != nil
    }

    /// Whether a statement of a chain has the keys of its last one.
    func hasNewestKeys(_ hash: [UInt8], _ chain: [SharedBytes]) -> Bool {
        let all = chain.compactMap(read)
        guard let last = all.last, let found = all.first(where: { $0.hash == hash }) else { return false }
        return found.keys == last.keys
    }

    /// A statement that was kept; nil for what is none.
    func read(_ bytes: SharedBytes) -> Statement? {
        if let known = ringFacts.readStatements[bytes.array] { return known }
        let statement = try? Statement(kept: bytes.array)
        ringFacts.readStatements[bytes.array] = statement
        return statement
    }
}
