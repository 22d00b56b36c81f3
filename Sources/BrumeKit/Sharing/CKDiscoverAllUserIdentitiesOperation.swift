/// Looks up the users among the contacts. CloudKit supports it no longer, and finds nobody; so does this.
@available(*, deprecated, message: "No longer supported")
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    private struct Parameters {
        var found: ((CKUserIdentity) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var completed: (((any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// Called for each user that was found, which is none.
    public var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)? {
        get { parameters.found }
        set { parameters.found = newValue }
    }

    /// Called last.
    public var discoverAllUserIdentitiesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called last.
    public var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
        get { parameters.completed }
        set { parameters.completed = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let failure = await run.attempt { () throws(CKError) in }
        if let block = parameters.ended {
            block(failure.map { .failure($0) } ?? .success(()))
        } else {
            parameters.completed?(failure)
        }
    }
}
