package import BrumeModel

extension Database {
    /// Saves and deletes zones, each by itself. Saving a zone that exists succeeds and changes nothing; deleting a
    /// missing zone succeeds.
    ///
    /// A deleted zone takes its records and its subscriptions with it. The subscriptions are notified: zone
    /// subscriptions of the change, query subscriptions of the records if they ask for deletions. A zone made again
    /// under the name is empty and has another incarnation, and tokens of the earlier one have expired. A zone that is
    /// both saved and deleted in one request fails twice.
    ///
    /// - Parameters:
    ///   - deletionReason: The reason that the feed reports; `.deleted` for what a client asks.
    ///   - quota: Limits what ``quotaBytes`` may reach; nil for no limit.
    package func modifyZones(
        _ request: ModifyZonesRequest, caller: Caller, nowMilliseconds: Int64, quota: StorageQuota? = nil,
        deletionReason: ZoneDeletionReason = .deleted
    ) -> Decision<ModifyZonesResult> {
        assert(answers(request.database), "a request was routed to a database of another scope")
        if !isOwn(caller), !caller.isAnonymous { return leaveZones(request, caller, nowMilliseconds: nowMilliseconds) }
        if let refusal = zoneRefusal(of: caller) {
            return Decision(
                answer: ModifyZonesResult(
                    saves: request.saves.map { _ in .failure(refusal) },
                    deletions: request.deletions.map { _ in refusal }),
                commit: nil)
        }
        var builder = CommitBuilder(sequence: sequence + 1)
        var result = ModifyZonesResult()
        let saved = Set(request.saves.map(\.name))
        let deleted = Set(request.deletions.map(\.name))
        for zone in request.saves {
            result.saves.append(
                deleted.contains(zone.name)
                    ? .failure(Database.savedAndDeleted)
                    : save(zone, quota, into: &builder).map { Database.answer(for: zoneStates[$0]) })
        }
        matchDeletion(ofZones: request.deletions.filter { !saved.contains($0.name) }, into: &builder)
        for zone in request.deletions {
            result.deletions.append(
                saved.contains(zone.name) ? Database.savedAndDeleted : delete(zone, deletionReason, into: &builder))
        }
        return Decision(answer: result, commit: finish(builder, nowMilliseconds: nowMilliseconds))
    }

    private static let savedAndDeleted = ServiceError(
        .invalidArguments, "a zone is both saved and deleted in one request; send two requests")

    private func zoneRefusal(of caller: Caller) -> ServiceError? {
        if id.scope == .public {
            return ServiceError(
                .badDatabase, "the public database has no zones but its default zone; use a private database")
        }
        if caller.isAnonymous { return ServiceError(.notAuthenticated, "zones need an account; sign in") }
        return nil
    }

    private func save(
        _ zone: ZoneID, _ quota: StorageQuota?, into builder: inout CommitBuilder
    ) -> Result<Int, ServiceError> {
        guard zone.owner.isEmpty || zone.owner == Names.currentUser || zone.owner == id.owner else {
            return .failure(ServiceError(.permissionFailure, "a zone can't be made in another user's database"))
        }
        if case .success(let index) = zoneIndex(of: zone) { return .success(index) }
        if let problem = Names.problemWithZoneName(zone.name) {
            return .failure(ServiceError(.invalidArguments, problem))
        }
        // The default zone is not a custom one.
        if zoneIndexOfIncarnation.count - 1 >= Limits.zonesPerDatabase {
            return .failure(
                ServiceError(
                    .limitExceeded,
                    "the database has \(Limits.zonesPerDatabase) zones, the most it may have; delete one first"))
        }
        if let refusal = overheadRefusal(quota) { return .failure(refusal) }
        let position = builder.nextPosition()
        let index = createZone(named: zone.name, at: position)
        builder.append(.zoneCreation(zone: position.rawValue, name: zone.name))
        builder.touch(
            TouchedZone(
                zone: zoneStates[index].id, incarnation: position.rawValue, recordTypes: [], isNew: true,
                isDeleted: false))
        return .success(index)
    }

