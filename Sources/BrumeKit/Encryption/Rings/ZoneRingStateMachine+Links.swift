internal import BrumeEncryption
internal import BrumeModel

/// The links that a device makes of a ring, and those by which its account comes to another's.
extension ZoneRingStateMachine {
    /// Makes other links in the places of those that go since somebody does. Whoever may shows them again from the
    /// ring itself.
    func replaceLinks(of draft: inout RingDraft) throws(EncryptionRefusal) {
        guard let owner = ownersNewestKeys else { throw .keyMissing }
        _ = try draft.replaceLinks(
            owner: owner, author: user, authorKeys: isOwn ? nil : identity.keys.publicKeys)
    }

    /// Takes out the links that are to end.
    ///
    /// - Returns: Whether there were any.
    func endLinks(of draft: inout RingDraft) -> Bool {
        guard isOwn else { return false }
        let count = draft.invitations.count
        draft.invitations.removeAll { link in
            kept.removals.contains { removal in
                link.isForOneGuest ? removal.endedLinks.contains(link.id) : removal.closesLink && link.isOpen
            }
        }
        switch start.goal {
        case .share(let wanted) where wanted.isEnd: draft.removeLinks()
        case .share(let wanted):
            draft.invitations.removeAll { link in
                // A writer may have made one that the owner can't open, and so can't show.
                link.isForOneGuest
                    ? link.maker.hasBytes(of: user) && !wanted.staying.contains(link.id)
                    : link.isOpen != wanted.isOpen || (try? link.openSecret(as: identity.keys)) == nil
            }
        case .admit where start.closesLinks: draft.invitations.removeAll { $0.isOpen && !$0.isForOneGuest }
        default: break
        }
        return draft.invitations.count != count
    }

    /// Adds the links that the owner wants, and there are not, one for many among them. Beyond as many as an entry has
    /// room for there are none.
    ///
    /// - Parameter head: The entry before; nil for the first. What it lists comes again with the one after the next at
    ///   the earliest.
    /// - Returns: Whether there were any.
    func addLinks(to draft: inout RingDraft, behind head: RingEntry?) -> Bool {
        guard isOwn else { return false }
        var isChanged = false
        func add(_ id: [UInt8]?, isOpen: Bool) {
            guard draft.invitations.count + draft.endedLinks.count < KeyLimits.ringInvitationsMax,
                let link = try? RingInvitation.make(
                    id: id, maker: user, makerKeys: nil, owner: identity.keys.publicKeys, role: .writer,
                    isForOneGuest: id != nil, isOpen: isOpen, secret: LinkSecret())
            else { return }
            draft.invitations.append(link)
            isChanged = true
        }
        let hasNone = draft.invitations.allSatisfy(\.isForOneGuest) && draft.endedLinks.isEmpty
        switch start.goal {
        case .share(let wanted) where !wanted.isEnd:
            if hasNone { add(nil, isOpen: wanted.isOpen) }
            let listed = Set((head?.invitations ?? []).map(\.id) + draft.invitations.map(\.id))
            for id in wanted.guests.subtracting(listed).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                add(id, isOpen: false)
            }
        case .share: break
        case .admit where start.closesLinks && head?.hasOpenLinkForMany == true,
            _ where kept.removals.contains(where: \.closesLink) && head?.hasOpenLinkForMany == true:
            if hasNone { add(nil, isOpen: false) }
        default: break
        }
        return isChanged
    }

    private var ownersNewestKeys: PublicKeys? {
        isOwn ? identity.keys.publicKeys : people[start.place.owner]?.chain.last.keys
    }

    /// Asks for the ring's keys, where the account has none of them.
    mutating func join(_ ring: KnownRing, _ link: LinkFragment?) -> Action {
        let head = ring.chain.head
        if ownMember(of: head) != nil {
            return namesFormerKeys(ring) ? sendJoin(invitationID: [], proof: []) : finish(ring)
        }
        guard let link else { return sendJoin(invitationID: [], proof: []) }
        guard let owner = people[start.place.owner], link.isOf(owner.chain) else { return fail(.isOfAnotherOwner) }
        // Whoever comes by a link that was replaced waits for a person to decide.
        guard let invitation = head.invitation(of: link.secret) else { return sendJoin(invitationID: [], proof: []) }
        if invitation.isOpen, kept.link.flatMap(head.invitation)?.id != invitation.id {
            kept.link = link.secret
            return keep(.proceed)
        }
        let proof = link.secret.joinProof(
            ring: head.ring, invitationID: invitation.id, guest: user, statementHash: identity.statement.hash)
        return sendJoin(invitationID: invitation.id, proof: proof)
    }

    mutating func sendJoin(invitationID: [UInt8], proof: [UInt8]) -> Action {
        phase = .joining
        return .join(invitationID: invitationID, proof: proof)
    }
}
