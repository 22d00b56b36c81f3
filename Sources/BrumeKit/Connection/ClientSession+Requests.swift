package import BrumeModel
package import BrumeProtocol
internal import Foundation

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

    /// A session of its own without an account, with a server at an endpoint.
    package static func unshared(
        _ endpoint: ServerEndpoint, container: String, environment: Environment
    ) throws(ServiceError) -> ClientSession {
        try unshared(
            Key(
                endpoint: endpoint, container: container, environment: environment.rawValue,
                deviceID: ContainerCore.newOperationID()))
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

    // MARK: Inside

    private static func effect(_ operationID: [UInt8]) -> UnaryCall.Effect {
        operationID.isEmpty ? .once : .onceByOperationID
    }

    /// Sends a request and decodes its answer.
    package nonisolated func request<Response>(
        _ method: Method, effect: UnaryCall.Effect, _ encode: (MessageCoder) -> [UInt8],
        _ decode: (MessageCoder, UnsafeRawBufferPointer) throws(ServiceError) -> Response
    ) async throws(ServiceError) -> Response {
        // The audit log names an operator's request.
        let call = UnaryCall(
            method: method, payload: CoderPool.with { encode($0) }, effect: effect,
            requestID: method.isOfOperator ? UUID().uuidString : "")
        let payload = try await unary(call, timeoutNanoseconds: ClientSession.defaultTimeoutNanoseconds)
        return try CoderPool.with { (coder) throws(ServiceError) in
            try payload.decoded { (bytes) throws(ServiceError) in try decode(coder, bytes) }
        }
    }
}
