package import BrumeModel

/// The identity that a client claims, what proves it, and the container that it wants to use.
package struct Claim: Equatable, Sendable {
    /// What proves it.
    package enum Proof: Equatable, Sendable {
        /// Nothing: the client may only read the public database.
        case none
        /// An account's token.
        case account(token: String)
        /// The operator's token.
        case admin(token: String)
    }

    var container: String
    var environment: Environment
    /// 16 random bytes that the device keeps.
    var deviceID: [UInt8]
    /// For the log.
    var clientVersion: String
    var proof: Proof

    package init(
        container: String, environment: Environment, deviceID: [UInt8], clientVersion: String, proof: Proof
    ) {
        self.container = container
        self.environment = environment
        self.deviceID = deviceID
        self.clientVersion = clientVersion
        self.proof = proof
    }
}
