internal import BrumeLock
internal import BrumeModel
internal import BrumeSystem

/// The shares of all accounts and addresses that have connections. Any thread.
package final class ClientShares: Sendable {
    private struct Entry {
        let share: ClientShare
        var connections = 0
    }

    private struct State {
        var entries: [ClientShare.Key: Entry] = [:]
        var anonymousConnections = 0
        /// The number of entries above which unused ones are looked for.
        var sweepCount = 64
        var refusedConnections: UInt64 = 0
    }

    package let bounds: ConnectionBounds
    package let output: ByteBudget
    package let input: ByteBudget
    /// The parts of both budgets that all clients without an account may hold together: addresses cost nothing, and
    /// accounts keep the rest.
    package let anonymousOutput: ByteBudget
    private let anonymousInput: ByteBudget
    private let callsPerAccount: Int
    private let state = Lock(State())

    init(_ configuration: ServiceConfiguration, bounds: ConnectionBounds) {
        self.bounds = bounds
        callsPerAccount = configuration.callsPerAccount
        output = ByteBudget(limit: configuration.outputBudgetBytes)
        input = ByteBudget(limit: configuration.inputBudgetBytes)
        anonymousOutput = ByteBudget(limit: output.limit / ServiceLimits.anonymousPart, of: output)
        anonymousInput = ByteBudget(limit: input.limit / ServiceLimits.anonymousPart, of: input)
    }

    /// Connections that were refused because their account, or all anonymous ones together, had as many as it may have.
    var refusedConnections: UInt64 { state.withLock { $0.refusedConnections } }

    /// Accounts and addresses that are known.
    var count: Int { state.withLock { $0.entries.count } }

    /// Counts a connection whose peer has identified itself.
    func enter(_ identity: Identity, from network: PeerNetwork) throws(ServiceError) -> ClientShare {
        let key: ClientShare.Key =
            switch identity.role {
            case .account(let name): .account(name)
            case .admin: .operator
            case .anonymous: .network(network)
            }
        let outcome: Result<ClientShare, ServiceError> = state.withLock { state in
            var entry = state.entries[key] ?? Entry(share: makeShare(key))
            if let refusal = refusal(identity, entry, anonymous: state.anonymousConnections) {
                state.refusedConnections += 1
                return .failure(refusal)
            }
            entry.connections += 1
            state.entries[key] = entry
            if identity.role == .anonymous { state.anonymousConnections += 1 }
            if state.entries.count > state.sweepCount {
                state.entries = state.entries.filter { $0.value.connections > 0 || !$0.value.share.isUnused }
                state.sweepCount = max(64, 2 * state.entries.count)
            }
            return .success(entry.share)
        }
        return try outcome.get()
    }

    /// Notes that a connection that entered has ended. What is still under way for it stays counted.
    func leave(_ share: ClientShare) {
        state.withLock { state in
            guard var entry = state.entries[share.key], entry.connections > 0 else {
                preconditionFailure("a connection leaves its share once")
            }
            entry.connections -= 1
            if case .network = share.key { state.anonymousConnections -= 1 }
            state.entries[share.key] = entry.connections == 0 && share.isUnused ? nil : entry
        }
    }

    private func makeShare(_ key: ClientShare.Key) -> ClientShare {
        let output: ByteShare
        let input: ByteShare
        if case .network = key {
            output = ByteShare(of: anonymousOutput, limit: self.output.limit / ServiceLimits.addressPart)
            input = ByteShare(of: anonymousInput, limit: self.input.limit / ServiceLimits.addressPart)
        } else {
            output = ByteShare(of: self.output, limit: self.output.limit / ServiceLimits.accountPart)
            input = ByteShare(of: self.input, limit: self.input.limit / ServiceLimits.accountPart)
        }
        return ClientShare(
            key, callLimit: callsPerAccount, streamLimit: bounds.perAccount, output: output, input: input)
    }

    private func refusal(_ identity: Identity, _ entry: Entry, anonymous: Int) -> ServiceError? {
        if identity.role == .anonymous {
            // Addresses are bounded where connections are accepted.
            guard anonymous >= bounds.anonymous else { return nil }
            return ServiceError(
                .requestRateLimited,
                "\(anonymous) connections without an account are open, which is the limit; try again later",
                retryAfterMilliseconds: ServiceLimits.connectionRetryMilliseconds)
        }
        guard entry.connections >= bounds.perAccount else { return nil }
        return ServiceError(
            .requestRateLimited,
            "\(entry.connections) connections of this account are open, which is the limit; close one",
            retryAfterMilliseconds: ServiceLimits.connectionRetryMilliseconds)
    }
}
