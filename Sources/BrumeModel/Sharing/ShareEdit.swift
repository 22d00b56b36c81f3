/// How a save changes a share: what is different, never the list. An administrator who saw the list before others came
/// removes nobody.
package struct ShareEdit: Equatable, Sendable {
    /// A participant to add or to change.
    package struct Put: Equatable, Sendable {
        /// The user whom a new participant is for.
        package enum Invitee: Equatable, Sendable {
            case handle(Handle)
            /// A user, by record name.
            case user(String)
            /// Whoever comes first with the URL that the server makes for it.
            case oneTime
        }

        /// The participant's name in the share.
        package var id: String
        /// For a participant that the share has: nil, or what it has.
        package var invitee: Invitee?
        package var role: ShareParticipant.Role
        /// With `none` the participant goes.
        package var permission: Share.Permission

        package init(
            id: String, invitee: Invitee?, role: ShareParticipant.Role = .privateUser, permission: Share.Permission
        ) {
            self.id = id
            self.invitee = invitee
            self.role = role
            self.permission = permission
        }
    }

    /// The new public permission; nil to leave it as it is.
    package var publicPermission: Share.Permission?
    /// Nil to leave it as it is.
    package var allowsAccessRequests: Bool?
    /// Participants that go, by id.
    package var removals: [String] = []
    package var puts: [Put] = []
    /// Users whose requests are denied; they may ask again.
    package var denials: [String] = []
    /// Users whose requests are denied for good. They take part no longer.
    package var blocks: [String] = []
    /// Users who may ask again.
    package var unblocks: [String] = []

    package init() {}

    /// What counts toward ``Limits/shareChangesPerRequest``.
    package var changeCount: Int { removals.count + puts.count + denials.count + blocks.count + unblocks.count }

    /// What no share would take, whatever it is; nil if nothing.
    func problem(owner: String) -> ServiceError? {
        for put in puts {
            guard Names.isParticipantID(put.id) else { return Self.unfitID }
            if case .user(let user) = put.invitee, !Names.isUserRecordName(user) { return Self.unfitUser }
            if put.id == owner { return Self.ownerStays }
            if put.invitee == .user(owner) { return Self.ownerTakesPart }
        }
        for id in removals {
            guard Names.isParticipantID(id) else { return Self.unfitID }
            if id == owner { return Self.ownerStays }
        }
        for user in denials + blocks + unblocks where !Names.isUserRecordName(user) { return Self.unfitUser }
        return blocks.contains(owner) ? Self.ownerStays : nil
    }

    /// Whether somebody is invited by one of these handles. They are compared as bytes, so that any number of
    /// invitations takes little time.
    package func invites(anyOf handles: [Handle]) -> Bool {
        puts.contains { put in
            guard case .handle(let handle) = put.invitee else { return false }
            return handles.contains { $0.hasBytes(of: handle) }
        }
    }

    /// Why a save is refused that invites the share's owner: they could never accept.
    package static let ownerTakesPart = ServiceError(
        .invalidArguments,
        "a share's owner can't be invited to it: they take part already; leave them out of the participants")

    private static let ownerStays = ServiceError(
        .permissionFailure, "the owner of a share always takes part; the owner ends it by deleting the share")

    private static let unfitID = ServiceError(
        .invalidArguments, "a participant's id has 1 to \(Limits.nameCharacters) printable ASCII characters")

    private static let unfitUser = ServiceError(
        .invalidArguments, "this is not a user record name of this server")
}
