internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem
internal import BrumeWire

/// Queries: a page may cost looking at every record of a database, so they run in slices between which the loop does all else.
///
/// In one turn all queries of the loop together take ``ServerLimits/querySliceNanoseconds`` and the step that goes over it, by the clock
/// that all others wait by. A query that comes when no other
/// waits begins at once, and mostly ends at once; the others take turns.
extension Shard {
    /// Begins a query; `give` is called once, in this turn or a later one.
    func startQuery(
        _ request: QueryRequest, explains: Bool, in loaded: LoadedDatabase, identity: Identity, ticket: QueryTicket,
        _ give: @escaping RunningQuery.Give
    ) {
        let query: RunningQuery
        let began = loop.currentNanoseconds
        do throws(ServiceError) {
            guard queries.count < ServerLimits.queriesPerLoop else {
                throw ServiceError(
                    .serviceUnavailable,
                    "\(queries.count) queries run on this part of the server, which is the limit; try again shortly",
                    retryAfterMilliseconds: 1_000)
            }
            query = try prepareQuery(
                request, explains: explains, in: loaded, identity: identity, ticket: ticket, give)
        } catch {
            // A failure may tell of a commit too: that a zone is gone.
            return give(.failure(error), loaded.lastPosition)
        }
        queryBudget.spend(nanoseconds: loop.currentNanoseconds - began)
        // The others were first.
        if queries.isEmpty, advance(query) { return }
        queries.append(query)
        continueQueriesNextTurn()
    }

    private func prepareQuery(
        _ request: QueryRequest, explains: Bool, in loaded: LoadedDatabase, identity: Identity, ticket: QueryTicket,
        _ give: @escaping RunningQuery.Give
    ) throws(ServiceError) -> RunningQuery {
        let query = try QueryRules.checked(
            request.query, caller: identity.userRecordName,
            followsCloudKit: server.configuration.followsCloudKitQueryRules)
        // Most pages begin a query, and many end it: the codes of a cursor take as long as some of them.
        let binding = { [cursorSealer, coder] in
            cursorSealer.binding(
                loaded.database.id, zone: request.zone?.name, caller: identity.userRecordName,
                query: coder.encodeQuery(request.query))
        }
        let after = request.cursor.isEmpty ? nil : try cursorSealer.open(request.cursor, binding: binding())
        let run = try loaded.database.startQuery(
            query, zone: request.zone, after: after, resultsLimit: request.resultsLimit,
            desiredKeys: request.desiredKeys,
            searchableFields: searchableFields(ofType: query.recordType, for: identity))
        return RunningQuery(
            run, in: loaded, cursorBinding: binding, explains: explains, ticket: ticket, give)
    }

    /// Works on a query for what is left of the turn.
    ///
    /// - Returns: Whether it has ended.
    private func advance(_ query: RunningQuery) -> Bool {
        if query.ticket.isCancelled {
            query.end(.failure(ServiceError(.operationCancelled, "the query's call has ended")))
            return true
        }
        let loop = loop
        guard let results = query.work(&queryBudget, now: { loop.currentNanoseconds }) else { return false }
        let began = loop.currentNanoseconds
        query.end(.success(answer(to: query, results)))
        queryBudget.spend(nanoseconds: loop.currentNanoseconds - began)
        return true
    }

    private func answer(to query: RunningQuery, _ results: QueryResults) -> [UInt8] {
        if query.explains { return coder.encodeExplainResponse(query.plan) }
        let cursor = results.next.map { cursorSealer.seal($0, binding: query.cursorBinding()) }
        return coder.encodeQueryResponse(QueryPage(matches: results.matches, cursor: cursor ?? []))
    }

    private func continueQueriesNextTurn() {
        guard !queries.isScheduled else { return }
        queries.isScheduled = true
        loop.execute { [self] in
            queries.isScheduled = false
            while queryBudget.isLeft, let query = queries.popFirst() {
                if !advance(query) { queries.append(query) }
            }
            if !queries.isEmpty { continueQueriesNextTurn() }
        }
    }
}
