/// Fetching: the zones that changed, and then each zone's changes (Documentation/CloudKit.md, The sync engine, 6).
extension SyncEngineStateMachine {
    struct FetchCycle: Sendable {
        enum Phase: Sendable {
            case begin
            case databaseOptions
            case database
            case zoneOptions
            case chooseZone
            case pageOptions(CKRecordZone.ID)
            case zone(CKRecordZone.ID)
            case end
            case over
        }

        let context: CKSyncEngine.FetchChangesContext
        var callIDs: [UInt64]
        var options: CKSyncEngine.FetchChangesOptions
        var phase = Phase.begin
        var isCancelled = false
        var isToldOver = false
        var isStateTold = false
        /// Why the cycle ends early.
        var failure: CKError?
        var failedZones: [CKRecordZone.ID: CKError] = [:]
        /// The zone that the delegate was told the begin of.
        var openZone: CKRecordZone.ID?
        /// Zones that had their turn.
        var fetchedZones: Set<CKRecordZone.ID> = []
        /// Tokens are given up once in a cycle: a server that always says they expired is not asked for ever.
        var expiredZones: Set<CKRecordZone.ID> = []
        /// Zones that turned out to be others than those of their tokens, and for whose deletions the database's
        /// changes were asked for again.
        var zonesMadeAgain: Set<CKRecordZone.ID> = []
        var isDatabaseExpired = false
        /// How often the engine had heard of changes to the database when it asked for them last, and whether the
        /// answer held all.
        var pushesAtRequest: UInt64 = 0
        /// The last page of a fetch from the start, which waits until it is known why zones are gone.
        var lastPage: SyncEngineAnswer.DatabasePage?
        var deletionReasons: [CKRecordZone.ID: CKDatabase.DatabaseChange.Deletion.Reason]?
        var hasAllZones = false

        var isBegun: Bool {
            if case .begin = phase { return false }
            return true
        }
    }

    mutating func beginFetch(
        _ reason: CKSyncEngine.SyncReason, _ options: CKSyncEngine.FetchChangesOptions, callIDs: [UInt64]
    ) {
        if options.scope == .all { schedule.fetchBegan() }
        fetchCycle = FetchCycle(
            context: CKSyncEngine.FetchChangesContext(reason: reason, options: options), callIDs: callIDs,
            options: options)
    }

    mutating func advanceFetch(now: UInt64) {
        guard let cycle = fetchCycle else { return }
        if cycle.isCancelled {
            switch cycle.phase {
            case .databaseOptions, .database, .zoneOptions, .chooseZone:
                fetchCycle!.failure = cycle.failure ?? .operationsCancelled
                fetchCycle!.phase = .end
            case .pageOptions(let zoneID), .zone(let zoneID):
                fetchCycle!.failure = cycle.failure ?? .operationsCancelled
                fetchCycle!.failedZones[zoneID] = fetchCycle!.failure
                fetchCycle!.phase = .end
            case .begin, .end, .over: break
            }
        }
        switch fetchCycle!.phase {
        case .begin:
            fetchCycle!.phase = .databaseOptions
            tell(.willFetchChanges(.init(context: cycle.context)))
        case .databaseOptions:
            fetchCycle!.phase = .database
            ask(.fetchOptions(cycle.context), .fetchOptions)
        case .database:
            fetchCycle!.pushesAtRequest = databasePushes
            // From the start: what is not among the zones that there are was deleted meanwhile.
            if state.databaseToken == nil {
                state.unconfirmedZones = UniqueZones()
                for zoneID in state.zoneTokens.keys { state.unconfirmedZones.insert(zoneID) }
            }
            request(.databaseChanges(since: state.databaseToken))
        case .zoneOptions:
            let isAnythingLeft = state.unfetchedZones.list.contains { !cycle.fetchedZones.contains($0) }
            fetchCycle!.phase = isAnythingLeft ? .chooseZone : .end
            if isAnythingLeft { ask(.fetchOptions(cycle.context), .fetchOptions) }
        case .chooseZone:
            let candidates = state.unfetchedZones.list.filter {
                cycle.options.scope.contains($0) && !cycle.fetchedZones.contains($0)
            }
            guard let zoneID = cycle.options.prioritizedZoneIDs.first(where: candidates.contains) ?? candidates.first
            else {
                fetchCycle!.phase = .end
                return
            }
            fetchCycle!.fetchedZones.insert(zoneID)
            fetchCycle!.openZone = zoneID
            fetchCycle!.phase = .zone(zoneID)
            tell(.willFetchRecordZoneChanges(.init(zoneID: zoneID, startsOver: state.zoneTokens[zoneID] == nil)))
        case .pageOptions(let zoneID):
            fetchCycle!.phase = .zone(zoneID)
            ask(.fetchOptions(cycle.context), .fetchOptions)
        case .zone(let zoneID):
            // The delegate has thought better of it: what is left of the zone waits.
            guard cycle.options.scope.contains(zoneID) else { return closeZone(zoneID, .zoneLeftOut) }
            pushedZones.remove(zoneID)
            request(.zoneChanges(zoneID, since: state.zoneTokens[zoneID]))
        case .end:
            if let zoneID = cycle.openZone {
                fetchCycle!.openZone = nil
                tell(
                    .didFetchRecordZoneChanges(
                        .init(zoneID: zoneID, error: fetchCycle!.failedZones[zoneID] ?? fetchCycle!.failure)))
            }
            fetchCycle!.phase = .over
            if !cycle.isToldOver { tell(.didFetchChanges(.init(context: cycle.context))) }
            fetchCycle!.isToldOver = true
        case .over:
            if dirtySince != nil, !cycle.isStateTold {
                fetchCycle!.isStateTold = true
                updateState()
                return
            }
            fetchCycle = nil
            fetchEnded(cycle, now: now)
        }
    }