    func delete(
        _ zone: ZoneID, _ reason: ZoneDeletionReason = .deleted, into builder: inout CommitBuilder
    ) -> ServiceError? {
        if zone.isDefault {
            return ServiceError(.invalidArguments, "the default zone can't be deleted; delete its records")
        }
        guard case .success(let index) = zoneIndex(of: zone) else { return nil }
        let incarnation = zoneStates[index].incarnation
        for kept in subscriptionTable.subscriptions(ofZoneNamed: zone.name) {
            if kept.query == nil { builder.ended(kept) }
            builder.append(.subscriptionDeletion(id: kept.subscription.id, owner: kept.owner))
            removeSubscription(kept.subscription.id, of: kept.owner)
        }
        builder.append(.zoneDeletion(zone: incarnation, name: zone.name, reason: reason))
        deleteZone(at: index, reason: reason, position: builder.nextPosition())
        builder.touch(
            TouchedZone(
                zone: ZoneID(name: zone.name), incarnation: incarnation, recordTypes: [], isNew: false, isDeleted: true)
        )
        return nil
    }

    // MARK: Shared with replay

    /// Makes a zone whose incarnation is its creation's position. The name must be free.
    func createZone(named name: String, at position: ChangePosition) -> Int {
        var state = ZoneState(name: name, incarnation: position.rawValue, lastChange: position)
        let index: Int
        if let known = zoneIndexOfName[name] {
            guard let reason = zoneStates[known].deletion else {
                preconditionFailure("a zone is made whose name is taken")
            }
            // The deletion keeps its entry in the feed: a device that knew the earlier zone is told of its deletion
            // first.
            state.earlierDeletion = EarlierDeletion(position: zoneStates[known].lastChange, reason: reason)
            index = known
            zoneStates[known] = state
        } else {
            if let free = freeZoneIndexes.popLast() {
                index = free
                zoneStates[free] = state
            } else {
                index = zoneStates.count
                zoneStates.append(state)
            }
            zoneIndexOfName[name] = index
        }
        zoneIndexOfIncarnation[state.incarnation] = index
        noteChange(inZoneAt: index, isNewEntry: true)
        return index
    }

    /// Drops all that a zone holds, with work of a bounded size; its name and the deletion stay in the database's feed.
    func deleteZone(at index: Int, reason: ZoneDeletionReason, position: ChangePosition) {
        // Before its indexes are dropped.
        if !queryRuns.isEmpty { keepForQueries(zoneAt: index) }
        zoneIndexOfIncarnation[zoneStates[index].incarnation] = nil
        zoneIndexes[zoneStates[index].incarnation] = nil
        forgetRings(ofZone: zoneStates[index].incarnation)
        var state = ZoneState(
            name: zoneStates[index].name, incarnation: zoneStates[index].incarnation, lastChange: position)
        state.deletion = reason
        // This deletion stands for all earlier zones of the name.
        if zoneStates[index].earlierDeletion != nil { zoneFeed.noteStale() }
        replaceZone(at: index, with: state)
        noteChange(inZoneAt: index, isNewEntry: false)
    }

    /// Deleted zones that the database's feed still reports.
    var deletedZoneCount: Int { zoneStates.count - zoneIndexOfIncarnation.count - freeZoneIndexes.count }

    /// Forgets the older half of the deleted zones when there are too many; tokens that need them expire.
    func forgetDeletedZones() {
        // Called after every commit, and usually there are none.
        if zoneStates.count == zoneIndexOfIncarnation.count { return }
        let count = deletedZoneCount
        if count < max(history.deletedZones, zoneIndexOfIncarnation.count - 1) { return }
        var left = count / 2
        for entry in zoneFeed.entries() where left > 0 {
            let index = Int(entry.slot)
            if zoneStates[index].deletion == nil || zoneStates[index].lastChange != entry.position { continue }
            zoneIndexOfName[zoneStates[index].name] = nil
            zoneStates[index] = .forgotten
            freeZoneIndexes.append(index)
            zoneFeedFloor = entry.position
            left -= 1
        }
        zoneFeed.compactWhole { zoneStates[Int($0.slot)].isTold(at: $0.position) }
    }
}
