internal import BrumeEncryption
internal import BrumeModel

/// Whom the save of a share takes out of it.
struct RemovedParticipants {
    let share: CKShare
    /// Those who had accepted, by their user record names.
    var users: Set<String>
    /// The links that the share is to have without them.
    var links = WantedLinks()

    var isEmpty: Bool { users.isEmpty && links.removed.isEmpty }
}

extension CKShareState {
    /// The participants whom the app's changes since the last answer take out of the share.
    func removed(from share: CKShare) -> RemovedParticipants {
        guard let base else { return RemovedParticipants(share: share, users: []) }
        let users = Set(staying.compactMap { $0.userIdentity.userRecordID?.recordName })
        var links = wantedLinks
        links.removed = Set(base.view.participants.map { RingInvitation.id(ofParticipant: $0.id) })
            .subtracting(links.staying)
        return RemovedParticipants(
            share: share,
            users: Set(base.view.participants.filter { $0.isAccepted && $0.role != .owner }.map(\.user))
                .subtracting(users), links: links)
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
