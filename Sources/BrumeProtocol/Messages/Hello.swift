package import BrumeModel
internal import BrumeRecord

/// First message of a client.
package struct Hello: Equatable, Sendable {
    package enum Credentials: Equatable, Sendable {
        /// No credentials: the client may only read the public database.
        case none
        /// An account's token.
        case account(String)
        /// The token of the data folder: opens the Admin service and no database.
        case admin(String)
    }

    package var protocolVersion: UInt32
    /// For the server's log, such as "BrumeKit 0.2.0".
    package var clientVersion: String
    /// 16 random bytes that the device keeps; empty for tools that are no device.
    package var deviceID: [UInt8]
    package var container: String
    /// The environment, or nil when the client names none.
    package var environment: Environment?
    package var credentials: Credentials

    package init(
        protocolVersion: UInt32 = 1, clientVersion: String, deviceID: [UInt8], container: String,
        environment: Environment?, credentials: Credentials = .none
    ) {
        self.protocolVersion = protocolVersion
        self.clientVersion = clientVersion
        self.deviceID = deviceID
        self.container = container
        self.environment = environment
        self.credentials = credentials
    }
}
