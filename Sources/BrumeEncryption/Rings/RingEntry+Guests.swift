/// Taking guests into a ring (Documentation/EncryptionFormats.md, section 11).
extension RingEntry {
    /// The invitation whose link has a secret; nil where the entry lists none: the link is another ring's, or good no
    /// more.
    package func invitation(of link: LinkSecret) -> RingInvitation? {
        invitations.first { $0.keys == link.pairs.publicKeys }
    }

    /// Whether the link for many opens the keys by itself.
    package var hasOpenLinkForMany: Bool { invitations.contains { $0.isOpen && !$0.isForOneGuest } }

    /// A guest as a member of the next entry, with whose rules it agrees.
    ///
    /// - Parameters:
    ///   - statementHash: Of the guest's newest statement.
    ///   - proof: That the guest had the link of an invitation of this entry.
    ///   - wantedRole: What the author would give; the guest gets no more than the invitation allows.
    /// - Returns: Nil where the entry does not list the invitation, or the proof does not hold.
    package func member(
        joining user: String, statementHash: [UInt8], invitationID: [UInt8], proof: [UInt8], wantedRole: RingRole
    ) -> RingMember? {
        guard let invitation = invitations.first(where: { $0.id == invitationID }), AccountName.isValid(user) else {
            return nil
        }
        guard (try? invitation.check(proof, ofGuest: user, statementHash: statementHash, ring: ring)) != nil else {
            return nil
        }
        return RingMember(
            user: user, statementHash: statementHash,
            role: wantedRole.isAtMost(invitation.role) ? wantedRole : invitation.role,
            joining: RingMember.Joining(invitationID: invitationID, proof: proof))
    }
}

extension RingDraft {
    /// Takes in a guest, by whose invitation, where it is for one alone, nobody else comes.
    package mutating func admit(_ guest: RingMember) {
        members.append(guest)
        guard let id = guest.joining?.invitationID else { return }
        invitations.removeAll { $0.id == id && $0.isForOneGuest }
    }
}
