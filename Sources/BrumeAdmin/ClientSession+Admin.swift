package import BrumeKit
package import BrumeModel
internal import BrumeProtocol

/// The operator's requests: accounts, quotas, snapshots and figures.
///
/// The session has to be one of ``operators(socketPath:container:environment:)``, or have the operator's token.
extension ClientSession {
    /// The operator's session with a server on this machine, by the socket in its data folder.
    package static func operators(
        socketPath: String, container: String, environment: Environment
    ) throws(ServiceError) -> ClientSession {
        try unshared(ServerEndpoint(socketPath: socketPath), container: container, environment: environment)
    }

    /// Makes an account with one token, which is returned this once.
    package nonisolated func addAccount(
        name: String, email: String, phone: String = ""
    ) async throws(ServiceError) -> (account: Account, token: String) {
        try await self.request(
            .adminAddAccount, effect: .once, { $0.encodeAddAccountRequest(name: name, email: email, phone: phone) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeAddAccountResponse(bytes) })
    }

    /// All accounts, by name.
    package nonisolated func listAccounts() async throws(ServiceError) -> [Account] {
        var accounts: [Account] = []
        while true {
            let last = accounts.last?.name ?? ""
            let page = try await self.request(
                .adminListAccounts, effect: .none, { $0.encodeListAccountsRequest(after: last) },
                { (coder, bytes) throws(ServiceError) in try coder.decodeListAccountsResponse(bytes) })
            accounts += page.accounts
            if !page.moreComing || page.accounts.isEmpty { return accounts }
        }
    }

    /// Removes an account with its tokens and, if that is asked for, what is in its private databases. Returns what was
    /// emptied.
    @discardableResult
    package nonisolated func removeAccount(
        name: String, deletesData: Bool = false
    ) async throws(ServiceError) -> ResetSummary {
        try await self.request(
            .adminRemoveAccount, effect: .once,
            { $0.encodeRemoveAccountRequest(name: name, deletesData: deletesData) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeRemoveAccountResponse(bytes) })
    }

    /// Makes another token for an account.
    package nonisolated func createToken(name: String) async throws(ServiceError) -> String {
        try await self.request(
            .adminCreateToken, effect: .once, { $0.encodeCreateTokenRequest(name: name) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeCreateTokenResponse(bytes) })
    }

    /// Revokes all tokens of an account and returns how many there were.
    package nonisolated func revokeTokens(name: String) async throws(ServiceError) -> Int {
        try await self.request(
            .adminRevokeTokens, effect: .once, { $0.encodeRevokeTokensRequest(name: name) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeRevokeTokensResponse(bytes) })
    }

    /// An account, after the change of its handles, if there is one.
    package nonisolated func handles(
        ofAccount name: String, change: HandleChange
    ) async throws(ServiceError) -> Account {
        try await self.request(
            .adminHandles, effect: change.isEmpty ? .none : .once,
            { $0.encodeHandlesRequest(name: name, change: change) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeHandlesResponse(bytes) })
    }

    /// What an account's private database in the connection's container may hold and holds, after the change, if there
    /// is one.
    package nonisolated func quota(
        ofAccount name: String, change: QuotaChange? = nil
    ) async throws(ServiceError) -> AccountQuota {
        // To change it twice is to change it once.
        try await self.request(
            .adminQuota, effect: .none, { $0.encodeQuotaRequest(name: name, change: change) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeQuotaResponse(bytes) })
    }

    /// All containers, by name, and what each public database may hold; 0 means no limit.
    package nonisolated func listContainers() async throws(ServiceError) -> ContainerPage {
        var all = ContainerPage(containers: [], moreComing: false, publicQuotaBytes: 0)
        while true {
            let last = all.containers.last?.name ?? ""
            let page = try await self.request(
                .adminListContainers, effect: .none, { $0.encodeListContainersRequest(after: last) },
                { (coder, bytes) throws(ServiceError) in try coder.decodeListContainersResponse(bytes) })
            all.containers += page.containers
            all.publicQuotaBytes = page.publicQuotaBytes
            if !page.moreComing || page.containers.isEmpty { return all }
        }
    }

    /// Writes a snapshot of every database that changed and cuts the journal.
    package nonisolated func snapshot() async throws(ServiceError) -> SnapshotSummary {
        try await self.request(
            .adminSnapshot, effect: .once, { $0.encodeSnapshotRequest() },
            { (coder, bytes) throws(ServiceError) in try coder.decodeSnapshotResponse(bytes) })
    }

    /// What the server has done and what it holds. Needs the operator's token.
    package nonisolated func stats() async throws(ServiceError) -> ServerFigures {
        try await self.request(
            .adminStats, effect: .none, { $0.encodeStatsRequest() },
            { (coder, bytes) throws(ServiceError) in try coder.decodeStatsResponse(bytes) })
    }

    /// How the server is. Needs no account.
    package nonisolated func health() async throws(ServiceError) -> HealthStatus {
        try await self.request(
            .healthCheck, effect: .none, { $0.encodeHealthRequest() },
            { (coder, bytes) throws(ServiceError) in try coder.decodeHealthResponse(bytes) })
    }
}
