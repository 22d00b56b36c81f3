/// Saves and deletes subscriptions in one request. A save replaces the subscription of the same id; deleting one that
/// does not exist fails with `unknownItem`.
///
/// See ``CKOperation`` for the order of the blocks.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    private let parameters = Guarded(ItemModification<CKSubscription.ID, CKSubscription>())

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

    /// Called last, with the subscriptions that were saved and the ids that were deleted, which are nil when the
    /// operation failed as a whole.
    @available(*, deprecated, message: "Use modifySubscriptionsResultBlock")
    public var modifySubscriptionsCompletionBlock: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)? {
        get { parameters.allCompleted }
        set { parameters.allCompleted = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let database = run.database(of: self)
        await parameters.modify(run, id: \.subscriptionID) { (saves, deletions) throws(CKError) in
            try await database.send(database.modification(saving: saves, deleting: deletions), run.options)
        }
    }
}
