internal import BrumeEncryption
internal import BrumeModel

/// What a server makes of those who come to a ring and leave it.
enum NewsLie: Sendable {
    /// Nobody waits to be taken in.
    case hidesGuests
    /// A user waits, with such a proof.
    case guest(String, ServerLie.GuestProof)
    /// Everybody takes part who is a member.
    case hidesDepartures
    /// A member takes part no more.
    case departed(String)
    /// A member has other keys than the last entry names.
    case renewed(String)
}

/// Those who come to a ring and leave it, as one device is told of them.
struct ToldNews: Sendable {
    let lie: NewsLie
    /// What the server makes up for a guest of whom it knows no keys.
    let strangers: StrangersKeys

    /// The page with the lie in it; nil where it has nothing that the lie needs.
    func told(_ page: RingPage) -> RingPage? {
        var page = page
        switch lie {
        case .hidesGuests: page.guests = []
        case .guest(let user, let proof):
            guard let guest = guest(user, proof, page) else { return nil }
            page.guests.removeAll { $0.user == user }
            page.guests.append(guest)
        case .hidesDepartures: page.departed = []
        case .departed(let user): if !page.departed.contains(user) { page.departed.append(user) }
        case .renewed(let user): if !page.renewed.contains(user) { page.renewed.append(user) }
        }
        return page
    }

    private func guest(_ user: String, _ proof: ServerLie.GuestProof, _ page: RingPage) -> RingGuest? {
        let entries = page.entries.compactMap { try? SignedRingEntry($0.array).entry }
        guard let head = entries.last else { return nil }
        var guest =
            page.guests.first { $0.user == user }
            ?? RingGuest(user: user, statementHash: strangers.firstStatementHash)
        guest.mayWrite = true
        switch proof {
        case .none: (guest.invitationID, guest.proof) = ([], [])
        case .forged:
            guard let invitation = head.invitations.first else { return nil }
            guest.invitationID = invitation.id
            guest.proof = LinkSecret().joinProof(
                ring: head.ring, invitationID: invitation.id, guest: user, statementHash: guest.statementHash)
        case .ofMember:
            guard let joining = entries.lazy.flatMap(\.members).compactMap(\.joining).first else { return nil }
            (guest.invitationID, guest.proof) = (joining.invitationID, joining.proof)
        }
        return guest
    }
}
