extension Share {
    /// What is wrong with the share as a whole; nil for every share that edits, acceptances and departures make. For
    /// what was read from a disk, and for tests. Numbers are not among it: limits may be lower than they were.
    package var problem: String? {
        if secret.count != Self.secretByteCount { return "its secret has \(secret.count) bytes" }
        if Set(participants.map(\.id)).count < participants.count { return "two participants have one id" }
        let users = participants.filter(\.isAccepted).map(\.user)
        let members = Set(users)
        if members.count < users.count { return "a user takes part twice" }
        if Set(requesters.map(\.user)).count < requesters.count { return "a user asked twice" }
        let blocked = Set(blockedUsers)
        if blocked.count < blockedUsers.count { return "a user is blocked twice" }
        if !blocked.isDisjoint(with: members) { return "a blocked user takes part" }
        if requesters.contains(where: { members.contains($0.user) }) { return "a participant asks to take part" }
        if requesters.contains(where: { blocked.contains($0.user) }) { return "a blocked user asks to take part" }
        let secrets = participants.flatMap(\.invitees).compactMap {
            if case .oneTime(let own) = $0 { own } else { nil }
        }
        if Set(secrets).union([secret]).count <= secrets.count { return "two URLs are one" }
        return participants.lazy.compactMap { problem(of: $0) }.first
    }

    private func problem(of participant: ShareParticipant) -> String? {
        if !Names.isParticipantID(participant.id) { return "a participant has no id" }
        if participant.permission == .none { return "a participant may do nothing" }
        if participant.role == .publicUser {
            if publicPermission != participant.permission { return "a public user may do something else" }
            if !participant.invitees.isEmpty || !participant.isAccepted { return "a public user was invited" }
        }
        if participant.isAccepted {
            if participant.user.isEmpty { return "nobody has accepted" }
            return participant.invitees.isEmpty && participant.role != .publicUser
                ? "nobody invited a participant" : nil
        }
        if !participant.user.isEmpty { return "a user has not accepted and takes part" }
        if publicPermission != .none { return "somebody is invited though the URL is enough" }
        return participant.invitees.count == 1 ? nil : "an invitation is for \(participant.invitees.count)"
    }
}
