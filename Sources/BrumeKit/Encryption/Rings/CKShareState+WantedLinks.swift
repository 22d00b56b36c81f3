internal import BrumeEncryption
internal import BrumeModel

/// Whom the save of a share takes out of it.
struct RemovedParticipants {
    let share: CKShare
    /// Whether the share is a new one: what it is of may have been shared before.
    var isNew = false
    /// The participants who go and those who stay. One whom the server shows as invited may have come long ago.
    var departures: Departures
    /// The links that the share is to have without them.
    var links = WantedLinks()
    var isEmpty = false
}

extension CKShareState {
    /// The participants whom the app's changes since the last answer take out of the share.
    func removed(from share: CKShare) -> RemovedParticipants {
        var departures = Departures(staying: Set(staying.compactMap { $0.userIdentity.userRecordID?.recordName }))
        guard let base else { return RemovedParticipants(share: share, isNew: true, departures: departures) }
        let gone = base.view.participants.filter { participant in
            participant.role != .owner && !staying.contains { $0.participantID == participant.id }
        }
        // Two of one name may be one person in two places, or a server's word: that one goes.
        departures.named = Set(gone.map(\.user).filter { !$0.isEmpty })
        departures.staying.subtract(departures.named)
        departures.endedLinks = Set(gone.map { RingInvitation.id(ofParticipant: $0.id) })
        departures.closesLink = closesLink
        departures.areOfUnknownRings = !departures.named.isEmpty || closesLink
        var links = wantedLinks
        links.removed = departures.endedLinks
        return RemovedParticipants(
            share: share, departures: departures, links: links, isEmpty: gone.isEmpty && !closesLink)
    }

    /// Whether the app makes a share private that was for everybody who has its URL.
    var closesLink: Bool {
        guard let base else { return false }
        return base.view.publicPermission != .none && publicPermission == .none
    }

    /// The participants for whom there is a URL, or will be one with the next save, and who have not come yet: their
    /// ids.
    var linksForOne: [String] {
        let known = Set(base?.view.participants.map(\.id) ?? [])
        let open = Set(base?.linksForOne ?? [])
        return staying.filter { participant in
            let isNew = !known.contains(participant.participantID)
            return open.contains(participant.participantID) || isNew && participant.isForOneTimeURL
        }.map(\.participantID)
    }

    /// The links that the share's ring is to have. Where everybody who has the URL may take part nobody waits to read.
    var wantedLinks: WantedLinks {
        WantedLinks(
            isOpen: publicPermission != .none, guests: Set(linksForOne.map(RingInvitation.id(ofParticipant:))),
            staying: Set(staying.map { RingInvitation.id(ofParticipant: $0.participantID) }))
    }

    /// The participants whom the app leaves in the share.
    private var staying: [CKShareParticipant] {
        let blocked = Set(blockedIdentities.compactMap(\.userIdentity.userName))
        return participants.filter { participant in
            let values = participant.values.current
            if values.permission == .none || values.role == .publicUser && publicPermission == .none { return false }
            return values.userIdentity.userRecordID.map { !blocked.contains($0.recordName) } ?? true
        }
    }
}

extension CKShareState.Base {
    /// The participants for whom there is a URL, and who have not come yet.
    fileprivate var linksForOne: [String] { view.participants.filter { !$0.oneTimeURL.isEmpty }.map(\.id) }
}

extension CKShareParticipant {
    /// Whether it is one of ``oneTimeURLParticipant()`` that was not saved yet.
    fileprivate var isForOneTimeURL: Bool {
        let identity = userIdentity
        return role != .owner && identity.userRecordID == nil && identity.lookupInfo == nil
    }
}
