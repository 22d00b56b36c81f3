internal import BrumeModel

extension ServerCore {
    /// Lets a client in at the operator's door, where everybody is the operator.
    ///
    /// The operator may name any container, even one that this server does not serve: most of what they ask for is not
    /// about one.
    func authenticateOperator(_ claim: Claim) throws(ServiceError) -> Identity {
        try check(claim)
        if case .account = claim.proof {
            throw ServiceError(
                .notAuthenticated, "this socket is for the server's operator; an account's token is for its port")
        }
        return Identity(
            role: .admin, container: claim.container, environment: claim.environment, deviceID: claim.deviceID,
            clientVersion: claim.clientVersion)
    }
}
