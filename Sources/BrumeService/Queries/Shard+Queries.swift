internal import BrumeModel
internal import BrumeRecord
internal import BrumeStore
internal import BrumeSystem

/// Queries: a page may cost looking at every record of a database, so they run in slices between which the loop does
/// everything else.
///
/// In one turn all queries of the loop together take ``ServiceLimits/querySliceNanoseconds`` and the step that goes
/// over it, by the clock that all others wait by. A query that comes when no other waits begins at once, and mostly
/// ends at once; the others take turns, one account after the other, so that nobody's query waits for all of somebody
/// else's. A query's time is charged to its account: see `TimeShare`.
extension Shard {
    /// Begins a query; `give` is called once, in this turn or a later one.
    func startQuery(
        _ request: QueryRequest, explains: Bool, in loaded: LoadedDatabase, identity: Identity, ticket: QueryTicket,
        _ give: @escaping RunningQuery.Give
    ) {
        let query: RunningQuery
        let began = loop.currentNanoseconds
        do throws(ServiceError) {
            guard queries.count < ServiceLimits.queriesPerLoop else {
                throw ServiceError(
                    .serviceUnavailable,
                    "\(queries.count) queries run on this part of the server, which is the limit; try again shortly",
                    retryAfterMilliseconds: 1_000)
            }
            guard queries.count(of: ticket.account) < ServiceLimits.queriesPerAccount else {
                throw ServiceError(
                    .requestRateLimited,
                    "\(ServiceLimits.queriesPerAccount) queries of this account run, which is the limit; wait for their answers",
                    retryAfterMilliseconds: 100)
            }
            query = try prepareQuery(
                request, explains: explains, in: loaded, identity: identity, ticket: ticket, give)
        } catch {
            // A failure may reveal a commit too: that a zone is gone.
            return give(.failure(error), loaded.lastPosition)
        }
        queryBudget.spend(nanoseconds: loop.currentNanoseconds - began)
        // Queries that wait come first.
        if queries.isEmpty, advance(query) { return }
        queries.append(query, of: query.account)
        continueQueriesNextTurn()
    }

    private func prepareQuery(
        _ request: QueryRequest, explains: Bool, in loaded: LoadedDatabase, identity: Identity, ticket: QueryTicket,
        _ give: @escaping RunningQuery.Give
    ) throws(ServiceError) -> RunningQuery {
        if let refusal = readRefusal(of: request.query, explains: explains, by: identity, in: loaded.database.id) {
            throw refusal
        }
        let isShared = request.database == .shared
        let query = try QueryRules.checked(
            request.query, caller: identity.userRecordName,
            followsCloudKit: server.configuration.followsCloudKitQueryRules)
        // Only computed for a cursor: most pages begin a query, and many end it, and the codes of a cursor take as long
        // as some of them.
        let binding = { [cursorSealer] in
            cursorSealer.binding(
                loaded.database.id, zone: request.zone?.name, caller: identity.userRecordName,
                query: QueryCoder.encode(request.query))
        }
        let after = request.cursor.isEmpty ? nil : try cursorSealer.open(request.cursor, binding: binding())
        let caller = isShared ? try Authorisation.grantOfShared(in: loaded.database.id, to: identity) : nil
        if isShared {
            if explains { throw Self.explainsOwnZonesAlone }
            tellOfLost(request.zone.map { [$0] } ?? [], in: loaded, identity: identity, by: ticket.account)
        }
        let run = try loaded.database.startQuery(
            query, zone: request.zone, after: after, resultsLimit: request.resultsLimit,
            desiredKeys: request.desiredKeys,
            searchableFields: searchableFields(ofType: query.recordType, for: identity), caller: caller)
        return RunningQuery(
            run, sharedZone: isShared ? request.zone : nil, of: request.query, by: identity,
            schemasVersion: schemasVersion, in: loaded, cursorBinding: binding,
            explains: explains, ticket: ticket, give)
    }

    private static let explainsOwnZonesAlone = ServiceError(
        .permissionFailure, "how a query runs is shown to the owner of its zone alone; run it, or ask them")

