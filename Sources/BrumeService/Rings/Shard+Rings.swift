internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// Who has keys of a zone's encrypted values. The server keeps the entries of rings in order, and takes none that
/// devices would refuse: a ring ends with such a one.
///
/// Whoever may learn of a ring may bring its next entry: who made it its signature says, and devices of members give
/// back what a server lost.
extension Shard {
    /// Keeps the next entry of a ring, and with it the statements of its members that come along.
    func append(
        _ request: AppendRingEntryRequest, to loaded: LoadedDatabase, caller: Caller, identity: Identity,
        share: ClientShare
    ) throws(ServiceError) -> Answer {
        let database = loaded.database
        let zone = try database.zone(request.zone, for: caller).get().id
        let signed: SignedRingEntry
        do throws(EncryptionRefusal) {
            signed = try SignedRingEntry(request.entry.array)
        } catch {
            throw Self.refusal(ofRingEntry: error)
        }
        let entry = signed.entry
        guard entry.ring.place.isOf(request.zone, in: database.id) else { throw Self.isOfAnotherPlace }
        let (number, root) = (entry.number, entry.ring.root ?? "")
        guard database.mayLearn(ofRing: root, inZone: request.zone, caller),
            let incarnation = database.incarnation(of: request.zone, for: caller)
        else { throw Self.hasNoRing }
        let ring = try database.ring(root, ofZone: request.zone, for: caller)
        if ring[number] == request.entry { return .ringEntryAppended }
        let chain = try chain(of: ring)
        let quota = server.quota(of: loaded, for: identity, share.key)
        let takesKeys = entry.takesKeys(behind: chain?.head)
        let refusal = database.refusal(
            ofRingEntry: request.entry, number: number, root: root, in: ring, quota: quota, takesKeys: takesKeys)
        if let refusal { throw refusal }
        var check = RingEntryCheck(signed, in: loaded, zone: incarnation, broughtBy: caller.user)
        try check.run(request.statements, behind: chain, on: self)
        if !root.isEmpty {
            // Whoever made the entry learns no more of the zone's ring than its owner, who alone names another key.
            let zone = try self.chain(of: database.rings.ring(ofZone: incarnation, root: ""))
            guard let head = zone?.head, entry.isOfTree(inZoneOf: head) else { throw Self.isNotOfZone }
        }
        let others = try check.others(ofRing: root, on: self)
        let commit = try database.append(
            ringEntry: request.entry, number: number, root: root, zone: zone, quota: quota, takesKeys: takesKeys,
            with: others, nowMilliseconds: wallClockMilliseconds)
        if let commit {
            let origin = ChangeOrigin(identity, in: database.id)
            guard append(commit, to: loaded, origin: origin, by: share) else { throw .databaseLost }
        }
        return .ringEntryAppended
    }

    /// The end of a ring, which the next entry is checked against; nil where there is no ring yet.
    func chain(of ring: KeyRing) throws(ServiceError) -> RingChain? {
        guard let last = ring[ring.last] else { return nil }
        return try readKept("a ring") { () throws(EncryptionRefusal) in
            try RingChain(keptLast: last.array, byteCount: ring.byteCount)
        }
    }

    private static let isOfAnotherPlace = ServiceError(
        .invalidArguments,
        "the entry is of another account, container, environment or zone than this connection and request")
    private static let isNotOfZone = ServiceError(
        .invalidArguments,
        "the entry's zone has no ring, or one of another id, scope or policy for assets, or keys older than it names;"
            + " fetch the zone's ring")
    /// The same for a ring of which the caller may not learn.
    static let hasNoRing = ServiceError(
        .invalidArguments, "there is no ring of this name that the user may take part in; fetch the zone's shares")

    static func refusal(ofRingEntry refusal: EncryptionRefusal) -> ServiceError {
        let problem =
            switch refusal {
            case .newer: "a ring's entry has a format that this server doesn't know; update the server"
            case .badSignature: "a ring's entry is not signed by the keys of its author, or a join proof is wrong"
            case .brokenChain:
                "a ring's entry does not follow the last one, or names somebody whose statements the server doesn't"
                    + " have; fetch all, and compare them with those that you know"
            case .notAllowed: "a ring's entry changes what its author may not change"
            default: "a ring's entry is damaged"
            }
        return ServiceError(.invalidArguments, problem)
    }
}

extension Place {
    /// Whether it is a zone in a private database.
    fileprivate func isOf(_ zone: ZoneID, in database: DatabaseID) -> Bool {
        container == database.container && environment == database.environment.name && owner == database.owner
            && self.zone == zone.name
    }
}

extension RingEntry {
    /// Whether it takes keys from somebody, from whoever has a link or somebody's old keys: no quota keeps that from
    /// being done.
    ///
    /// A member's newer statement with the same keys counts as well. To tell them apart, statements would have to be
    /// read before the entry's signature is checked, and nothing is gained: whoever makes entries can drop links as
    /// well, and ``Limits/ringReserveBytes`` bounds what all of these entries take.
    fileprivate func takesKeys(behind before: RingEntry?) -> Bool {
        guard let before else { return false }
        return isClosed && !before.isClosed
            || before.members.contains { member(named: $0.user)?.statementHash != $0.statementHash }
            || before.invitations.contains { !invitations.contains($0) }
    }

    /// Whether it is of a tree in the zone whose ring has that head.
    fileprivate func isOfTree(inZoneOf head: RingEntry) -> Bool {
        ring.place == head.ring.place && !head.isPerZone && hasPlainAssets == head.hasPlainAssets
            && zoneKeyNumber <= head.number
    }
}
