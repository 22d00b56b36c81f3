/// How many connections a server takes, in all and for each account and address, as configured or as its descriptors
/// allow.
package struct ConnectionBounds: Equatable, Sendable {
    /// Descriptors that the process may have.
    package let descriptors: Int
    package let all: Int
    package let perAccount: Int
    /// Connections of one address without an account.
    package let perAddress: Int
    /// Connections of one address that are being opened.
    package let openingPerAddress: Int
    /// Connections without an account, over all addresses.
    let anonymous: Int

    /// - Parameter descriptors: Some are kept for the server's own files, whatever is configured.
    package init(_ configuration: ServiceConfiguration, descriptors: Int) {
        self.descriptors = descriptors
        let reserve = min(ServiceLimits.reservedDescriptors, descriptors / 4)
        all = max(1, min(configuration.connections ?? ServiceLimits.connections, descriptors - reserve))
        let share = max(1, min(ServiceLimits.connectionsPerAccount, all / 4))
        perAccount = min(all, configuration.connectionsPerAccount ?? share)
        perAddress = min(all, configuration.connectionsPerAddress ?? share)
        openingPerAddress = min(perAddress, max(ServiceLimits.openingPerAddress, perAddress / 4))
        anonymous = max(1, all / 2)
    }
}
