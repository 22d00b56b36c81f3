internal import BrumeEncryption
internal import BrumeModel

/// Who has keys of which zone, as it went to the journal.
extension CommitHistory {
    /// An entry of a ring as a device sent it.
    struct SentRingEntry {
        let device: [UInt8]
        let database: DatabaseID
        let author: String
        let zone: String
        let root: String
        /// The last one that the device knew.
        let behind: SharedBytes?
    }

    /// What devices sent of rings, and what was read of it.
    struct RingFacts {
        /// The entries of rings that devices sent.
        var sentRingEntries: [[UInt8]: SentRingEntry] = [:]
        /// What devices sent that may be kept beside rings, by what it was.
        var sentBesideRings: [[UInt8]: Set<SentBesideRings>] = [:]
        /// What rings' entries say.
        var outlines: [[UInt8]: RingOutline] = [:]
        /// Statements as they were read.
        var readStatements: [[UInt8]: Statement] = [:]
        /// Whether entries of rings were due behind statements.
        var dueEntries: [EntryAndStatement: Bool] = [:]
        /// Whether rings leave assets plain, by their first entries.
        var plainAssetRings: [[UInt8]: Bool] = [:]
        var ringCounts = RingCounts()
    }

    /// What commits did to rings that have other members than their owners.
    struct RingCounts {
        /// Entries that others than the owner made.
        var entriesOfOthers = 0
        var guestsTakenIn = 0
        /// How often users went back to an earlier chain of their statements.
        var selections = 0
        /// Entries that a member of the one before is not in.
        var entriesThatDropped = 0
    }

    /// Takes a commit's change of a ring; returns what is wrong with it.
    func take(ring change: Change, of entry: JournalEntry, into state: inout State) -> String? {
        switch change {
        case .ringEntry(let zone, let root, let number, let signed):
            let ring = state.rings[zone]?.entries[root] ?? []
            guard number == ring.count + 1 else { return "I3: entry \(number) of a ring is kept behind \(ring.count)" }
            guard let sent = ringFacts.sentRingEntries[signed.array], sent.behind == ring.last, sent.root == root,
                sent.zone == state.name(of: zone), sent.database == entry.database,
                mayCommit(sent.device, sequence: entry.sequence, in: entry.database)
            else { return "I11: entry \(number) of a ring is kept where no device meant it to stand" }
            if sent.author != entry.database.owner {
                ringFacts.ringCounts.entriesOfOthers += 1
                if !state.mayWrite(sent.author, in: sent.zone, root: root) {
                    fail("I19: entry \(number) of a ring is \(sent.author)'s, who may not write there")
                }
            }
            let users = Set(outline(of: signed)?.others.map(\.user) ?? [])
            let former = Set(ring.last.flatMap(outline)?.others.map(\.user) ?? [])
            if !former.isSubset(of: users) { ringFacts.ringCounts.entriesThatDropped += 1 }
            state.rings[zone, default: KeptRings()].entries[root, default: []].append(signed)
            state.rings[zone]!.selections = [:]
        case .ringsEnd(let zone):
            if state.rings.removeValue(forKey: zone) == nil { return "I3: rings go where there are none" }
        default: preconditionFailure("the change is none of rings")
        }
        return nil
    }

    /// The device that made the entry of a ring which a commit keeps; empty for any other commit.
    func originOfRingEntry(in entry: JournalEntry) -> [UInt8] {
        guard case .ringEntry(_, _, _, let signed)? = entry.changes.first else { return [] }
        return ringFacts.sentRingEntries[signed.array]?.device ?? []
    }

    /// What the entry of a ring says; nil for what is none.
    func outline(of entry: SharedBytes) -> RingOutline? {
        if let known = ringFacts.outlines[entry.array] { return known }
        let outline = try? RingOutline(kept: entry.array)
        ringFacts.outlines[entry.array] = outline
        return outline
    }

    /// The root of the shared tree whose ring has keys for values with that tree id; nil where no ring has.
    func root(of tree: EncryptedHeader.TreeID, in kept: KeptRings) -> String? {
        guard let place = kept.entries[""]?.first.flatMap(outline)?.ring.place else { return nil }
        return kept.entries.keys.first { root in
            !root.isEmpty && EncryptedHeader.TreeID(Tree(place: place, root: root, kind: .isShared).id) == tree
        }
    }

    // MARK: What is told

    /// What a caller has to be told who asks for all of a ring; nil where the zone does not exist for them.
    ///
    /// - Parameter user: The caller, where that is not the zone's owner.
    func ringPage(of zone: String, root: String, in state: State, of owner: String, to user: String?) -> RingPage? {
        guard state.zones[zone] != nil, user.map({ state.start(of: $0, in: zone) != nil }) ?? true else { return nil }
        let entries = state.ring(of: zone, root: root)
        let mayLearn = user.map { state.mayLearn($0, ofRing: root, in: zone) } ?? true
        guard mayLearn, let last = entries.last.flatMap(outline) else { return RingPage(entries: [], last: 0) }
        let kept = state.rings(of: zone)
        var page = RingPage(entries: entries, last: UInt32(entries.count))
        page.departed = last.others.map(\.user).filter { !state.takesPart($0, in: zone, root: root) }
        page.renewed = last.others.filter { !hasNewestKeys($0.statementHash, kept.currentChain(of: $0.user)) }
            .map(\.user)
        if isDue(entries.last!, state.statements) { page.renewed.insert(owner, at: 0) }
        page.guests = (kept.guests[root] ?? [:]).values.sorted { $0.user < $1.user }.filter { guest in
            state.takesPart(guest.user, in: zone, root: root) && !isTakenIn(guest, by: last, kept)
        }
        // A share shows its participants to those who manage it: others are told of nobody else who asks.
        let isAuthor = user.map { user in last.others.contains { $0.user == user && $0.isAuthor } } ?? true
        if !isAuthor { page.guests.removeAll { $0.user != user } }
        for index in page.guests.indices {
            page.guests[index].mayWrite = state.mayWrite(page.guests[index].user, in: zone, root: root)
        }
        return page
    }

    /// Whether the member of an entry that a guest is has the keys with which they asked, or newer ones.
    func isTakenIn(_ guest: RingGuest, by entry: RingOutline, _ kept: KeptRings) -> Bool {
        guard let hash = entry.others.first(where: { $0.user == guest.user })?.statementHash else { return false }
        return kept.chains(of: guest.user).contains { chain in
            let all = chain.compactMap(read)
            guard let index = all.firstIndex(where: { $0.hash == hash }),
                let asked = all.firstIndex(where: { $0.hash == guest.statementHash })
            else { return false }
            return index >= asked || all[index].keys == all[asked].keys
        }
    }

    /// What a caller has to be told who asks for a user's statements beside the rings of a zone; nil where that does
    /// not exist for them.
    func ringStatements(
        of other: String, beside zone: String, in state: State, of owner: String, to user: String?
    ) -> [SharedBytes]? {
        guard state.zones[zone] != nil, user.map({ state.start(of: $0, in: zone) != nil }) ?? true else { return nil }
        if let user, !state.mayLearn(user, ofAnyRingIn: zone) { return [] }
        return other == owner ? state.statements : (state.rings(of: zone).statements[other] ?? []).map(\.bytes)
    }
}
