/// What a server shows a user of a share, beside its record's fields.
package struct ShareView: Equatable, Sendable {
    /// Raw values are CloudKit's `CKShare.ParticipantRole`.
    package enum Role: UInt8, Sendable {
        case owner = 1
        case administrator = 2
        case privateUser = 3
        case publicUser = 4
    }

    package struct Participant: Equatable, Sendable {
        /// The participant's name in the share; the owner's is their user record name.
        package var id: String
        package var role: Role
        package var permission: Share.Permission
        /// False for whoever was invited and has not come yet.
        package var isAccepted: Bool
        /// The user record name; empty where nobody knows it.
        package var user: String
        /// By what they were invited; nil for whom it does not concern.
        package var handle: Handle?
        /// When they came to the share, by the server's clock, since 1970; 0 for the owner.
        package var addedMilliseconds: Int64
        package var isApprovedRequester: Bool
        /// Where whoever comes first takes this participant's part; empty for all others.
        package var oneTimeURL: String

        package init(
            id: String, role: Role, permission: Share.Permission, isAccepted: Bool, user: String = "",
            handle: Handle? = nil, addedMilliseconds: Int64 = 0, isApprovedRequester: Bool = false,
            oneTimeURL: String = ""
        ) {
            self.id = id
            self.role = role
            self.permission = permission
            self.isAccepted = isAccepted
            self.user = user
            self.handle = handle
            self.addedMilliseconds = addedMilliseconds
            self.isApprovedRequester = isApprovedRequester
            self.oneTimeURL = oneTimeURL
        }

        package static func owner(_ user: String) -> Participant {
            Participant(id: user, role: .owner, permission: .readWrite, isAccepted: true, user: user)
        }
    }

    /// Where others find the share: a whole URL, or its path alone, to be taken as of the server that was asked.
    package var url: String
    package var publicPermission: Share.Permission
    package var allowsAccessRequests: Bool
    /// The owner first.
    package var participants: [Participant]
    package var requesters: [ShareRequester]
    /// User record names.
    package var blockedUsers: [String]

    package init(
        url: String, publicPermission: Share.Permission = .none, allowsAccessRequests: Bool = false,
        participants: [Participant], requesters: [ShareRequester] = [], blockedUsers: [String] = []
    ) {
        self.url = url
        self.publicPermission = publicPermission
        self.allowsAccessRequests = allowsAccessRequests
        self.participants = participants
        self.requesters = requesters
        self.blockedUsers = blockedUsers
    }
}

extension Share {
    /// What a viewer is shown: ``seen(by:)`` with the owner, and URLs in place of secrets.
    ///
    /// - Parameter url: Makes the URL of a share's secret, or the one that holds a one-time secret, too.
    package func view(
        for viewer: Viewer, owner: String, url: (_ secret: [UInt8], _ oneTimeSecret: [UInt8]?) -> String
    ) -> ShareView {
        let seen = seen(by: viewer)
        return ShareView(
            url: url(secret, seen.secret == secret ? nil : seen.secret), publicPermission: publicPermission,
            allowsAccessRequests: allowsAccessRequests,
            participants: [.owner(owner)]
                + seen.participants.map { participant in
                    var view = participant.view { url(secret, $0) }
                    // The only one whom they are shown is themselves, who may be known by a handle alone.
                    if case .linkHolder(let visitor, _) = viewer { view.user = visitor.user }
                    return view
                },
            requesters: seen.requesters, blockedUsers: seen.blockedUsers)
    }
}

extension ShareParticipant {
    fileprivate func view(url: ([UInt8]) -> String) -> ShareView.Participant {
        var view = ShareView.Participant(
            id: id, role: role.shown, permission: permission, isAccepted: isAccepted, user: user,
            addedMilliseconds: addedMilliseconds, isApprovedRequester: isApprovedRequester)
        for invitee in invitees {
            switch invitee {
            case .handle(let handle): view.handle = view.handle ?? handle
            case .user(let name): if user.isEmpty { view.user = name }
            case .oneTime(let secret): if !isAccepted { view.oneTimeURL = url(secret) }
            }
        }
        return view
    }
}

extension ShareParticipant.Role {
    package var shown: ShareView.Role {
        switch self {
        case .administrator: .administrator
        case .privateUser: .privateUser
        case .publicUser: .publicUser
        }
    }
}
