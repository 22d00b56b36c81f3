package import BrumeModel

extension Database {
    /// Saves and deletes the caller's subscriptions, each by itself. A save replaces the subscription of the same id;
    /// saving one that is the same changes nothing. A subscription to a zone is deleted with its zone.
    ///
    /// In the public database every user has their own, under ids of their own: nobody sees, replaces or deletes
    /// another's.
    ///
    /// - Parameter quota: Limits what ``quotaBytes`` may reach; nil for no limit.
    package func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, caller: Caller, nowMilliseconds: Int64, quota: StorageQuota? = nil
    ) -> Decision<ModifySubscriptionsResult> {
        assert(answers(request.database), "a request was routed to a database of another scope")
        if let refusal = subscriptionRefusal(of: caller) {
            return Decision(
                answer: ModifySubscriptionsResult(
                    saves: request.saves.map { _ in .failure(refusal) },
                    deletions: request.deletions.map { _ in refusal }),
                commit: nil)
        }
        let owner = subscriptionOwner(caller, in: request.database)
        var builder = CommitBuilder(sequence: sequence + 1)
        var result = ModifySubscriptionsResult()
        let saved = Set(request.saves.map(\.id))
        for subscription in request.saves {
            var subscription = subscription
            subscription.owner = owner
            result.saves.append(save(subscription, caller: caller, quota, into: &builder))
        }
        for id in request.deletions {
            if saved.contains(id) {
                result.deletions.append(
                    ServiceError(.invalidArguments, "a subscription is both saved and deleted; send two requests"))
            } else if subscriptionTable.subscription(id, of: owner) == nil {
                result.deletions.append(
                    ServiceError(.unknownItem, "there is no subscription of that id; it may be deleted already"))
            } else {
                removeSubscription(id, of: owner)
                builder.append(.subscriptionDeletion(id: id, owner: owner))
                result.deletions.append(nil)
            }
        }
        return Decision(answer: result, commit: finish(builder, nowMilliseconds: nowMilliseconds))
    }

    /// The zone and database subscriptions that a commit fires: hints that something changed. The query subscriptions,
    /// which records fire, are in ``Commit/matches``.
    ///
    /// Changes in the default zone fire nothing. A subscription with a record type fires for changes of records of that
    /// type, and for the deletion of any zone, because the records of a deleted zone are not looked at.
    package func matchingSubscriptions(for commit: Commit) -> [KeptSubscription] {
        let hints = subscriptionTable.hints
        // Usually there are few, and all fire.
        if commit.endedHints.isEmpty, hints.allSatisfy({ Database.fires($0, for: commit) }) { return hints }
        // A zone's own subscriptions report its end, and were deleted with it.
        return commit.endedHints + hints.filter { Database.fires($0, for: commit) }
    }

    private static func fires(_ hint: KeptSubscription, for commit: Commit) -> Bool {
        // What happens in the shared database is no change of this one.
        if !hint.owner.isEmpty { return false }
        return switch hint.subscription.kind {
        case .zone(let zone, let recordType):
            commit.zones.contains {
                $0.incarnation != 0 && $0.zone.name == zone.name && $0.concerns(recordType)
            }
        case .database(let recordType): commit.zones.contains { $0.incarnation != 0 && $0.concerns(recordType) }
        case .query: false
        }
    }

    /// Finds the query subscriptions that the commit fires, and removes those among them that fire once.
    ///
    /// Such a removal is part of the commit that fires the subscription: after a crash either both exist or neither, so
    /// it never fires twice. This says nothing about delivery: an event that was not delivered when a server stops
    /// becomes "fetch from your token", like all events.
    func matchSubscriptions(into builder: inout CommitBuilder) {
        let matches = subscriptionMatcher.matches(
            of: builder.takeRecords(), in: subscriptionTable, gate: subscriptionGate)
        builder.add(matches)
        for match in matches.matches where match.subscription.query!.options.contains(.once) {
            let subscription = match.subscription.subscription
            removeSubscription(subscription.id, of: subscription.owner)
            builder.append(.subscriptionDeletion(id: subscription.id, owner: subscription.owner))
        }
    }

    /// Matches the records of zones that are about to be deleted against the query subscriptions that ask for
    /// deletions. Those of the zones themselves are included, so this runs before they are removed.
    ///
    /// Up to ``Limits/recordsToldPerZoneDeletion`` records are reported one by one; above that the subscribers are told
    /// to fetch.
    func matchDeletion(ofZones zones: [ZoneID], into builder: inout CommitBuilder) {
        if subscriptionTable.index.isEmpty { return }
        // Looks at the subscriptions once, however many zones there are.
        var concerned: [String?: (types: Set<String>, owners: Set<String>)] = [:]
        for kept in subscriptionTable.all {
            guard let query = kept.query, query.options.contains(.deletion) else { continue }
            concerned[kept.zoneName, default: ([], [])].types.insert(query.recordType)
            concerned[kept.zoneName]!.owners.insert(kept.owner)
        }
        if concerned.isEmpty { return }
        var left = Limits.recordsToldPerZoneDeletion
        var seen = Set<Int>()
        for zone in zones {
            guard case .success(let index) = zoneIndex(of: zone), !zoneStates[index].isDefault,
                zoneStates[index].liveCount > 0, seen.insert(index).inserted
            else { continue }
            let subscribers = [concerned[nil], concerned[zone.name]].compactMap(\.self)
            if subscribers.isEmpty { continue }
            left -= zoneStates[index].liveCount
            if left < 0 {
                var matches = CommitMatches()
                for subscriber in subscribers { matches.overflowingOwners.formUnion(subscriber.owners) }
                builder.add(matches)
                continue
            }
            for (_, record) in zoneStates[index].liveSlots
            where subscribers.contains(where: { $0.types.contains(record.type) }) {
                builder.note(
                    CommittedRecord(
                        zone: zoneStates[index].id, name: record.name, type: record.type, reason: .deleted,
                        bytes: record.bytes.array))
            }
        }
        if !builder.records.isEmpty { matchSubscriptions(into: &builder) }
    }

    func removeSubscription(_ id: String, of owner: String) {
        guard let slot = subscriptionTable.remove(id, of: owner) else { return }
        subscriptionMatcher.forget(slot)
        // The next sequence is that of the commit that is being made or replayed.
        if self.id.scope == .public, !hasSubscriptions(of: owner) { formerSubscribers.left(owner, at: sequence + 1) }
    }

    func putSubscription(_ subscription: Subscription) {
        put(KeptSubscription(subscription))
    }

    private func put(_ kept: KeptSubscription) {
        subscriptionMatcher.forget(subscriptionTable.put(kept))
        if id.scope == .public { formerSubscribers.returned(kept.owner) }
    }

    /// Whether a subscription from the disk is one that this database can have.
    func mayKeep(_ subscription: Subscription) -> Bool {
        if subscription.owner == Database.sharedSubscriber {
            if case .database = subscription.kind { return id.scope == .private }
            return false
        }
        if (id.scope == .public) == subscription.owner.isEmpty { return false }
        if case .query = subscription.kind { return true }
        return id.scope == .private
    }

    private func subscriptionRefusal(of caller: Caller) -> ServiceError? {
        if caller.isAnonymous { return ServiceError(.notAuthenticated, "subscriptions need an account; sign in") }
        if id.scope == .private, !caller.isOwner {
            return ServiceError(.permissionFailure, "only its owner may subscribe to a private database")
        }
        return nil
    }

    private func save(
        _ subscription: Subscription, caller: Caller, _ quota: StorageQuota?, into builder: inout CommitBuilder
    ) -> Result<Subscription, ServiceError> {
        if let problem = Names.problemWithSubscriptionID(subscription.id) {
            return .failure(ServiceError(.invalidArguments, problem))
        }
        let desiredKeys = subscription.notificationInfo?.desiredKeys.count ?? 0
        if desiredKeys > Limits.notificationDesiredKeys {
            return .failure(
                ServiceError(
                    .invalidArguments,
                    "a subscription asks for \(desiredKeys) keys; the limit is \(Limits.notificationDesiredKeys)"))
        }
        var subscription = subscription
        if subscription.owner == Database.sharedSubscriber {
            guard case .database = subscription.kind else { return .failure(Database.sharedHasDatabaseSubscriptions) }
        }
        switch kind(subscription.kind, caller: caller) {
        case .success(let kind): subscription.kind = kind
        case .failure(let error): return .failure(error)
        }
        let former = subscriptionTable.subscription(subscription.id, of: subscription.owner)?.subscription
        if former == subscription { return .success(subscription) }
        if former == nil, subscription.owner == Database.sharedSubscriber,
            sharedSubscriptions.count >= Limits.sharedSubscriptionsPerUser
        {
            return .failure(Database.tooManySharedSubscriptions)
        }
        if former == nil, let refusal = overheadRefusal(quota) { return .failure(refusal) }
        let kept = KeptSubscription(subscription)
        if let refusal = subscriptionTable.refusal(of: kept) { return .failure(refusal) }
        put(kept)
        builder.append(.subscriptionPut(subscription))
        return .success(subscription)
    }

    private static let tooManySharedSubscriptions = ServiceError(
        .limitExceeded,
        "the shared database has \(Limits.sharedSubscriptionsPerUser) subscriptions, the most it may have; delete one"
            + " first"
    )
    private static let sharedHasDatabaseSubscriptions = ServiceError(
        .invalidArguments, "the shared database has database subscriptions alone, and neither zone nor query ones")

    /// The kind as it is kept, or why it can't be.
    private func kind(_ kind: Subscription.Kind, caller: Caller) -> Result<Subscription.Kind, ServiceError> {
        let zone: ZoneID?
        let recordType: String
        let kept: Subscription.Kind
        switch kind {
        case .zone(let id, let type):
            (zone, recordType) = (id, type)
            kept = .zone(ZoneID(name: id.name), recordType: type)
        case .database(let type):
            (zone, recordType) = (nil, type)
            kept = kind
        case .query(var query):
            (zone, recordType) = (query.zone, query.recordType)
            query.zone = query.zone.map { ZoneID(name: $0.name) }
            kept = .query(query)
            if let problem = Names.problemWithRecordType(recordType) {
                return .failure(ServiceError(.invalidArguments, problem))
            }
            if let refusal = subscriptionGate.refusal(query, caller.user) { return .failure(refusal) }
        }
        if case .query = kind {
        } else {
            if id.scope == .public {
                return .failure(
                    ServiceError(
                        .badDatabase,
                        "zone and database subscriptions are for private databases; use a query subscription here"))
            }
            if let zone, zone.isDefault {
                return .failure(
                    ServiceError(.invalidArguments, "the default zone has no zone subscriptions; use a custom zone"))
            }
            if !recordType.isEmpty, let problem = Names.problemWithRecordType(recordType) {
                return .failure(ServiceError(.invalidArguments, problem))
            }
        }
        if let zone, case .failure(let error) = zoneIndex(of: zone) { return .failure(error) }
        return .success(kept)
    }
}

extension TouchedZone {
    /// Whether a subscription with this record type wants to know; an empty type stands for any.
    fileprivate func concerns(_ recordType: String) -> Bool {
        recordType.isEmpty || isDeleted || recordTypes.contains(recordType)
    }
}