    private mutating func fetchEnded(_ cycle: FetchCycle, now: UInt64) {
        let error: CKError? =
            if let failure = cycle.failure {
                failure
            } else if !cycle.failedZones.isEmpty {
                CKError.partialFailure(
                    Dictionary(uniqueKeysWithValues: cycle.failedZones.map { (AnyHashable($0), $1 as any Error) }))
            } else {
                nil
            }
        // What holds up the zones that have to be fetched again.
        if let cause = cycle.failure ?? cycle.failedZones.values.first(where: \.isTransient) {
            schedule.fetchFailed(cause, now: now)
        } else if error == nil {
            schedule.fetchSucceeded()
        }
        // Whatever its scope was, a fetch asks for all zones that changed: those it left out are known to be behind.
        if cycle.hasAllZones, cycle.pushesAtRequest == databasePushes {
            knowsAllZones = true
            headsReached += 1
        }
        finish(cycle.callIDs, error.map { .failure($0) } ?? .success(()))
    }

    mutating func databaseChangesFetched(_ result: Result<SyncEngineAnswer.DatabasePage, CKError>, now: UInt64) {
        guard fetchCycle != nil else { preconditionFailure("changes came that no fetch asked for") }
        switch result {
        case .failure(let error) where error.code == .changeTokenExpired && !fetchCycle!.isDatabaseExpired:
            fetchCycle!.isDatabaseExpired = true
            state.databaseToken = nil
            // Changes that are fetched from the start hold no deletions from before it.
            state.ownDeletedZones = UniqueZones()
            markDirty(now: now)
        case .failure(let error):
            fetchCycle!.failure = error
            fetchCycle!.phase = .end
        case .success(let page) where fetchCycle!.deletionReasons == nil && !zonesMissing(behind: page).isEmpty:
            fetchCycle!.lastPage = page
            request(.deletionReasons(zonesMissing(behind: page)))
        case .success(let page):
            // The delegate knows of deletions that this device sent itself. Whatever it holds of such a zone belongs to
            // the zone that was made after it.
            let earlierDeletions = page.earlierDeletions.filter { !state.ownDeletedZones.contains($0.zoneID) }
            for deletion in page.earlierDeletions {
                if state.ownDeletedZones.contains(deletion.zoneID) {
                    state.ownDeletedZones.remove(deletion.zoneID)
                } else {
                    zoneIsGone(deletion.zoneID, now: now)
                }
            }
            for deletion in page.deletions { zoneDeletionFetched(deletion.zoneID, now: now) }
            for modification in page.modifications {
                state.unfetchedZones.insert(modification.zoneID)
                state.unconfirmedZones.remove(modification.zoneID)
                fetchCycle!.fetchedZones.remove(modification.zoneID)
            }
            let deletions = earlierDeletions + page.deletions + (page.moreComing ? [] : missingZones(now: now))
            fetchCycle!.hasAllZones = !page.moreComing
            fetchCycle!.phase = page.moreComing ? .databaseOptions : .zoneOptions
            if page.modifications.isEmpty, deletions.isEmpty {
                if !page.earlierDeletions.isEmpty { markDirty(now: now) }
                apply(.databasePage(page.token), now: now)
            } else {
                tell(
                    .fetchedDatabaseChanges(.init(modifications: page.modifications, deletions: deletions)),
                    .databasePage(page.token))
                markDirty(now: now)
            }
        }
    }

