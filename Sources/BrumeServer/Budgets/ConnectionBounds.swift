internal import BrumeSystem

/// How many connections a server takes, in all and of each account and address, as configured or as its descriptors
/// allow.
package struct ConnectionBounds: Equatable, Sendable {
    /// Descriptors that the process may have.
    package let descriptors: Int
    package let all: Int
    package let perAccount: Int
    /// Without an account.
    package let perAddress: Int
    /// Opening ones of one address.
    package let openingPerAddress: Int
    /// Those of all addresses that stay without an account.
    let anonymous: Int

    /// - Parameter descriptors: Some are kept for the server's own files, whatever is configured.
    package init(_ configuration: ServerConfiguration, descriptors: Int) {
        self.descriptors = descriptors
        let reserve = min(ServerLimits.reservedDescriptors, descriptors / 4)
        all = max(1, min(configuration.connections ?? ServerLimits.connections, descriptors - reserve))
        let share = max(1, min(ServerLimits.connectionsPerAccount, all / 4))
        perAccount = min(all, configuration.connectionsPerAccount ?? share)
        perAddress = min(all, configuration.connectionsPerAddress ?? share)
        openingPerAddress = min(perAddress, max(ServerLimits.openingPerAddress, perAddress / 4))
        anonymous = max(1, all / 2)
    }

    /// What listeners have to know of it.
    func apply(to limits: inout BrumeSystem.ConnectionLimits) {
        limits.connectionsMax = min(limits.connectionsMax, all)
        limits.connectionsPerAddressMax = min(limits.connectionsPerAddressMax, perAddress)
        limits.handshakesPerAddressMax = min(limits.handshakesPerAddressMax, openingPerAddress)
        limits.awaitsIdentity = true
    }
}
