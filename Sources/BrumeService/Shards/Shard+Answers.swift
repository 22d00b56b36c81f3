internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// What requests do in a database, and what their answers say. On the loop of the database.
extension Shard {
    /// What a request is answered with, except for queries.
    func answer(
        _ request: DataRequest, in loaded: LoadedDatabase, identity: Identity, share: ClientShare, operation: Operation
    ) throws(ServiceError) -> Answer {
        if request.shareURL != nil { return try answer(toLink: request, in: loaded, identity: identity, share: share) }
        let database = loaded.database
        let caller: Caller
        // The user whose tokens of a zone are bound to them, since its owner is another.
        var participant = ""
        if let zones = request.sharedZones {
            caller = try Authorisation.grantOfShared(in: database.id, to: identity)
            participant = caller.user
            tellOfLost(zones, in: loaded, identity: identity, by: share.key)
        } else {
            caller = try Authorisation.grant(
                in: database.id, to: identity, access: access(of: identity, to: database.id))
        }
        let now = wallClockMilliseconds
        switch request {
        case .modifyRecords(let request):
            if loaded.hasSeveralWriters, !loaded.indexDebts.mayAdd(share.key) { throw IndexDebts.refusal }
            if let interceptor = server.configuration.interceptor {
                return try modify(
                    intercepted(request, interceptor, database, identity), in: loaded, caller: caller,
                    identity: identity, share: share, operation: operation)
            }
            return try modify(
                request, in: loaded, caller: caller, identity: identity, share: share, operation: operation)
        case .modifyZones(let request):
            var decision = database.modifyZones(
                request, caller: caller, nowMilliseconds: now,
                quota: server.quota(of: loaded, for: identity, share.key))
            let firstFetches = decision.answer.saves.map { save -> ChangeToken? in
                if case .success(let zone) = save { database.firstFetchToken(of: zone.id) } else { nil }
            }
            return try commit(
                &decision.commit, .zones(decision.answer, firstFetches: firstFetches), operation, to: loaded,
                identity: identity, share: share)
        case .modifySubscriptions(let request):
            var decision = database.modifySubscriptions(
                request, caller: caller, nowMilliseconds: now,
                quota: server.quota(of: loaded, for: identity, share.key))
            return try commit(
                &decision.commit, .subscriptions(decision.answer), operation, to: loaded, identity: identity,
                share: share)
        case .fetchRecords(let request):
            return .records(database.fetchRecords(request, caller: caller))
        case .query, .explainQuery: preconditionFailure("a query runs in slices")
        case .enrolment: preconditionFailure("an enrolment is about no database")
        case .shareMetadata, .requestShareAccess, .acceptShare: preconditionFailure("a share's URL leads elsewhere")
        case .zoneChanges(let request):
            let scope = sealer.scope(database.id, zone: request.zone.name, of: participant)
            let token = try sealer.open(request.token, kind: .zone, scope: scope)
            var page = try database.zoneChanges(
                zone: request.zone, since: token, resultsLimit: request.resultsLimit, desiredKeys: request.desiredKeys,
                caller: caller)
            if let interceptor = server.configuration.interceptor {
                interceptor.willAnswer(&page, to: request, of: InterceptedPeer(identity))
            }
            return .zoneChanges(
                ZoneChangesPage(
                    records: page.records, deletions: page.deletions, token: sealer.seal(page.token, scope: scope),
                    moreComing: page.moreComing, clientToken: page.clientToken))
        case .databaseChanges(let request) where request.database == .shared:
            return .databaseChanges(try sharedChanges(request, in: database))
        case .databaseChanges(let request):
            let scope = sealer.scope(database.id, zone: nil)
            let token = try sealer.open(request.token, kind: .database, scope: scope)
            let page = try database.databaseChanges(since: token, resultsLimit: request.resultsLimit)
            return .databaseChanges(
                DatabaseChangesPage(
                    changed: page.changed, deletions: page.deletions.map { .init(zone: $0.zone, reason: $0.reason) },
                    token: sealer.seal(page.token, scope: scope), moreComing: page.moreComing,
                    earlierDeletions: page.earlierDeletions.map { .init(zone: $0.zone, reason: $0.reason) }))
        case .fetchZones(_, let zones):
            return .zones(
                zones.map { zone in
                    database.zone(zone, for: caller).map {
                        $0.with(
                            database.firstFetchToken(of: $0.id, for: caller), sealed: sealer, in: database.id,
                            of: participant)
                    }
                })
        case .listZones(.shared):
            return .allZones(database.sharedZones.zones.map { Zone.shared($0.id, isWhole: $0.isWhole) })
        case .listZones:
            return .allZones(database.zones)
        case .fetchSubscriptions(let scope, let ids):
            return .subscriptions(
                ids.map { id in
                    database.subscription(id, of: caller, in: scope).map { .success($0) }
                        ?? .failure(ServiceError(.unknownItem, "there is no subscription with this id"))
                })
        case .listSubscriptions(let scope):
            return .allSubscriptions(database.subscriptions(of: caller, in: scope))
        case .appendStatement(let request):
            return try append(request, to: loaded, identity: identity, share: share)
        case .fetchStatements(let number):
            return .statements(
                StatementsPage(
                    statements: Array(database.statements(after: number)), last: database.statements.last))
        case .appendRingEntry(let request):
            return try append(request, to: loaded, caller: caller, identity: identity, share: share)
        case .fetchRing(let request):
            return .ring(try ringPage(request, in: loaded, caller: caller))
        case .joinRing(let request):
            return try join(request, in: loaded, caller: caller, identity: identity, share: share)
        case .fetchRingStatements(let request):
            return .ringStatements(try ringStatements(request, in: database, caller: caller))
        case .findRingRoots(let request):
            return .ringRoots(try ringRoots(request, in: loaded, caller: caller))
        case .listMisplacedRecords(let request):
            return .misplacedRecords(try misplacedRecords(request, in: loaded, caller: caller))
        }
    }

