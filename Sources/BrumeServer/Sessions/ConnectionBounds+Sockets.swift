internal import BrumeService
internal import BrumeSystem

extension ConnectionBounds {
    /// Applies the bounds that listeners have to know.
    func apply(to limits: inout BrumeSystem.ConnectionLimits) {
        limits.connectionsMax = min(limits.connectionsMax, all)
        limits.connectionsPerAddressMax = min(limits.connectionsPerAddressMax, perAddress)
        limits.handshakesPerAddressMax = min(limits.handshakesPerAddressMax, openingPerAddress)
        limits.awaitsIdentity = true
    }
}
