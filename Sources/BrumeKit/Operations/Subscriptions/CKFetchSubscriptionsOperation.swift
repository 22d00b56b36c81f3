/// Fetches the user's subscriptions in a database, by id or all.
///
/// See ``CKOperation`` for the order of the blocks.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    private let parameters = Guarded(ItemFetch<CKSubscription.ID, CKSubscription>())

    /// An operation that fetches the given subscriptions.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        parameters.ids = subscriptionIDs
    }

    /// An operation that fetches all subscriptions of the user in the database.
    public class func fetchAllSubscriptionsOperation() -> Self {
        let operation = Self()
        operation.isForAll = true
        return operation
    }

    private var isForAll: Bool {
        get { parameters.isForAll }
        set { parameters.isForAll = newValue }
    }

    /// The ids of the subscriptions to fetch.
    public var subscriptionIDs: [CKSubscription.ID]? {
        get { parameters.ids }
        set { parameters.ids = newValue }
    }

    /// Called once for each subscription.
    public var perSubscriptionResultBlock:
        ((_ subscriptionID: CKSubscription.ID, _ subscriptionResult: Result<CKSubscription, any Error>) -> Void)?
    {
        get { parameters.fetched }
        set { parameters.fetched = newValue }
    }

    /// Called last.
    public var fetchSubscriptionsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called last, with the subscriptions that were fetched, which are nil when the operation failed as a whole.
    @available(*, deprecated, message: "Use fetchSubscriptionsResultBlock")
    public var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)? {
        get { parameters.allCompleted }
        set { parameters.allCompleted = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let database = run.database(of: self)
        await parameters.fetch(
            run, id: \.subscriptionID,
            all: { () throws(CKError) in try await database.allSubscriptions(run.options) },
            some: { (ids) throws(CKError) in try await database.subscriptions(for: ids, run.options) })
    }
}