    private func modify(
        _ request: ModifyRecordsRequest<CheckedFields>, in loaded: LoadedDatabase, caller: Caller, identity: Identity,
        share: ClientShare, operation: Operation
    ) throws(ServiceError) -> Answer {
        let database = loaded.database
        let hasShares = request.zones.contains { !$0.shares.isEmpty }
        var decision = database.modifyRecords(
            hasShares ? refusingOwnInvitations(request, in: database.id, identity) : request, caller: caller,
            nowMilliseconds: wallClockMilliseconds,
            quota: server.quota(of: loaded, for: identity, share.key),
            mayUseIndexReserve: loaded.hasSeveralWriters && loaded.indexDebts.hasLittle(share.key),
            grants: grants(of: request, in: loaded, identity: identity),
            takenNames: request.database == .shared ? takenNames(for: identity) : .unlimited,
            keyRefusals: try keyRefusals(of: request, in: loaded, caller: caller))
        if request.database == .shared { noteTakenNames(in: decision.answer, told: identity) }
        figures.modified(decision.answer)
        return try commit(
            &decision.commit, .records(decision.answer), operation, to: loaded, identity: identity, share: share)
    }

    /// The request as a test wants it.
    private func intercepted(
        _ request: ModifyRecordsRequest<CheckedFields>, _ interceptor: any ServerInterceptor, _ database: Database,
        _ identity: Identity
    ) -> ModifyRecordsRequest<CheckedFields> {
        var request = request
        interceptor.willModify(
            &request,
            in: InterceptedDatabase(
                scope: database.id.scope, recordCount: database.recordCount,
                userRecordCount: { database.userRecordCount }, holdsRecord: { database.holdsRecord($0, in: $1) }),
            of: InterceptedPeer(identity))
        request.forgetWhatIsKnown()
        return request
    }

    /// What a client is answered about an operation that did this, now or when it is sent again.
    ///
    /// - Parameter encoded: The outcome as it is remembered, if it is.
    func answer(_ outcome: OperationOutcome, encoded: [UInt8]?, in database: Database) -> Answer {
        switch outcome {
        case .records(let zones): return encoded.map { .recordsOutcome($0) } ?? .recordsModified(zones)
        case .zones(var result, let firstFetches):
            for (index, firstFetch) in firstFetches.enumerated() {
                result.saves[index] = result.saves[index].map { $0.with(firstFetch, sealed: sealer, in: database.id) }
            }
            return .zonesModified(result)
        case .subscriptions(let result): return .subscriptionsModified(result)
        }
    }

    /// Appends the commit of a decision, if there is one, with the outcome that a retry of the operation is answered
    /// from. The commit is passed on in place, as everywhere: a copy would count a reference for each of its parts.
    private func commit(
        _ commit: inout Commit?, _ outcome: OperationOutcome, _ operation: Operation, to loaded: LoadedDatabase,
        identity: Identity, share: ClientShare
    ) throws(ServiceError) -> Answer {
        var encoded: [UInt8]?
        if commit != nil {
            if !operation.key.isEmpty {
                commit!.entry.operationID = operation.key
                commit!.entry.operationDigest = operation.digest
                commit!.entry.operationUser = operation.user
                let remembered = loaded.database.remember(
                    operation: operation.key, outcome, digest: operation.digest, user: operation.user)
                commit!.entry.operationOutcome = remembered
                encoded = remembered
            }
            let origin = ChangeOrigin(identity, in: loaded.database.id)
            guard append(commit!, to: loaded, origin: origin, by: share) else { throw .databaseLost }
        }
        return answer(outcome, encoded: encoded, in: loaded.database)
    }
}

extension Zone {
    /// The zone with the token from which its first fetch goes on, if there is one.
    fileprivate func with(
        _ token: ChangeToken?, sealed sealer: TokenSealer, in database: DatabaseID, of participant: String = ""
    ) -> Zone {
        guard let token else { return self }
        return Zone(
            id: id, capabilities: capabilities,
            changeToken: sealer.seal(token, scope: sealer.scope(database, zone: id.name, of: participant)),
            isShared: isShared)
    }
}
