internal import BrumeEncryption
internal import BrumeModel
internal import Foundation

/// What a share holds beside a record: what the server showed of it last, and what the app has made of that.
struct CKShareState: Sendable {
    /// What the server showed, with the version that the record has.
    struct Base: Sendable {
        /// With whole URLs.
        let view: ShareView
        /// For whom it was.
        let currentUser: String?

        init(_ view: ShareView, _ context: AnswerContext) {
            var view = view
            view.url = context.resolved(view.url)
            for index in view.participants.indices {
                view.participants[index].oneTimeURL = context.resolved(view.participants[index].oneTimeURL)
            }
            self.view = view
            currentUser = context.currentUser
        }

        fileprivate var context: AnswerContext { AnswerContext(currentUser: currentUser) }

        fileprivate var requesters: [CKShareAccessRequester] {
            view.requesters.map { requester in
                let identity = CKUserIdentity(user: requester.user, context: context)
                return CKShareAccessRequester(
                    userIdentity: identity,
                    participantLookupInfo: CKUserIdentityLookupInfo(
                        userRecordID: CKRecord.ID(recordName: requester.user)))
            }
        }

        fileprivate var blockedIdentities: [CKShareBlockedIdentity] {
            view.blockedUsers.map {
                CKShareBlockedIdentity(userIdentity: CKUserIdentity(user: $0, context: context))
            }
        }
    }

    /// The name of the record that the share was made for; empty for a zone's, and for a share that was fetched, whose
    /// root the server knows.
    let root: String
    /// Nil until the share has been saved or fetched.
    private(set) var base: Base?

    var publicPermission = CKShare.ParticipantPermission.none
    var allowsAccessRequests = false
    /// The owner first.
    var participants: [CKShareParticipant]
    var requesters: [CKShareAccessRequester] = []
    var blockedIdentities: [CKShareBlockedIdentity] = []

    /// The keys that the share's URLs show.
    var links = ShareLinks()

    /// What the server showed, or a share that is new.
    init(root: String, base: Base? = nil) {
        self.root = root
        self.base = base
        guard let base else {
            participants = [.newOwner()]
            return
        }
        publicPermission = CKShare.ParticipantPermission(base.view.publicPermission)
        allowsAccessRequests = base.view.allowsAccessRequests
        participants = base.view.participants.map { CKShareParticipant($0, base.context) }
        requesters = base.requesters
        blockedIdentities = base.blockedIdentities
    }

    /// A share of an archive.
    init(
        root: String, base: Base?, publicPermission: CKShare.ParticipantPermission, allowsAccessRequests: Bool,
        participants: [CKShareParticipant], requesters: [CKShareAccessRequester],
        blockedIdentities: [CKShareBlockedIdentity]
    ) {
        self.root = root
        self.base = base
        self.publicPermission = publicPermission
        self.allowsAccessRequests = allowsAccessRequests
        self.participants = participants
        self.requesters = requesters
        self.blockedIdentities = blockedIdentities
    }

    var contents: ShareContents { ShareContents(self) }

    /// What the app's changes are changes of.
    var baseContents: ShareContents { base.map { ShareContents($0.view) } ?? ShareContents() }

    /// The same with participants that nobody else has.
    func detached() -> CKShareState {
        var state = self
        state.participants = participants.map { CKShareParticipant(copyOf: $0) }
        return state
    }

    // MARK: Another version

    /// Takes over what the server shows now. What the app has changed since `sent` stays changed.
    ///
    /// Participants that the share had and still has stay the same instances, since apps keep them.
    ///
    /// - Parameters:
    ///   - sent: What the changes are counted from: what a save sent, or what the server showed before.
    ///   - serverWins: Whether the server's value is taken where both sides have changed one thing differently. A
    ///     participant whom either side has removed stays removed in any case.
    mutating func saved(as base: Base, sent: ShareContents, serverWins: Bool = false) {
        let (now, server) = (contents, ShareContents(base.view))
        func keeps<Value: Equatable>(_ path: KeyPath<ShareContents, Value>) -> Bool {
            now[keyPath: path] != sent[keyPath: path]
                && (!serverWins || server[keyPath: path] == sent[keyPath: path])
        }
        if !keeps(\.publicPermission) { publicPermission = server.publicPermission }
        if !keeps(\.allowsAccessRequests) { allowsAccessRequests = server.allowsAccessRequests }
        takeParticipants(of: base, sent: sent, serverWins: serverWins)
        let answered = sent.requesters.subtracting(now.requesters)
        requesters = base.requesters.filter { !answered.contains($0.userName ?? "") }
        let (blocked, unblocked) = (
            now.blockedUsers.subtracting(sent.blockedUsers), sent.blockedUsers.subtracting(now.blockedUsers)
        )
        requesters.removeAll { blocked.contains($0.userName ?? "") }
        blockedIdentities =
            base.blockedIdentities.filter { !unblocked.contains($0.userIdentity.userName ?? "") }
            + blockedIdentities.filter {
                let user = $0.userIdentity.userName ?? ""
                return blocked.contains(user) && !server.blockedUsers.contains(user)
            }
        self.base = base
    }

    private mutating func takeParticipants(of base: Base, sent: ShareContents, serverWins: Bool) {
        let known = Dictionary(participants.map { ($0.participantID, $0) }) { first, _ in first }
        var taken: [CKShareParticipant] = []
        for view in base.view.participants {
            let sent = sent.participants[view.id]
            if let participant = known[view.id] {
                participant.saved(as: view, base.context, sent: sent, serverWins: serverWins)
                taken.append(participant)
            } else if sent == nil {
                taken.append(CKShareParticipant(view, base.context))
            }
        }
        let shown = Set(base.view.participants.map(\.id))
        for added in participants.dropFirst()
        where sent.participants[added.participantID] == nil && !shown.contains(added.participantID) {
            if let same = taken.first(where: { $0.userIdentity.isSameUser(as: added.userIdentity) }) {
                if !serverWins, same.role != .owner { same.take(added) }
            } else if publicPermission == .none {
                taken.append(added)
            }
        }
        participants = taken
    }
}
