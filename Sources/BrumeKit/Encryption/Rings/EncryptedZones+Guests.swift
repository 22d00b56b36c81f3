internal import BrumeEncryption

/// Those with whom zones are shared, and their keys.
extension EncryptedZones {
    /// Rings that are looked at for guests because of one answer that does not say whether there are any.
    static let guestLooksMax = 8

    /// Makes a ring of what is shared, or a link in it, for guests; and has members go who are out.
    ///
    /// - Parameters:
    ///   - links: Those that the share is to have: all others end.
    ///   - dropped: Members who go, by their user record names.
    /// - Throws: The same as ``keysForWriting(_:isStale:for:_:)``.
    func share(
        _ ring: ZoneRingID, _ links: WantedLinks, dropping dropped: Set<String> = [], for account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) {
        try await lookAtOwn(
            ZoneRingDriver.Look(goal: .share(links), ring: ring, asksServer: true, dropped: dropped), account, options)
    }

    /// The app is about to take people out of what is shared: until an entry without them stands, nothing is encrypted
    /// with the newest key, whatever becomes of the calls that follow.
    ///
    /// - Returns: What is kept in mind; nil for a ring that is not known, and of which nothing has to be.
    /// - Throws: `internalError` where it can't be kept in mind.
    func willGo(
        _ departures: Departures, from ring: ZoneRingID, for account: AccountBinding
    ) async throws(CKError) -> Removal? {
        // A look that had read the ring before would take its keys for fit for writing behind the note.
        try await turns.run { () async throws(CKError) in
            guard let noted = try await driver.noteRemoval(departures, of: ring, for: account) else { return nil }
            forgetKeys(of: ring)
            return Removal(
                ring: ring, id: noted.id, users: noted.users, staying: departures.staying,
                order: doneRemovals.nextOrder())
        }
    }

    /// The server has done what was kept in mind.
    func areGone(_ removal: Removal) { doneRemovals.note(removal) }

    /// The server has refused to take them out. An entry that has done it already is followed by one with them, but for
    /// those whom another change of the app's has taken out meanwhile.
    func stay(_ removal: Removal, for account: AccountBinding, _ options: CallOptions) async {
        let ring = removal.ring
        try? await driver.forgetRemoval(removal.id, of: ring, for: account)
        guard ring.owner.isEmpty, let head = try? await driver.kept(ring, for: account).known?.chain.head else {
            return
        }
        let out = removal.users.filter { head.member(named: $0) == nil && !doneRemovals.tookOut($0, since: removal) }
        if out.isEmpty { return }
        try? await lookAtOwn(
            ZoneRingDriver.Look(goal: .admit, ring: ring, asksServer: true, returning: out), account, options)
    }

    /// Looks at a ring of the account's own, with the keys of its zone, which are made where there are none.
    func lookAtOwn(
        _ look: ZoneRingDriver.Look, _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        var look = look
        // A zone's own ring that is there needs no other look.
        let isKept = await isKept(look.ring, for: account)
        if look.ring.isOwnTree || !isKept {
            look.zone = try await keysForWriting(zone: look.ring.zone, for: account, options)
        }
        let whole = look
        try await turns.run { () async throws(CKError) in _ = try await self.look(whole, account, options) }
    }

    /// Has all guests and links go of what was shared, where it has a ring.
    ///
    /// - Throws: The same.
    func endShare(
        _ ring: ZoneRingID, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        let kept = try await driver.kept(ring, for: account)
        guard let head = kept.known?.chain.head else { return }
        if head.members.count == 1, head.invitations.isEmpty, kept.removals.isEmpty { return }
        try await share(ring, WantedLinks(isEnd: true), for: account, options)
    }

    /// Whether links of a ring end where it is to have these, as far as this device knows.
    func mayEndLinks(_ ring: ZoneRingID, _ links: WantedLinks, for account: AccountBinding) async -> Bool {
        guard let head = try? await driver.kept(ring, for: account).known?.chain.head else { return true }
        return head.invitations.contains { link in
            links.isEnd || (link.isForOneGuest ? !links.staying.contains(link.id) : link.isOpen != links.isOpen)
        }
    }

