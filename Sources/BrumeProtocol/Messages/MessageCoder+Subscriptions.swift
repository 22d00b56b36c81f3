package import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Subscriptions, the server's side.
extension MessageCoder {
    /// Reads a request. Every subscription in it is valid: a bad one fails the request.
    package func decodeModifySubscriptionsRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> ModifySubscriptionsRequest {
        let message = try request(brume__v1__modify_subscriptions_request__unpack, bytes)
        let database = try RequestChecks.scope(message.pointee.database)
        let operationID = try RequestChecks.operationID(message.pointee.operation_id)
        try RequestChecks.itemCount(message.pointee.n_saves + message.pointee.n_deletions, "saves and deletions")
        let saves = try values(message.pointee.saves, message.pointee.n_saves) {
            (subscription) throws(ServiceError) in
            let value = try Subscription(subscription)
            var bytes = packedSize(subscription)
            if subscription.pointee.kind_case == BRUME__V1__SUBSCRIPTION__KIND_QUERY,
                let predicate = subscription.pointee.query.pointee.predicate
            {
                bytes -= packedSize(predicate)
            }
            try Self.check(value, bytes)
            return value
        }
        let deletions = try texts(message.pointee.deletions, message.pointee.n_deletions, "a subscription id")
        try RequestChecks.distinct(saves.map(\.id), deletions, "subscription")
        return ModifySubscriptionsRequest(
            database: database, saves: saves, deletions: deletions, operationID: operationID)
    }

    private static func check(_ subscription: Subscription, _ bytes: Int) throws(ServiceError) {
        guard bytes <= Limits.subscriptionBytes else {
            throw ServiceError(
                .limitExceeded,
                "a subscription has \(bytes) bytes; the limit is \(Limits.subscriptionBytes): shorten its texts")
        }
        var problem = Names.problemWithSubscriptionID(subscription.id)
        let recordType: String
        switch subscription.kind {
        case .zone(let zone, let type):
            recordType = type
            if !zone.isDefault { problem = problem ?? Names.problemWithZoneName(zone.name) }
        case .database(let type):
            recordType = type
        case .query(let query):
            recordType = query.recordType
            if recordType.isEmpty { problem = problem ?? "a query subscription names no record type; set it" }
        }
        if !recordType.isEmpty { problem = problem ?? Names.problemWithRecordType(recordType) }
        if let keys = subscription.notificationInfo?.desiredKeys {
            if keys.count > Limits.notificationDesiredKeys {
                problem =
                    problem
                    ?? "a notification asks for \(keys.count) field keys; the limit is \(Limits.notificationDesiredKeys)"
            }
            for key in keys { problem = problem ?? Names.problemWithFieldKey(key, ofType: Names.shareType) }
        }
        if let problem { throw ServiceError(.invalidArguments, problem) }
    }

    package func encodeModifySubscriptionsResponse(_ result: ModifySubscriptionsResult) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__modify_subscriptions_response__init)
            message.pointee.n_saves = result.saves.count
            message.pointee.saves = arena.messages(result.saves, arena.subscriptionResult)
            message.pointee.n_deletions = result.deletions.count
            message.pointee.deletions = arena.messages(result.deletions, arena.deletionResult)
            return message
        }
    }

    package func decodeFetchSubscriptionsRequest(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> (database: DatabaseScope, ids: [String]) {
        let message = try request(brume__v1__fetch_subscriptions_request__unpack, bytes)
        let database = try RequestChecks.scope(message.pointee.database)
        try RequestChecks.itemCount(message.pointee.n_ids, "subscriptions to fetch")
        return (database, try texts(message.pointee.ids, message.pointee.n_ids, "a subscription id"))
    }

    package func encodeFetchSubscriptionsResponse(_ subscriptions: [Result<Subscription, ServiceError>]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_subscriptions_response__init)
            message.pointee.n_subscriptions = subscriptions.count
            message.pointee.subscriptions = arena.messages(subscriptions, arena.subscriptionResult)
            return message
        }
    }

    package func decodeListSubscriptionsRequest(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> DatabaseScope {
        try RequestChecks.scope(try request(brume__v1__list_subscriptions_request__unpack, bytes).pointee.database)
    }

    package func encodeListSubscriptionsResponse(_ subscriptions: [Subscription]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_subscriptions_response__init)
            message.pointee.n_subscriptions = subscriptions.count
            message.pointee.subscriptions = arena.messages(subscriptions, arena.subscription)
            return message
        }
    }
}

