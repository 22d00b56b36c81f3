package import BrumeModel
internal import BrumeProtocol

/// Requests as values, for tools that want neither records as objects nor a session that is shared.
///
/// Encodes and decodes on the calling thread. Calls that write carry the operation id of their request, so that a retry
/// has one effect; without one they are not sent again.
extension ClientSession {
    /// A session of its own, as a device that nobody else is, on the process's transport.
    ///
    /// - Parameter adminToken: Opens the Admin service instead of the account's databases.
    package static func unshared(
        _ configuration: BrumeConfiguration, adminToken: String? = nil
    ) throws(ServiceError) -> ClientSession {
        let endpoint: ServerEndpoint
        do throws(ConfigurationProblem) { endpoint = try configuration.endpoint() } catch {
            throw ServiceError(.invalidArguments, error.message)
        }
        return try unshared(
            Key(
                endpoint: endpoint, accountToken: configuration.token, adminToken: adminToken,
                container: configuration.container ?? "",
                environment: configuration.environment == .development ? 1 : 2,
                deviceID: ContainerCore.newOperationID()))
    }

    /// The operator's session with a server on this machine, by the socket in its data folder.
    package static func operators(
        socketPath: String, container: String, environment: Environment
    ) throws(ServiceError) -> ClientSession {
        try unshared(
            Key(
                endpoint: ServerEndpoint(socketPath: socketPath), container: container,
                environment: environment.rawValue, deviceID: ContainerCore.newOperationID()))
    }

    private static func unshared(_ key: Key) throws(ServiceError) -> ClientSession {
        switch LoopTransport.shared {
        case .failure(let failure): throw ServiceError(failure, server: key.endpoint.name)
        case .success(let transport): return ClientSession(key: key, transport: transport)
        }
    }

    /// Makes and deletes zones.
    package nonisolated func modifyZones(_ request: ModifyZonesRequest) async throws(ServiceError) -> ModifyZonesResult
    {
        try await self.request(
            .zonesModify, effect: Self.effect(request.operationID), { $0.encodeModifyZonesRequest(request) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeModifyZonesResponse(bytes) })
    }

    /// Saves and deletes records.
    package nonisolated func modifyRecords(
        _ request: ModifyRecordsRequest<DecodedFields>
    ) async throws(ServiceError) -> [ZoneModificationResult<Record>] {
        try await self.request(
            .recordsModify, effect: Self.effect(request.operationID), { $0.encodeModifyRecordsRequest(request) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeModifyRecordsResponse(bytes) })
    }

    /// Fetches records by name.
    package nonisolated func fetchRecords(
        _ request: FetchRecordsRequest
    ) async throws(ServiceError) -> [[RecordOutcome<Record>]] {
        try await self.request(
            .recordsFetch, effect: .none, { $0.encodeFetchRecordsRequest(request) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeFetchRecordsResponse(bytes) })
    }

    /// Fetches a page of a zone's changes.
    package nonisolated func zoneChanges(
        _ request: ZoneChangesRequest
    ) async throws(ServiceError) -> ZoneChangesPage<Record, [UInt8]> {
        try await self.request(
            .recordsChanges, effect: .none, { $0.encodeZoneChangesRequest(request) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeZoneChangesResponse(bytes) })
    }

    /// Fetches a page of a query's matches.
    package nonisolated func queryRecords(
        _ request: QueryRequest
    ) async throws(ServiceError) -> QueryPage<Record> {
        try await self.request(
            .recordsQuery, effect: .none, { $0.encodeQueryRequest(request) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeQueryResponse(bytes) })
    }

    // MARK: Admin

    /// Makes an account with one token, which is returned this once.
    package nonisolated func addAccount(
        name: String, email: String
    ) async throws(ServiceError) -> (account: Account, token: String) {
        try await self.request(
            .adminAddAccount, effect: .once, { $0.encodeAddAccountRequest(name: name, email: email) },
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

    /// Removes an account with its tokens. Its data stays.
    package nonisolated func removeAccount(name: String) async throws(ServiceError) {
        try await self.request(
            .adminRemoveAccount, effect: .once, { $0.encodeRemoveAccountRequest(name: name) },
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

    // MARK: Schemas

    /// The schema of the connection's container and environment, and what tells it from a later one.
    package nonisolated func exportSchema() async throws(ServiceError) -> (text: String, fingerprint: UInt32) {
        try await self.request(
            .adminExportSchema, effect: .none, { $0.encodeExportSchemaRequest() },
            { (coder, bytes) throws(ServiceError) in try coder.decodeExportSchemaResponse(bytes) })
    }

    /// Replaces development's schema, or only says whether that could be.
    package nonisolated func importSchema(text: String, validatesOnly: Bool) async throws(ServiceError) {
        try await self.request(
            .adminImportSchema, effect: .once,
            { $0.encodeImportSchemaRequest(text: text, validatesOnly: validatesOnly) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeImportSchemaResponse(bytes) })
    }

    /// Adds development's schema, which has to be the one with that fingerprint, to production's.
    package nonisolated func deploySchema(fingerprint: UInt32) async throws(ServiceError) {
        try await self.request(
            .adminDeploySchema, effect: .once, { $0.encodeDeploySchemaRequest(fingerprint: fingerprint) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeDeploySchemaResponse(bytes) })
    }

    /// Gives development production's schema, and empties its databases.
    package nonisolated func resetSchema() async throws(ServiceError) -> ResetSummary {
        try await self.request(
            .adminResetSchema, effect: .once, { $0.encodeResetSchemaRequest() },
            { (coder, bytes) throws(ServiceError) in try coder.decodeResetSchemaResponse(bytes) })
    }

    /// Puts an account into a security role, or takes it out.
    package nonisolated func setRoleMember(
        role: String, account: String, isMember: Bool
    ) async throws(ServiceError) {
        try await self.request(
            .adminSetRoleMember, effect: .once,
            { $0.encodeSetRoleMemberRequest(role: role, account: account, isMember: isMember) },
            { (coder, bytes) throws(ServiceError) in try coder.decodeSetRoleMemberResponse(bytes) })
    }

    /// All accounts in roles.
    package nonisolated func listRoleMembers() async throws(ServiceError) -> [RoleMember] {
        var members: [RoleMember] = []
        while true {
            let last = members.last?.userRecordName ?? ""
            let page = try await self.request(
                .adminListRoleMembers, effect: .none, { $0.encodeListRoleMembersRequest(after: last) },
                { (coder, bytes) throws(ServiceError) in try coder.decodeListRoleMembersResponse(bytes) })
            members += page.members
            if !page.moreComing || page.members.isEmpty { return members }
        }
    }

    // MARK: Inside

    private static func effect(_ operationID: [UInt8]) -> UnaryCall.Effect {
        operationID.isEmpty ? .once : .onceByOperationID
    }

    private nonisolated func request<Response>(
        _ method: Method, effect: UnaryCall.Effect, _ encode: (MessageCoder) -> [UInt8],
        _ decode: (MessageCoder, UnsafeRawBufferPointer) throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        let call = UnaryCall(method: method, payload: CoderPool.with { encode($0) }, effect: effect, requestID: "")
        let payload = try await unary(call, timeoutNanoseconds: ClientSession.defaultTimeoutNanoseconds)
        return try CoderPool.with { (coder) throws(ServiceError) in
            try payload.decoded { (bytes) throws(ServiceError) in try decode(coder, bytes) }
        }
    }
}
