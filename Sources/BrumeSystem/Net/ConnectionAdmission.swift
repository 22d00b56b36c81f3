internal import BrumeLock

/// Counts the connections of a server's listeners, whatever loops they are on by now, and decides which new ones are
/// admitted. Any thread.
///
/// Every connection begins *without an account*, and counts for its network (``PeerNetwork``) until it is known to
/// belong to an account. Until its peer is identified at all it is also *opening*, and a network may have even fewer of
/// those: opening costs the peer nothing.
package final class ConnectionAdmission: Sendable {
    /// Why a connection is closed as soon as it is accepted.
    package enum Refusal: Equatable, Sendable {
        /// The server has as many connections as it accepts.
        case full
        /// The network has as many connections without an account as one network may have.
        case address
        /// The network has as many opening connections as one network may have.
        case opening
    }

    /// The number of open connections, and of those that were refused or evicted since the start.
    package struct Counts: Equatable, Sendable {
        package var open = 0
        /// Connections that were closed because the server has as many as it accepts.
        package var full: UInt64 = 0
        /// Connections that were closed because their network has as many as it may have.
        package var address: UInt64 = 0
        /// Opening connections that were closed in favour of newer ones, or took too long.
        package var opening: UInt64 = 0
    }

    /// The counts of one network.
    private struct Network {
        var withoutAccount = 0
        var opening = 0
    }

    private struct State {
        var counts = Counts()
        var networks: [PeerNetwork: Network] = [:]
    }

    private let limits: ConnectionLimits
    private let state = Lock(State())

    package init(limits: ConnectionLimits) {
        self.limits = limits
    }

    package var counts: Counts { state.withLock { $0.counts } }

    /// Connections that are open.
    var count: Int { state.withLock { $0.counts.open } }

    /// Takes a connection in, or says why not.
    func admit(_ network: PeerNetwork) -> Result<AdmittedConnection, AdmissionError> {
        let refusal: Refusal? = state.withLock { state in
            if state.counts.open >= limits.connectionsMax { return .full }
            var counts = state.networks[network] ?? Network()
            if counts.withoutAccount >= limits.connectionsPerAddressMax { return .address }
            if counts.opening >= limits.handshakesPerAddressMax { return .opening }
            counts.withoutAccount += 1
            counts.opening += 1
            state.networks[network] = counts
            state.counts.open += 1
            return nil
        }
        if let refusal { return .failure(AdmissionError(refusal: refusal)) }
        return .success(AdmittedConnection(self, network))
    }

    /// A connection was closed for this reason.
    func noteRefusal(_ refusal: Refusal) {
        state.withLock { state in
            switch refusal {
            case .full: state.counts.full += 1
            case .address, .opening: state.counts.address += 1
            }
        }
    }

    /// An opening connection was given up.
    func noteGivenUp() { state.withLock { $0.counts.opening += 1 } }

    fileprivate func changed(
        _ network: PeerNetwork, opening: Int = 0, withoutAccount: Int = 0, open: Int = 0
    ) {
        state.withLock { state in
            state.counts.open += open
            guard opening != 0 || withoutAccount != 0 else { return }
            var counts = state.networks[network] ?? Network()
            counts.opening += opening
            counts.withoutAccount += withoutAccount
            // Only networks with connections are kept.
            state.networks[network] = counts.withoutAccount == 0 ? nil : counts
        }
    }
}

struct AdmissionError: Error {
    let refusal: ConnectionAdmission.Refusal
}

/// A connection's place among those of a server. It belongs to the owner of the connection.
///
/// `@unchecked Sendable`: travels with its connection from loop to loop.
final class AdmittedConnection: @unchecked Sendable {
    /// `opening` → `anonymous` or `identified`; `ended` from each of them.
    private enum State {
        case opening
        case anonymous
        case identified
        case ended
    }

    let network: PeerNetwork
    private let admission: ConnectionAdmission
    private var state = State.opening

    fileprivate init(_ admission: ConnectionAdmission, _ network: PeerNetwork) {
        self.admission = admission
        self.network = network
    }

    var isOpening: Bool { state == .opening }

    /// The peer has been identified.
    func opened(hasAccount: Bool) {
        guard state == .opening else { return }
        state = hasAccount ? .identified : .anonymous
        admission.changed(network, opening: -1, withoutAccount: hasAccount ? -1 : 0)
    }

    func ended() {
        switch state {
        case .opening: admission.changed(network, opening: -1, withoutAccount: -1, open: -1)
        case .anonymous: admission.changed(network, withoutAccount: -1, open: -1)
        case .identified: admission.changed(network, open: -1)
        case .ended: break
        }
        state = .ended
    }
}
