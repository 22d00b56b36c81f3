package import BrumeModel
internal import BrumeProtocol

/// Finding records by what is in them.
extension CKDatabase {
    /// The first page of the records that a query matches, in the query's order.
    ///
    /// Call ``records(continuingMatchFrom:desiredKeys:resultsLimit:)`` with the cursor until there is none. A query
    /// sees every save that was acknowledged before it, and of an atomic save all records or none.
    ///
    /// - Parameters:
    ///   - query: What to look for. It may be changed while the call is under way, to no effect.
    ///   - zoneID: Where; nil for all zones of the database, but not in the shared one.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: The most matches in the page.
    /// - Throws: `invalidArguments` with a sentence when the query is one that the server can't answer, `zoneNotFound`
    ///   when the zone does not exist.
    public func records(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await page(queryRequest(query, zoneID, desiredKeys, resultsLimit), callOptions)
    }

    /// The page behind a cursor.
    ///
    /// - Parameters:
    ///   - queryCursor: Of the page before, of this database.
    ///   - desiredKeys: The fields to fetch; nil for all.
    ///   - resultsLimit: The most matches in the page.
    /// - Throws: `invalidArguments` when the cursor is of another database or account.
    public func records(
        continuingMatchFrom queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    ) {
        try await page(queryRequest(queryCursor, desiredKeys, resultsLimit), callOptions)
    }

    /// The records that a query matches, 100 at most.
    ///
    /// Where nothing says what a call is to return, it is of
    /// ``records(matching:inZoneWith:desiredKeys:resultsLimit:)``.
    @available(*, deprecated, message: "Use records(matching:inZoneWith:desiredKeys:resultsLimit:)")
    @_disfavoredOverload
    public func records(matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        try await page(queryRequest(query, zoneID, nil, CKQueryOperation.maximumResults), callOptions)
            .matchResults.map { try $0.1.get() }
    }

    /// The records that a query matches, 100 at most.
    @available(*, deprecated, message: "Use records(matching:inZoneWith:desiredKeys:resultsLimit:)")
    public func perform(_ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        try await records(matching: query, inZoneWith: zoneID)
    }

    // MARK: With completion handlers

    /// ``records(matching:inZoneWith:desiredKeys:resultsLimit:)`` with a completion handler, which is called on a
    /// thread of its own.
    @preconcurrency
    public func fetch(
        withQuery query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?),
                    any Error
                >
            ) -> Void
    ) {
        // The query is read now: the app may change it later.
        complete(Result { try queryRequest(query, zoneID, desiredKeys, resultsLimit) }, completionHandler)
    }

    /// ``records(continuingMatchFrom:desiredKeys:resultsLimit:)`` with a completion handler, which is called on a
    /// thread of its own.
    @preconcurrency
    public func fetch(
        withCursor queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?),
                    any Error
                >
            ) -> Void
    ) {
        complete(Result { try queryRequest(queryCursor, desiredKeys, resultsLimit) }, completionHandler)
    }

    /// The records that a query matches, 100 at most, for a completion handler, which is called on a thread of its own.
    @available(*, deprecated, message: "Use fetch(withQuery:inZoneWith:desiredKeys:resultsLimit:completionHandler:)")
    @preconcurrency
    public func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        complete(Result { try queryRequest(query, zoneID, nil, CKQueryOperation.maximumResults) }) { result in
            do {
                completionHandler(try result.get().matchResults.map { try $0.1.get() }, nil)
            } catch {
                completionHandler(nil, error)
            }
        }
    }

    private func complete(
        _ request: Result<QueryRequest, any Error>,
        _ completionHandler: @escaping @Sendable (Result<MatchPage, any Error>) -> Void
    ) {
        BrumeKit.complete(completionHandler) { try await self.page(request.get(), self.callOptions) }
    }

    // MARK: Inside

    typealias MatchPage = (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
    )

    func page(_ request: QueryRequest, _ options: CallOptions) async throws(CKError) -> MatchPage {
        let account = core.account
        let page = try await account.call(
            .recordsQuery, options: options, encode: { coder in coder.encodeQueryRequest(request) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeQueryResponse(bytes) })
        let context = account.answerContext
        var zoneIDs: [ZoneID: CKRecordZone.ID] = [:]
        var fetched: [FetchedRecord] = []
        fetched.reserveCapacity(page.matches.count)
        for match in page.matches {
            if zoneIDs[match.zone] == nil {
                zoneIDs[match.zone] = CKRecordZone.ID(match.zone, currentUser: context.currentUser)
            }
            guard let zoneID = zoneIDs[match.zone] else {
                throw CKError.malformedResponse("a record's zone has a name that none can have")
            }
            let keys: FetchedRecord.Keys =
                request.cursor.isEmpty || request.desiredKeys != nil ? .wanted(request.desiredKeys) : .cursor
            fetched.append(FetchedRecord(id: nil, zoneID: zoneID, record: match.record, keys: keys))
        }
        let matches = try await records(fetched, account, options).map { record, failure in
            (record.recordID, failure.map { Result<CKRecord, any Error>.failure($0) } ?? .success(record))
        }
        if page.cursor.isEmpty { return (matches, nil) }
        var next = request
        (next.cursor, next.resultsLimit, next.desiredKeys) = (page.cursor, 0, nil)
        return (matches, CKQueryCursor(next))
    }

    /// How the server finds the first page's matches.
    package func explain(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?, resultsLimit: Int
    ) async throws(CKError) -> QueryPlan {
        let request = try queryRequest(query, zoneID, nil, resultsLimit)
        return try await core.call(
            .recordsExplain, encode: { coder in coder.encodeQueryRequest(request) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeExplainResponse(bytes) })
    }

    func queryRequest(
        _ query: CKQuery, _ zoneID: CKRecordZone.ID?, _ desiredKeys: [CKRecord.FieldKey]?, _ resultsLimit: Int
    ) throws(CKError) -> QueryRequest {
        let scope = try requestScope()
        if databaseScope == .shared {
            guard let zoneID else {
                throw CKError(.invalidArguments, message: "a query in the shared database needs a zone; name it")
            }
            if let problem = problem(of: zoneID) {
                throw CKError(.invalidArguments, message: "zone \(zoneID) can't be queried: \(problem)")
            }
        }
        return QueryRequest(
            database: scope, zone: zoneID?.modelID, query: try query.translated(),
            resultsLimit: try Self.checked(resultsLimit: resultsLimit), desiredKeys: desiredKeys)
    }

    func queryRequest(
        _ cursor: CKQueryOperation.Cursor, _ desiredKeys: [CKRecord.FieldKey]?, _ resultsLimit: Int
    ) throws(CKError) -> QueryRequest {
        var request = cursor.request
        request.database = try requestScope()
        request.resultsLimit = try Self.checked(resultsLimit: resultsLimit)
        request.desiredKeys = desiredKeys
        return request
    }

    private static func checked(resultsLimit: Int) throws(CKError) -> Int {
        guard resultsLimit >= 0 else {
            throw CKError(
                .invalidArguments,
                message:
                    "resultsLimit is \(resultsLimit); give it a positive number, or CKQueryOperation.maximumResults")
        }
        return resultsLimit
    }
}
