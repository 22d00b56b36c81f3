internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// Who has keys of a zone's encrypted values. The server keeps the entries of rings in order, and takes none that
/// devices would refuse: a ring ends with such a one.
extension Shard {
    /// Keeps the next entry of a ring in a zone of the caller's private database.
    func append(
        _ request: AppendRingEntryRequest, to loaded: LoadedDatabase, identity: Identity, share: ClientShare
    ) throws(ServiceError) -> Answer {
        let database = loaded.database
        let signed: SignedRingEntry
        do throws(EncryptionRefusal) {
            signed = try SignedRingEntry(request.entry.array)
        } catch {
            throw Self.refusal(ofRingEntry: error)
        }
        let entry = signed.entry
        guard entry.ring.place.isOf(request.zone, identity) else { throw Self.isOfAnotherPlace }
        let (number, root) = (entry.number, entry.ring.root ?? "")
        let ring = try database.ring(of: request.zone, root: root)
        if ring[number] == request.entry { return .ringEntryAppended }
        let chain = try chain(of: ring)
        let quota = server.quota(of: loaded, for: identity, share.key)
        let takesKeys = entry.takesKeys(behind: chain?.head)
        let refusal = database.refusal(
            ofRingEntry: request.entry, number: number, root: root, in: ring, quota: quota, takesKeys: takesKeys)
        if let refusal { throw refusal }
        if root.isEmpty {
            try check(signed, behind: chain, in: loaded, identity: identity)
        } else {
            let zone = try self.chain(of: database.ring(of: request.zone, root: ""))
            guard let head = zone?.head, entry.isOfTree(inZoneOf: head) else { throw Self.isNotOfZone }
            try check(signed, behind: chain, in: loaded, identity: identity)
        }
        let commit = try database.append(
            ringEntry: request.entry, number: number, root: root, zone: request.zone, quota: quota,
            takesKeys: takesKeys, nowMilliseconds: wallClockMilliseconds)
        if let commit {
            let origin = ChangeOrigin(identity, in: database.id)
            guard append(commit, to: loaded, origin: origin, by: share) else { throw .databaseLost }
        }
        return .ringEntryAppended
    }

    /// The end of a ring, which the next entry is checked against; nil where there is no ring yet.
    private func chain(of ring: KeyRing) throws(ServiceError) -> RingChain? {
        guard let last = ring[ring.last] else { return nil }
        return try readKept("a ring") { () throws(EncryptionRefusal) in
            try RingChain(keptLast: last.array, byteCount: ring.byteCount)
        }
    }

    /// Checks that an entry follows the last one, as devices do.
    private func check(
        _ signed: SignedRingEntry, behind chain: RingChain?, in loaded: LoadedDatabase, identity: Identity
    ) throws(ServiceError) {
        let statements = loaded.database.statements
        guard let last = statements[statements.last] else { throw Self.hasNoStatement }
        let newest: (hash: [UInt8], keys: PublicKeys)
        if let known = loaded.ringHeads.knownKeys(of: statements) {
            newest = (known.newestHash, known.newest)
        } else {
            let statement = try readKept("the account's statements") { () throws(EncryptionRefusal) in
                try Statement(kept: last.array)
            }
            newest = (statement.hash, statement.keys)
        }
        let owner = signed.entry.member(named: identity.userRecordName)
        do throws(EncryptionRefusal) {
            // Only whoever has the keys makes the server read all the statements, and once.
            try signed.checkSignature(by: newest.keys)
        } catch {
            throw owner?.statementHash == newest.hash ? Self.refusal(ofRingEntry: error) : Self.statementIsOld
        }
        let owners = try readKept("the account's statements") { () throws(EncryptionRefusal) in
            try loaded.ringHeads.keys(of: statements)!
        }
        // Of a device that was added since, nobody has to know: the keys are the same.
        guard let owner, owners.areNewest(ofStatement: owner.statementHash) else { throw Self.statementIsOld }
        let directory = StatementDirectory(owners)
        do throws(EncryptionRefusal) {
            if var chain {
                try chain.append(signed, statements: directory)
            } else {
                _ = try RingChain(first: signed, of: signed.entry.ring, statements: directory)
            }
        } catch {
            throw Self.refusal(ofRingEntry: error)
        }
    }

    private static let isOfAnotherPlace = ServiceError(
        .invalidArguments,
        "the entry is of another account, container, environment or zone than this connection and request")
    private static let isNotOfZone = ServiceError(
        .invalidArguments,
        "the entry's zone has no ring, or one of another id, scope or policy for assets, or keys older than it names;"
            + " fetch the zone's ring")
    private static let hasNoStatement = ServiceError(
        .invalidArguments, "the account has no statement yet; append the first one before its rings")
    private static let statementIsOld = ServiceError(
        .serverRecordChanged,
        "the entry is not signed with the keys of the account's newest statement, or boxed to others; fetch the"
            + " statements that are new, and make another one")

    private static func refusal(ofRingEntry refusal: EncryptionRefusal) -> ServiceError {
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
    /// Whether it is a zone in whoever's own private database.
    fileprivate func isOf(_ zone: ZoneID, _ identity: Identity) -> Bool {
        container == identity.container && environment == identity.environment.name
            && owner == identity.userRecordName && self.zone == zone.name
    }
}

extension RingEntry {
    /// Whether it takes keys from somebody, from whoever has a link or somebody's old keys: no quota keeps that from
    /// being done.
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
