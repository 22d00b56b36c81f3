/// Saves and deletes subscriptions in one request. A save replaces the subscription of the same id; deleting one that does not
/// exist fails with `unknownItem`.
///
/// See ``CKOperation`` for the order of the blocks.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Parameters {
        var saves: [CKSubscription]?
        var deletions: [CKSubscription.ID]?
        var saved: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
        var deleted: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var allCompleted: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that saves and deletes the given subscriptions.
    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init()
        parameters.saves = subscriptionsToSave
        parameters.deletions = subscriptionIDsToDelete
    }

    /// The subscriptions to save.
    public var subscriptionsToSave: [CKSubscription]? {
        get { parameters.saves }
        set { parameters.saves = newValue }
    }

    /// The ids of the subscriptions to delete.
    public var subscriptionIDsToDelete: [CKSubscription.ID]? {
        get { parameters.deletions }
        set { parameters.deletions = newValue }
    }

    /// Called once for each subscription to save, with the subscription as the server has it now.
    public var perSubscriptionSaveBlock:
        ((_ subscriptionID: CKSubscription.ID, _ saveResult: Result<CKSubscription, any Error>) -> Void)?
    {
        get { parameters.saved }
        set { parameters.saved = newValue }
    }

    /// Called once for each subscription to delete.
    public var perSubscriptionDeleteBlock:
        ((_ subscriptionID: CKSubscription.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { parameters.deleted }
        set { parameters.deleted = newValue }
    }

    /// Called last.
    public var modifySubscriptionsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called last, with the subscriptions that were saved and the ids that were deleted, which are nil when the operation failed as a
    /// whole.
    @available(*, deprecated, message: "Use modifySubscriptionsResultBlock")
    public var modifySubscriptionsCompletionBlock: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)? {
        get { parameters.allCompleted }
        set { parameters.allCompleted = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let saves = parameters.saves ?? []
        let deletions = parameters.deletions ?? []
        let database = run.database(of: self)
        var results: CKDatabase.SubscriptionModificationResults = ([:], [:])
        let failure = await run.attempt { () throws(CKError) in
            results = try await database.send(
                database.modification(saving: saves, deleting: deletions), run.options)
        }
        var outcomes = ItemOutcomes<CKSubscription.ID>(failure: failure)
        var saved: [CKSubscription] = []
        var deleted: [CKSubscription.ID] = []
        for item in saves {
            let result = outcomes.outcome(results.saveResults[item.subscriptionID], of: item.subscriptionID)
            if case .success(let made) = result { saved.append(made) }
            parameters.saved?(item.subscriptionID, result)
        }
        for id in deletions {
            let result = outcomes.outcome(results.deleteResults[id], of: id)
            if case .success = result { deleted.append(id) }
            parameters.deleted?(id, result)
        }
        if let block = parameters.ended {
            block(outcomes.result)
        } else {
            let isWhole = failure == nil
            parameters.allCompleted?(isWhole ? saved : nil, isWhole ? deleted : nil, outcomes.error)
        }
    }
}
