internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// Requests that share records with many others below them: their trees are made ready in slices, between which the
/// loop does everything else, and then the request is decided as any other is.
extension Shard {
    /// The trees that a request needs before it is decided; none for most.
    private func largeTrees(
        of request: DataRequest, in loaded: LoadedDatabase, identity: Identity, share: ClientShare
    ) -> [LargeTree] {
        // What is refused anyway is refused at once.
        guard case .modifyRecords(let modification) = request, request.maySetUpShares,
            identity.owns(loaded.database.id), (writeRefusal ?? share.undurableRefusal) == nil,
            !isRemembered(request, in: loaded, identity: identity)
        else { return [] }
        return loaded.database.largeTrees(
            of: modification, above: server.configuration.sharedRecordsAtOnce)
    }

    /// Runs a request now, or when the trees that it needs are ready.
    func runWithTrees(
        _ request: DataRequest, in loaded: LoadedDatabase, identity: Identity, share: ClientShare,
        _ give: @escaping TreeWork.Give
    ) {
        let trees = largeTrees(of: request, in: loaded, identity: identity, share: share)
        if trees.isEmpty {
            let (outcome, position) = run(request, in: loaded, identity: identity, share: share)
            return give(outcome, position)
        }
        do throws(ServiceError) {
            guard treeWorks.count < ServiceLimits.treeWorksPerLoop,
                treeWorks.count(of: share.key) < ServiceLimits.treeWorksPerAccount
            else { throw Database.treesAreBusy }
            treeWorks.append(
                try TreeWork(
                    request, sharing: trees, in: loaded, identity: identity, share: share,
                    nowNanoseconds: loop.currentNanoseconds, give),
                of: share.key)
        } catch {
            return give(.failure(error), loaded.lastPosition)
        }
        continueQueriesNextTurn()
    }

    /// Goes on with each request that waits for its trees, as far as the turn has time for it.
    func continueTrees() {
        let now = loop.currentNanoseconds
        for _ in 0..<treeWorks.count {
            guard let (account, work) = treeWorks.popFirst() else { return }
            if work.isLate(at: now) {
                end(work, .failure(Database.treesAreBusy))
            } else if queryBudget.isLeft {
                charge(timeShare(of: account)) {
                    if !advance(work) { treeWorks.append(work, of: account) }
                }
            } else {
                treeWorks.append(work, of: account)
            }
        }
    }

    private func end(_ work: TreeWork, _ outcome: Outcome) {
        work.end()
        work.give(outcome, work.loaded.lastPosition)
    }

    /// Returns whether the request was answered.
    private func advance(_ work: TreeWork) -> Bool {
        let loaded = work.loaded
        do throws(ServiceError) {
            if loaded.isLost { throw .databaseLost }
            let loop = loop
            guard
                try work.work(
                    units: server.configuration.treeUnitsPerTurn, &queryBudget, now: { loop.currentNanoseconds })
            else { return false }
            // The token may have been revoked meanwhile, or the account removed.
            guard server.isStillValid(work.identity) else { throw ServerCore.unknownToken }
        } catch {
            end(work, .failure(error))
            return true
        }
        let began = loop.currentNanoseconds
        let (outcome, _) = run(work.request, in: loaded, identity: work.identity, share: work.share)
        queryBudget.spend(nanoseconds: loop.currentNanoseconds - began)
        end(work, outcome)
        return true
    }
}
