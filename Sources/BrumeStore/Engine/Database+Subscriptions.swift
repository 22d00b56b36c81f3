package import BrumeModel

extension Database {
    /// Saves and deletes subscriptions, each by itself. A save replaces the subscription of the same id; saving one that is
    /// the same changes nothing. A zone subscription goes with its zone.
    package func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, caller: Caller, nowMilliseconds: Int64
    ) -> Decision<ModifySubscriptionsResult> {
        assert(request.database == id.scope, "a request was routed to a database of another scope")
        if let refusal = subscriptionRefusal(of: caller) {
            return Decision(
                answer: ModifySubscriptionsResult(
                    saves: request.saves.map { _ in .failure(refusal) },
                    deletions: request.deletions.map { _ in refusal }),
                commit: nil)
        }
        var builder = CommitBuilder(sequence: sequence + 1)
        var result = ModifySubscriptionsResult()
        let saved = Set(request.saves.map(\.id))
        for subscription in request.saves { result.saves.append(save(subscription, into: &builder)) }
        for id in request.deletions {
            if saved.contains(id) {
                result.deletions.append(
                    ServiceError(.invalidArguments, "a subscription is both saved and deleted; send two requests"))
            } else if self.subscription(id) == nil {
                result.deletions.append(
                    ServiceError(.unknownItem, "there is no subscription of that id; it may be deleted already"))
            } else {
                removeSubscription(id)
                builder.append(.subscriptionDeletion(id: id))
                result.deletions.append(nil)
            }
        }
        return Decision(answer: result, commit: finish(builder, nowMilliseconds: nowMilliseconds))
    }

    /// The subscriptions that a commit fires, each with its zone if it is a zone's: hints that something changed.
    ///
    /// Changes in the default zone fire nothing. With a record type, a subscription fires for changes of records of that type,
    /// and, since what was lost with a zone is not looked at, for the deletion of any zone.
    package func matchingSubscriptions(for commit: Commit) -> [(Subscription, ZoneID?)] {
        if subscriptions.isEmpty { return [] }
        var matching: [(Subscription, ZoneID?)] = []
        for subscription in subscriptions {
            switch subscription.kind {
            case .zone(let zone, let recordType):
                if commit.zones.contains(where: {
                    $0.incarnation != 0 && $0.zone.name == zone.name && $0.concerns(recordType)
                }) {
                    matching.append((subscription, zone))
                }
            case .database(let recordType):
                if commit.zones.contains(where: { $0.incarnation != 0 && $0.concerns(recordType) }) {
                    matching.append((subscription, nil))
                }
            }
        }
        return matching
    }

    func subscriptions(ofZoneNamed name: String) -> [Subscription] {
        subscriptions.filter {
            if case .zone(let zone, _) = $0.kind { return zone.name == name }
            return false
        }
    }

    func removeSubscription(_ id: String) {
        subscriptions.removeAll { $0.id == id }
    }

    func putSubscription(_ subscription: Subscription) {
        if let index = subscriptions.firstIndex(where: { $0.id == subscription.id }) {
            subscriptions[index] = subscription
        } else {
            subscriptions.append(subscription)
        }
    }

    private func subscriptionRefusal(of caller: Caller) -> ServiceError? {
        if id.scope == .public {
            return ServiceError(
                .badDatabase, "zone and database subscriptions are for private databases; subscribe there")
        }
        if caller.isAnonymous { return ServiceError(.notAuthenticated, "subscriptions need an account; sign in") }
        if !caller.isOwner {
            return ServiceError(.permissionFailure, "only its owner may subscribe to a private database")
        }
        return nil
    }

    private func save(
        _ subscription: Subscription, into builder: inout CommitBuilder
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
        let others = subscriptions.reduce(0) { $0 + ($1.id == subscription.id ? 0 : $1.textByteCount) }
        if others + subscription.textByteCount > Limits.subscriptionTextBytesPerDatabase {
            return .failure(
                ServiceError(
                    .limitExceeded,
                    "the texts of the database's subscriptions would have more than \(Limits.subscriptionTextBytesPerDatabase)"
                        + " bytes; shorten them, or delete subscriptions"))
        }
        var subscription = subscription
        if case .zone(let zone, let recordType) = subscription.kind {
            if zone.isDefault {
                return .failure(
                    ServiceError(.invalidArguments, "the default zone has no subscriptions; use a custom zone"))
            }
            if case .failure(let error) = zoneIndex(of: zone) { return .failure(error) }
            subscription.kind = .zone(ZoneID(name: zone.name), recordType: recordType)
        }
        switch subscription.kind {
        case .zone(_, let recordType), .database(let recordType):
            if !recordType.isEmpty, let problem = Names.problemWithRecordType(recordType) {
                return .failure(ServiceError(.invalidArguments, problem))
            }
        }
        let known = self.subscription(subscription.id)
        if known == subscription { return .success(subscription) }
        if known == nil, subscriptions.count >= Limits.subscriptionsPerDatabase {
            return .failure(
                ServiceError(
                    .limitExceeded,
                    "the database has \(Limits.subscriptionsPerDatabase) subscriptions, the most it may have; delete one"
                ))
        }
        putSubscription(subscription)
        builder.append(.subscriptionPut(subscription))
        return .success(subscription)
    }
}

extension TouchedZone {
    /// Whether a subscription with this record type wants to know; an empty type stands for any.
    fileprivate func concerns(_ recordType: String) -> Bool {
        recordType.isEmpty || isDeleted || recordTypes.contains(recordType)
    }
}
