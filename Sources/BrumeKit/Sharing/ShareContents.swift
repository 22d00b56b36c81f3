internal import BrumeModel

/// What can be changed of a share, as values: two of them tell what is different.
struct ShareContents: Equatable, Sendable {
    struct Participant: Equatable, Sendable {
        var role: CKShare.ParticipantRole
        var permission: CKShare.ParticipantPermission
    }

    var publicPermission = CKShare.ParticipantPermission.none
    var allowsAccessRequests = false
    /// All but the owner.
    var participants: [CKShareParticipant.ID: Participant] = [:]
    /// User record names.
    var requesters: Set<String> = []
    /// User record names.
    var blockedUsers: Set<String> = []

    /// A share that no server has.
    init() {}

    /// What the server showed.
    init(_ view: ShareView) {
        publicPermission = CKShare.ParticipantPermission(view.publicPermission)
        allowsAccessRequests = view.allowsAccessRequests
        for participant in view.participants where participant.role != .owner {
            participants[participant.id] = Participant(
                role: CKShare.ParticipantRole(participant.role),
                permission: CKShare.ParticipantPermission(participant.permission))
        }
        requesters = Set(view.requesters.map(\.user))
        blockedUsers = Set(view.blockedUsers)
    }

    /// What the app has made of it.
    init(_ state: CKShareState) {
        publicPermission = state.publicPermission
        allowsAccessRequests = state.allowsAccessRequests
        for participant in state.participants.dropFirst() {
            let values = participant.values.current
            participants[participant.participantID] = Participant(role: values.role, permission: values.permission)
        }
        requesters = Set(state.requesters.compactMap(\.userName))
        blockedUsers = Set(state.blockedIdentities.compactMap(\.userIdentity.userName))
    }
}

// MARK: The server's values

extension CKShare.ParticipantPermission {
    init(_ permission: Share.Permission) {
        self =
            switch permission {
            case .none: .none
            case .readOnly: .readOnly
            case .readWrite: .readWrite
            }
    }

    /// Nil for `unknown`, which nobody can be given.
    var modelPermission: Share.Permission? {
        switch self {
        case .unknown: nil
        case .none: Share.Permission.none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        }
    }
}

extension CKShare.ParticipantRole {
    init(_ role: ShareView.Role) {
        self =
            switch role {
            case .owner: .owner
            case .administrator: .administrator
            case .privateUser: .privateUser
            case .publicUser: .publicUser
            }
    }

    /// Nil for `unknown` and `owner`, which no participant can become.
    var modelRole: ShareParticipant.Role? {
        switch self {
        case .unknown, .owner: nil
        case .administrator: .administrator
        case .privateUser: .privateUser
        case .publicUser: .publicUser
        }
    }
}
