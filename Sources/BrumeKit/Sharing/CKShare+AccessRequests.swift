/// Users who ask to take part in a share.
extension CKShare {
    /// Whether users who are no participants may ask to become some; false unless set.
    public var allowsAccessRequests: Bool {
        get { details.allowsAccessRequests }
        set { details.allowsAccessRequests = newValue }
    }

    /// The users who asked to take part and have not been answered, as of the last fetch or save. Only the owner and
    /// administrators see them. A request gives the share no new change tag.
    ///
    /// To accept a request, look the participant up by ``CKShareAccessRequester/participantLookupInfo`` and add it.
    public var requesters: [AccessRequester] { details.requesters }

    /// The users who can't ask any more. Only the owner and administrators see them.
    public var blockedIdentities: [BlockedIdentity] { details.blockedIdentities }

    /// Denies requests: they leave ``requesters``, and their users may ask again. Save the share afterwards.
    ///
    /// Traps unless the current user is the owner or an administrator.
    public func denyRequesters(_ requesters: [AccessRequester]) {
        manageRequests { details in
            details.requesters.removeAll { known in requesters.contains { known.isSameUser(as: $0) } }
        }
    }

    /// Denies requests for good: their users move to ``blockedIdentities`` and are participants no longer. Save the
    /// share afterwards.
    ///
    /// A share blocks 1,000 users at most; above that, saving it fails with `limitExceeded`. Traps unless the current
    /// user is the owner or an administrator.
    public func blockRequesters(_ requesters: [AccessRequester]) {
        manageRequests { details in
            for requester in requesters {
                details.requesters.removeAll { $0.isSameUser(as: requester) }
                details.participants.removeAll {
                    $0.role != .owner && $0.userIdentity.isSameUser(as: requester.userIdentity)
                }
                let isKnown = details.blockedIdentities.contains {
                    $0.userIdentity.isSameUser(as: requester.userIdentity)
                }
                if !isKnown { details.blockedIdentities.append(BlockedIdentity(userIdentity: requester.userIdentity)) }
            }
        }
    }

    /// Takes users out of ``blockedIdentities``: they may ask again. Save the share afterwards.
    ///
    /// Traps unless the current user is the owner or an administrator.
    public func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {
        manageRequests { details in
            details.blockedIdentities.removeAll { known in
                blockedIdentities.contains { known == $0 || known.userIdentity.isSameUser(as: $0.userIdentity) }
            }
        }
    }

    private func manageRequests(_ change: (inout CKShareState) -> Void) {
        let role = currentUserParticipant?.role
        precondition(
            role == .owner || role == .administrator,
            "CKShare: only the owner and administrators answer access requests; ask currentUserParticipant for the role"
        )
        details.withLock { change(&$0) }
    }
}
