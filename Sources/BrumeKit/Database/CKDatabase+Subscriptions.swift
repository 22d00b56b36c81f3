internal import BrumeModel
internal import BrumeProtocol

/// The user's subscriptions in a database.
extension CKDatabase {
    /// All subscriptions of the user in this database.
    public func allSubscriptions() async throws -> [CKSubscription] {
        try await allSubscriptions(callOptions)
    }

    func allSubscriptions(_ options: CallOptions) async throws(CKError) -> [CKSubscription] {
        let scope = try requestScope()
        let account = core.account
        let subscriptions = try await account.call(
            .subscriptionsList, options: options, encode: { coder in coder.encodeListSubscriptionsRequest(scope) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeListSubscriptionsResponse(bytes) })
        let currentUser = account.currentUser
        return try subscriptions.map { (found) throws(CKError) in
            try Self.subscription(found, currentUser: currentUser)
        }
    }

    /// A subscription as the server has it.
    ///
    /// - Throws: `unknownItem` when there is none.
    public func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
        guard let result = try await subscriptions(for: [subscriptionID])[subscriptionID] else {
            throw CKError.malformedResponse("it holds no result for the subscription")
        }
        return try result.get()
    }

    /// Subscriptions as the server has them; what fails for one is in its result.
    public func subscriptions(
        for ids: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        try await subscriptions(for: ids, callOptions)
    }

    func subscriptions(
        for ids: [CKSubscription.ID], _ options: CallOptions
    ) async throws(CKError) -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        let scope = try requestScope()
        let ids = withoutRepetitions(ids)
        if ids.isEmpty { return [:] }
        let account = core.account
        let subscriptions = try await account.call(
            .subscriptionsFetch, options: options,
            encode: { coder in coder.encodeFetchSubscriptionsRequest(database: scope, ids: ids) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeFetchSubscriptionsResponse(bytes) })
        return try Self.results(subscriptions, ids, currentUser: account.currentUser)
    }

    /// Saves a subscription. One with the same id is replaced.
    ///
    /// - Returns: The subscription as the server has it.
    /// - Throws: `zoneNotFound` for a subscription to a zone that does not exist, and `invalidArguments` for a
    ///   predicate that the server can't evaluate, and in the shared database for all but a ``CKDatabaseSubscription``.
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        let results = try await modifySubscriptions(saving: [subscription], deleting: [])
        guard let result = results.saveResults[subscription.subscriptionID] else {
            throw CKError.malformedResponse("it holds no result for the subscription")
        }
        return try result.get()
    }

    /// Deletes a subscription.
    ///
    /// - Throws: `unknownItem` when there is none.
    @discardableResult
    public func deleteSubscription(
        withID subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription.ID {
        let results = try await modifySubscriptions(saving: [], deleting: [subscriptionID])
        guard let result = results.deleteResults[subscriptionID] else {
            throw CKError.malformedResponse("it holds no result for the deletion")
        }
        try result.get()
        return subscriptionID
    }

    /// Saves and deletes subscriptions in one request; what fails for one is in its result.
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        try await send(
            modification(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete), callOptions)
    }

    /// What a modification of subscriptions comes to.
    typealias SubscriptionModificationResults = (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    )

    /// A modification with what its subscriptions hold now.
    struct SubscriptionModification: Sendable {
        fileprivate let request: ModifySubscriptionsRequest
        /// What the server need not be asked about.
        fileprivate let unsent: [CKSubscription.ID: Result<CKSubscription, any Error>]
    }

    /// Reads the subscriptions: what the app does with them from now on is not in the modification.
    func modification(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) throws(CKError) -> SubscriptionModification {
        let scope = try requestScope()
        var saves: [Subscription] = []
        var unsent: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
        for subscription in subscriptionsToSave {
            do throws(CKError) {
                if databaseScope == .shared, !(subscription is CKDatabaseSubscription) {
                    throw CKError(
                        .invalidArguments,
                        message:
                            "subscription \"\(subscription.subscriptionID)\" can't be saved: the shared database takes a "
                            + "CKDatabaseSubscription only")
                }
                saves.append(try subscription.modelSubscription)
            } catch {
                unsent[subscription.subscriptionID] = .failure(error)
            }
        }
        let request = ModifySubscriptionsRequest(
            database: scope, saves: saves, deletions: subscriptionIDsToDelete,
            operationID: ContainerCore.newOperationID())
        return SubscriptionModification(request: request, unsent: unsent)
    }

    func send(
        _ modification: SubscriptionModification, _ options: CallOptions
    ) async throws(CKError) -> SubscriptionModificationResults {
        let request = modification.request
        if request.saves.isEmpty, request.deletions.isEmpty { return (modification.unsent, [:]) }
        let account = core.account
        let answer = try await account.call(
            .subscriptionsModify, effect: .onceByOperationID, options: options,
            encode: { coder in coder.encodeModifySubscriptionsRequest(request) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeModifySubscriptionsResponse(bytes) })
        return (
            try Self.results(answer.saves, request.saves.map(\.id), currentUser: account.currentUser)
                .merging(modification.unsent) { _, failure in failure },
            try answer.deletions.deleteResults(request.deletions)
        )
    }

    private static func subscription(
        _ subscription: Subscription, currentUser: String?
    ) throws(CKError) -> CKSubscription {
        guard let made = CKSubscription.make(subscription, currentUser: currentUser) else {
            throw .malformedResponse("a subscription has names that none can have")
        }
        return made
    }

    private static func results(
        _ subscriptions: [Result<Subscription, ServiceError>], _ ids: [CKSubscription.ID], currentUser: String?
    ) throws(CKError) -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        guard subscriptions.count == ids.count else {
            throw .malformedResponse("it holds \(subscriptions.count) results for \(ids.count) subscriptions")
        }
        var results: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
        for (id, result) in zip(ids, subscriptions) {
            switch result {
            case .success(let found): results[id] = .success(try subscription(found, currentUser: currentUser))
            case .failure(let error): results[id] = .failure(CKError(error))
            }
        }
        return results
    }
}