    mutating func zoneChangesFetched(_ result: Result<SyncEngineAnswer.ZonePage, CKError>, now: UInt64) {
        guard case .zone(let zoneID)? = fetchCycle?.phase else {
            preconditionFailure("a zone's changes came that no fetch asked for")
        }
        switch result {
        case .failure(let error) where error.saysZoneMadeAgain && state.zoneTokens[zoneID] != nil:
            zoneMadeAgain(zoneID, error, now: now)
        case .failure(let error)
        where error.code == .changeTokenExpired && !fetchCycle!.expiredZones.contains(zoneID):
            fetchCycle!.expiredZones.insert(zoneID)
            state.zoneTokens[zoneID] = nil
            // The delegate is told that what comes next is the whole zone.
            closeZone(zoneID, error)
            state.unfetchedZones.insert(zoneID)
            fetchCycle!.fetchedZones.remove(zoneID)
            markDirty(now: now)
        case .failure(let error):
            fetchCycle!.failedZones[zoneID] = error
            // A zone that is gone has nothing to fetch. Its deletion comes with the database's changes.
            if error.code == .zoneNotFound || error.code == .userDeletedZone {
                state.unfetchedZones.remove(zoneID)
                databaseChanged()
                schedule.wantFetch(now: now)
                markDirty(now: now)
            }
            if error.concernsConnection {
                fetchCycle!.failure = error
                fetchCycle!.phase = .end
            } else {
                closeZone(zoneID, error)
            }
        case .success(let page):
            let effect = Effect.zonePage(zoneID, page.token, isLast: !page.moreComing)
            if page.modifications.isEmpty, page.deletions.isEmpty {
                apply(effect, now: now)
            } else {
                tell(
                    .fetchedRecordZoneChanges(.init(modifications: page.modifications, deletions: page.deletions)),
                    effect)
            }
            if page.moreComing { fetchCycle!.phase = .pageOptions(zoneID) } else { closeZone(zoneID, nil) }
        }
    }

    /// The zone that the delegate knows was deleted, and another has its name, since the database's changes were asked
    /// for. They say why, which an app must know that keeps its records for one reason and drops them for another: so
    /// they are asked for again, and tell the deletion. Where they don't, as to an engine that got them before it knew
    /// what to do with them, the token proves that it was the delegate's zone that went. Then the new zone is fetched
    /// from its start.
    private mutating func zoneMadeAgain(_ zoneID: CKRecordZone.ID, _ error: CKError, now: UInt64) {
        closeZone(zoneID, error)
        state.unfetchedZones.insert(zoneID)
        fetchCycle!.fetchedZones.remove(zoneID)
        markDirty(now: now)
        if fetchCycle!.zonesMadeAgain.insert(zoneID).inserted {
            fetchCycle!.phase = .databaseOptions
            return
        }
        zoneIsGone(zoneID, now: now)
        state.unfetchedZones.insert(zoneID)
        tell(
            .fetchedDatabaseChanges(
                .init(modifications: [.init(zoneID: zoneID)], deletions: [.init(zoneID: zoneID, reason: .deleted)])))
    }

    private mutating func closeZone(_ zoneID: CKRecordZone.ID, _ error: CKError?) {
        fetchCycle!.openZone = nil
        fetchCycle!.phase = .zoneOptions
        tell(.didFetchRecordZoneChanges(.init(zoneID: zoneID, error: error)))
    }
}

extension CKError {
    fileprivate static var zoneLeftOut: CKError {
        CKError(
            .operationCancelled, message: "the delegate's options leave the zone out; it is fetched when they name it")
    }
}