    /// Why the caller may not be answered: a role may have been taken away since the query was let in, on another loop
    /// or while it ran.
    private func readRefusal(
        of query: Query, explains: Bool, by identity: Identity, in database: DatabaseID
    ) -> ServiceError? {
        guard let access = access(of: identity, to: database) else { return nil }
        return access.refusalToAnswer(query) ?? (explains ? access.refusalToExplain(query) : nil)
    }

    /// Works on a query for what is left of the turn.
    ///
    /// - Returns: Whether it has ended.
    private func advance(_ query: RunningQuery) -> Bool {
        if query.ticket.isCancelled {
            query.end(.failure(ServiceError(.operationCancelled, "the query's call has ended")))
            return true
        }
        if query.loaded.isLost {
            query.end(.failure(.databaseLost))
            return true
        }
        let loop = loop
        guard let results = query.work(&queryBudget, now: { loop.currentNanoseconds }) else { return false }
        let began = loop.currentNanoseconds
        if query.schemasVersion != schemasVersion,
            let refusal = readRefusal(
                of: query.query, explains: query.explains, by: query.identity, in: query.database)
        {
            query.end(.failure(refusal))
        } else if query.hasLostZone {
            query.end(.failure(Database.noPartInZone))
        } else {
            query.end(.success(answer(to: query, results)))
        }
        queryBudget.spend(nanoseconds: loop.currentNanoseconds - began)
        // It may have made room for its own index.
        if query.loaded.database.hasPendingIndexes { bringIndexesInStep(of: query.loaded) }
        return true
    }

    private func answer(to query: RunningQuery, _ results: QueryResults) -> Answer {
        if query.explains { return .queryPlan(query.plan) }
        let cursor = results.next.map { cursorSealer.seal($0, binding: query.cursorBinding()) }
        var page = QueryPage(matches: results.matches, cursor: cursor ?? [])
        if let interceptor = server.configuration.interceptor {
            interceptor.willAnswer(&page, of: InterceptedPeer(query.identity))
        }
        return .queryPage(page)
    }

    /// Queries, indexes and shared trees have one budget; they take turns at going first, since each may use all of it.
    func continueQueriesNextTurn() {
        guard !queriesAreScheduled else { return }
        queriesAreScheduled = true
        loop.execute { [self] in
            queriesAreScheduled = false
            slicedTurnNumber += 1
            let kinds = treeWorks.isEmpty ? 2 : 3
            for place in 0..<kinds {
                switch (slicedTurnNumber + place) % kinds {
                case 0: continueIndexes()
                case 1: continueQueries()
                default: continueTrees()
                }
            }
            if !queries.isEmpty || !behindIndexes.isEmpty || !treeWorks.isEmpty { continueQueriesNextTurn() }
        }
    }

    private func continueQueries() {
        while queryBudget.isLeft, let (account, query) = queries.popFirst() {
            charge(timeShare(of: account)) {
                if !advance(query) { queries.append(query, of: account) }
            }
        }
    }

    // MARK: Indexes

    /// Has a database's indexes take over what its commits left to them, from the next turn on.
    func bringIndexesInStep(of loaded: LoadedDatabase) {
        behindIndexes.append(loaded)
        continueQueriesNextTurn()
    }

    private func continueIndexes() {
        while queryBudget.isLeft, let loaded = behindIndexes.popFirst() {
            // A database that was dropped is loaded without indexes.
            guard databases.known(loaded.database.id) === loaded else { continue }
            var before = loop.currentNanoseconds
            var isBehind = true
            while isBehind, queryBudget.isLeft {
                isBehind = loaded.database.applyPendingIndexes(ServiceLimits.indexStepUnits)
                let after = loop.currentNanoseconds
                queryBudget.spend(nanoseconds: after - before)
                charge(indexesOf: loaded, nanoseconds: after - before)
                before = after
            }
            if isBehind { behindIndexes.append(loaded) } else { databases.measure(loaded) }
        }
    }

    /// Charges what the indexes took to the accounts whose changes they took over: each commits less as long as its
    /// changes keep them busy.
    private func charge(indexesOf loaded: LoadedDatabase, nanoseconds: UInt64) {
        let pending = IndexDebts.work(pendingIn: loaded.database)
        for (account, spent) in loaded.indexDebts.worked(nanoseconds: nanoseconds, pending: pending) {
            timeShare(of: account).spend(nanoseconds: spent, count: 0, inTurn: turnNumber)
        }
    }
}