/// Subscriptions, the client's side.
extension MessageCoder {
    package func encodeModifySubscriptionsRequest(_ request: ModifySubscriptionsRequest) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__modify_subscriptions_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(request.database.rawValue))
            message.pointee.n_saves = request.saves.count
            message.pointee.saves = arena.messages(request.saves, arena.subscription)
            message.pointee.n_deletions = request.deletions.count
            message.pointee.deletions = arena.list(request.deletions)
            message.pointee.operation_id = arena.data(request.operationID)
            return message
        }
    }

    package func decodeModifySubscriptionsResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> ModifySubscriptionsResult {
        let message = try answer(brume__v1__modify_subscriptions_response__unpack, bytes)
        return ModifySubscriptionsResult(
            saves: try values(message.pointee.saves, message.pointee.n_saves, Self.subscriptionResult),
            deletions: try values(message.pointee.deletions, message.pointee.n_deletions, Self.deletionResult))
    }

    package func encodeFetchSubscriptionsRequest(database: DatabaseScope, ids: [String]) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__fetch_subscriptions_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(database.rawValue))
            message.pointee.n_ids = ids.count
            message.pointee.ids = arena.list(ids)
            return message
        }
    }

    package func decodeFetchSubscriptionsResponse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> [Result<Subscription, ServiceError>] {
        let message = try answer(brume__v1__fetch_subscriptions_response__unpack, bytes)
        return try values(message.pointee.subscriptions, message.pointee.n_subscriptions, Self.subscriptionResult)
    }

    package func encodeListSubscriptionsRequest(_ database: DatabaseScope) -> [UInt8] {
        encode { arena in
            let message = arena.make(brume__v1__list_subscriptions_request__init)
            message.pointee.database = Brume__V1__DatabaseScope(UInt32(database.rawValue))
            return message
        }
    }

    package func decodeListSubscriptionsResponse(_ bytes: UnsafeRawBufferPointer) throws(ServiceError) -> [Subscription]
    {
        let message = try answer(brume__v1__list_subscriptions_response__unpack, bytes)
        return try values(message.pointee.subscriptions, message.pointee.n_subscriptions) {
            (subscription) throws(ServiceError) in try Subscription(subscription)
        }
    }

    private static func subscriptionResult(
        _ result: UnsafeMutablePointer<Brume__V1__SubscriptionResult>
    ) throws(ServiceError) -> Result<Subscription, ServiceError> {
        switch result.pointee.outcome_case {
        case BRUME__V1__SUBSCRIPTION_RESULT__OUTCOME_SUBSCRIPTION:
            return .success(try Subscription(result.pointee.subscription))
        case BRUME__V1__SUBSCRIPTION_RESULT__OUTCOME_ERROR:
            return .failure(ServiceError(result.pointee.error))
        default:
            return .failure(unreadableAnswer("the result of a subscription is neither a subscription nor an error"))
        }
    }
}

extension MessageArena {
    fileprivate func subscriptionResult(
        _ result: Result<Subscription, ServiceError>
    ) -> Pointer<Brume__V1__SubscriptionResult> {
        let message = make(brume__v1__subscription_result__init)
        switch result {
        case .success(let subscription):
            message.pointee.outcome_case = BRUME__V1__SUBSCRIPTION_RESULT__OUTCOME_SUBSCRIPTION
            message.pointee.subscription = self.subscription(subscription)
        case .failure(let error):
            message.pointee.outcome_case = BRUME__V1__SUBSCRIPTION_RESULT__OUTCOME_ERROR
            message.pointee.error = itemError(error)
        }
        return message
    }
}
