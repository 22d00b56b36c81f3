internal import BrumeModel
internal import BrumeProtocol

/// Fetching records by id.
extension CKDatabase {
    /// A record as the server has it. The name ``CKCurrentUserDefaultName`` stands for the current user's own record.
    ///
    /// - Throws: `unknownItem` when there is none, `zoneNotFound` when its zone does not exist.
    ///
    /// Differs from CloudKit: a record of the public database that the user may not read fails with `unknownItem`, too.
    public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        guard let result = try await records(for: [recordID])[recordID] else {
            throw CKError.malformedResponse("it holds no result for the record")
        }
        return try result.get()
    }

    /// Records as the server has them, 400 at most (of each owner, in the shared database); what fails for one is in
    /// its result.
    ///
    /// An answer has a limit of its own; when the records don't fit into one, this asks again for the rest.
    ///
    /// - Parameters:
    ///   - ids: What to fetch.
    ///   - desiredKeys: The fields to fetch; nil for all. A record that is fetched without some of its fields can be
    ///     saved: fields that it does not hold stay as they are.
    /// - Throws: What fails the whole request: `limitExceeded` above 400 ids.
    public func records(
        for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
        results.reserveCapacity(ids.count)
        try await fetch(ids, desiredKeys: desiredKeys, callOptions) { id, result in results[id] = result }
        return results
    }

    /// Fetches records and gives each one's outcome as the answers come, in the order of the ids within a zone.
    func fetch(
        _ ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?, _ options: CallOptions,
        _ progress: TransferProgress = TransferProgress(),
        _ receive: (CKRecord.ID, Result<CKRecord, any Error>) -> Void
    ) async throws(CKError) {
        let scope = try requestScope()
        var sent: [CKRecord.ID] = []
        for id in withoutRepetitions(ids) {
            if let problem = problem(of: id.zoneID) {
                receive(id, .failure(CKError(.invalidArguments, message: "\(id) can't be fetched: \(problem)")))
            } else {
                sent.append(id)
            }
        }
        // For one account, however many answers it takes.
        let account = core.account
        let userName = try await nameBehindDefault(sent, account, options)
        var unanswered: [CKRecord.ID] = []
        let failures = try await sendEach(of: partsByOwner(sent, zone: \.zoneID)) { (part) throws(CKError) in
            var missing = part
            defer { unanswered += missing }
            try await fetch(&missing, desiredKeys, scope, account, userName: userName, options, progress, receive)
        }
        if failures.isEmpty { return }
        let left = Set(unanswered)
        for (part, error) in failures {
            for id in part where left.contains(id) { receive(id, .failure(error)) }
        }
    }

    /// Fetches records of one owner until each has its outcome.
    ///
    /// - Parameter missing: The records to fetch; afterwards those that have no outcome.
    private func fetch(
        _ missing: inout [CKRecord.ID], _ desiredKeys: [CKRecord.FieldKey]?, _ scope: DatabaseScope,
        _ account: AccountBinding, userName: String, _ options: CallOptions, _ progress: TransferProgress,
        _ receive: (CKRecord.ID, Result<CKRecord, any Error>) -> Void
    ) async throws(CKError) {
        while !missing.isEmpty {
            var zones: [(id: CKRecordZone.ID, recordIDs: [CKRecord.ID])] = []
            var indices: [CKRecordZone.ID: Int] = [:]
            for id in missing {
                if let index = indices[id.zoneID] {
                    zones[index].recordIDs.append(id)
                } else {
                    indices[id.zoneID] = zones.count
                    zones.append((id.zoneID, [id]))
                }
            }
            let request = FetchRecordsRequest(
                database: scope,
                zones: zones.map {
                    FetchRecordsRequest.ZoneFetch(
                        zone: $0.id.modelID, names: $0.recordIDs.map { $0.isCurrentUser ? userName : $0.recordName })
                },
                desiredKeys: desiredKeys)
            let answers = try await account.call(
                .recordsFetch, options: options, encode: { coder in coder.encodeFetchRecordsRequest(request) },
                decode: { (coder, bytes) throws(ServiceError) in try coder.decodeFetchRecordsResponse(bytes) })
            guard answers.map(\.count) == zones.map(\.recordIDs.count) else {
                throw CKError.malformedResponse("its results are not those of the records asked for")
            }
            var deferred: [CKRecord.ID] = []
            var fetched: [FetchedRecord] = []
            for (id, outcome) in zip(zones.flatMap(\.recordIDs), answers.joined()) {
                switch outcome {
                case .record(let record):
                    guard record.system.name == (id.isCurrentUser ? userName : id.recordName) else {
                        throw CKError.malformedResponse("a record is not the one that was asked for")
                    }
                    fetched.append(FetchedRecord(id: id, zoneID: id.zoneID, record: record, keys: .wanted(desiredKeys)))
                case .failure(let error):
                    if error.code == .unknownItem { learn(gone: CollectionOfOne(id), account) }
                    receive(id, .failure(CKError(error)))
                case .deferred: deferred.append(id)
                }
            }
            let records = try await self.records(fetched, account, options, progress)
            for (id, (record, failure)) in zip(fetched.compactMap(\.id), records) {
                receive(id, failure.map { .failure($0) } ?? .success(record))
            }
            guard deferred.count < missing.count else {
                throw CKError.malformedResponse("it puts off every record that was asked for")
            }
            missing = deferred
        }
    }

    /// The current user's record name, when one of the ids says ``CKCurrentUserDefaultName``, as those of creators do;
    /// else "".
    private func nameBehindDefault(
        _ ids: [CKRecord.ID], _ account: AccountBinding, _ options: CallOptions
    ) async throws(CKError) -> String {
        guard ids.contains(where: \.isCurrentUser) else { return "" }
        return try await ContainerCore(boundTo: account, of: core).userRecordID(options).recordName
    }
}

extension CKRecord.ID {
    /// Whether the name stands for the current user's own record.
    fileprivate var isCurrentUser: Bool { recordName == CKCurrentUserDefaultName }
}
