internal import BrumeEncryption
internal import BrumeModel

extension CommitHistory {
    /// The rings of one zone, and what is kept beside them of users who do not own it, written plainly.
    struct KeptRings: Equatable {
        struct KeptStatement: Equatable {
            /// The number of the user's chain that it is of, from 1.
            let chain: UInt32
            let bytes: SharedBytes
        }

        /// By the record names of the trees' roots; the zone's own ring has the empty name.
        var entries: [String: [SharedBytes]] = [:]
        /// By user, in the order in which they were kept.
        var statements: [String: [KeptStatement]] = [:]
        /// The numbers of the chains of the keys that users have now.
        var chains: [String: UInt32] = [:]
        /// How often users went back to an earlier chain since the last entry of any of the rings.
        var selections: [String: Int] = [:]
        /// The users with statements whom no entry of the rings has named.
        var unnamed: Set<String> = []
        /// Requests of guests to be taken in, by ring and user.
        var guests: [String: [String: RingGuest]] = [:]

        func chainCount(of user: String) -> UInt32 { (statements[user] ?? []).map(\.chain).max() ?? 0 }

        func chain(_ number: UInt32, of user: String) -> [SharedBytes] {
            (statements[user] ?? []).filter { $0.chain == number }.map(\.bytes)
        }

        func chains(of user: String) -> [[SharedBytes]] { (0..<chainCount(of: user)).map { chain($0 + 1, of: user) } }

        /// The statements of the keys that a user has now.
        func currentChain(of user: String) -> [SharedBytes] { chain(chains[user] ?? 0, of: user) }
    }
}

extension CommitHistory.State {
    /// The rings of a zone; none where there is no zone.
    func rings(of zone: String) -> CommitHistory.KeptRings { zones[zone].flatMap { rings[$0.incarnation] } ?? .init() }

    /// The entries of a ring; by default of the zone's own.
    func ring(of zone: String, root: String = "") -> [SharedBytes] { rings(of: zone).entries[root] ?? [] }

    /// The records of a zone that are roots of shares.
    func sharedRoots(of zone: String) -> [String] {
        (zones[zone]?.records ?? [:]).filter { $0.value.record.share != nil }.keys.sorted()
    }

    /// Whether a user other than the owner has accepted the zone's share, or that of which a ring's root is the root.
    func takesPart(_ user: String, in zone: String, root: String) -> Bool {
        participant(user, in: zone, root: root) != nil
    }

    /// Whether such a user may change records by that share.
    func mayWrite(_ user: String, in zone: String, root: String) -> Bool {
        participant(user, in: zone, root: root)?.permission == .readWrite
    }

    private func participant(_ user: String, in zone: String, root: String) -> ShareParticipant? {
        guard let records = zones[zone]?.records else { return nil }
        return records[Names.zoneShare]?.share?.participant(ofUser: user)
            ?? records[root]?.record.share.flatMap { records[$0]?.share }?.participant(ofUser: user)
    }

    /// Whether a record is in a shared tree whose ring is open, or comes into one by its parent: values of the zone's
    /// key are of no use there to those with whom the tree is shared.
    ///
    /// - Parameter parent: As it will be; nil for none.
    func isInOpenTree(_ name: String, parent: String?, of zone: String, _ history: CommitHistory) -> Bool {
        guard let kept = zones[zone] else { return false }
        let isRoot = kept.records[name]?.record.share != nil
        guard let root = isRoot ? name : parent.flatMap({ kept.root(ofTreeOver: $0) }),
            let last = ring(of: zone, root: root).last.flatMap(history.outline)
        else { return false }
        return !last.isClosed
    }

    /// Whether a user may be told of a ring: those with whom records are shared only of trees whose root they see.
    func mayLearn(_ user: String, ofRing root: String, in zone: String) -> Bool {
        guard let kept = zones[zone] else { return false }
        if kept.records[Names.zoneShare]?.share?.participant(ofUser: user) != nil { return true }
        return !root.isEmpty && kept.permission(of: user, root) != nil
    }

    /// Whether a user may be told of any ring of a zone, and so of the statements beside them all.
    func mayLearn(_ user: String, ofAnyRingIn zone: String) -> Bool {
        if zones[zone]?.records[Names.zoneShare]?.share?.participant(ofUser: user) != nil { return true }
        return rings(of: zone).entries.keys.contains { !$0.isEmpty && takesPart(user, in: zone, root: $0) }
    }
}
