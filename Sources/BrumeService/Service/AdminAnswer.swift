package import BrumeModel

/// What a request of the operator is answered with.
package enum AdminAnswer: Sendable {
    case accountAdded(Account, token: String)
    case accounts([Account], moreComing: Bool)
    /// With what was emptied.
    case accountRemoved(ResetSummary)
    case containers(ContainerPage)
    case tokenCreated(String)
    case tokensRevoked(count: Int)
    /// The account after the change.
    case handles(Account)
    case quota(AccountQuota)
    case snapshotsWritten(SnapshotSummary)
    case schema(text: String, fingerprint: UInt32)
    case schemaImported
    case schemaDeployed
    case schemaReset(ResetSummary)
    case roleMemberSet
    case roleMembers([RoleMember], moreComing: Bool)
    case figures(ServerFigures)
}

/// What came of a request of the operator.
package typealias AdminOutcome = Result<AdminAnswer, ServiceError>