    /// Whether a link may open the keys of a ring by itself: this device does not know that none does.
    func mayHaveOpenLink(_ ring: ZoneRingID, for account: AccountBinding) async -> Bool {
        guard let head = try? await driver.kept(ring, for: account).known?.chain.head else { return true }
        return head.hasOpenLinkForMany
    }

    /// Asks for the keys of what the account takes part in since just now.
    ///
    /// - Throws: The same.
    func join(
        _ ring: ZoneRingID, by link: LinkFragment?, for account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) {
        try await turns.run { () async throws(CKError) in
            let look = ZoneRingDriver.Look(goal: .join(link), ring: ring, asksServer: true)
            _ = try await self.look(look, account, options)
        }
    }

    /// Takes those into a ring of the account's own who wait for that, and has those go who take part no more. The
    /// server is not asked where the members are those who take part. A device without keys does nothing.
    ///
    /// - Parameters:
    ///   - participants: As the server has just said; nil where it did not.
    ///   - isPrivate: Whether it is shared with those alone who are invited, by the same: then no link opens the keys.
    ///   - looksForLinks: Whether the server is asked in any case: another device may have made other links.
    /// - Throws: The same.
    func takeIn(
        _ ring: ZoneRingID, _ participants: Set<String>?, isPrivate: Bool = false, looksForLinks: Bool = false,
        for account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) {
        guard try await identity(for: account) != nil else { return }
        let known = try await driver.kept(ring, for: account).known
        let zone =
            ring.isOwnTree ? try await keysForReading(ring.zones, upTo: 0, for: account, options) : nil
        // Nobody makes a zone's keys by fetching.
        if ring.isOwnTree ? zone == nil : known == nil { return }
        let guests = Set((known?.chain.head.members ?? []).filter { $0.role != .owner }.map(\.user))
        let closes = isPrivate && known?.chain.head.hasOpenLinkForMany == true
        if let participants, participants == guests, !closes, !looksForLinks { return }
        let dropped = participants.map { guests.subtracting($0) } ?? []
        try await turns.run { () async throws(CKError) in
            let look = ZoneRingDriver.Look(
                goal: .admit, ring: ring, asksServer: true, zone: zone, closesLinks: closes, dropped: dropped)
            _ = try await self.look(look, account, options)
        }
    }

    /// Whether this device has kept a ring. Asks nobody but, at first, whose keys these are.
    func isKept(_ ring: ZoneRingID, for account: AccountBinding) async -> Bool {
        (try? await driver.kept(ring, for: account).known) != nil
    }

    /// The links of what a ring is of, for its owner; none where there are none, or they are not known here.
    func links(
        _ ring: ZoneRingID, participants: [String], for account: AccountBinding
    ) async -> ShareLinks {
        var links = ShareLinks()
        guard let head = try? await driver.kept(ring, for: account).known?.chain.head,
            let identity = try? await identity(for: account), let first = identity.chain.statements.first,
            first.number == 1
        else { return links }
        let byID = Dictionary(participants.map { (RingInvitation.id(ofParticipant: $0), $0) }) { first, _ in first }
        for invitation in head.invitations {
            let participant = byID[invitation.id]
            guard invitation.isForOneGuest ? participant != nil : links.forMany == nil,
                let secret = try? invitation.openSecret(as: identity.keys)
            else { continue }
            let link = LinkFragment(ownersFirstStatement: first.hash, secret: secret, title: nil)
            if let participant { links.forOne[participant] = link } else { links.forMany = link }
        }
        return links
    }

    // MARK: Roots

    /// The root of a share of the account's own, as this device knows it from having made the share: a server that
    /// names another one would have its keys given away.
    func root(ofShare share: String, zone: String, for account: AccountBinding) async -> String? {
        guard let folder = try? await account.keyFolders.folder(of: account) else { return nil }
        return try? await account.keyFolders.use(folder) { () throws(KeyFolderProblem) in
            try folder.loadShareRoot(share, zone: zone)
        }
    }

    /// Remembers the root of a share that this device makes.
    ///
    /// - Throws: `internalError` where the key folder can't be used.
    func setRoot(
        _ root: String, ofShare share: String, zone: String, for account: AccountBinding
    ) async throws(CKError) {
        let folder = try await account.keyFolders.folder(of: account)
        _ = try await account.keyFolders.use(folder) { () throws(KeyFolderProblem) in
            try folder.writeShareRoot(root, share, zone: zone)
        }
    }
}
