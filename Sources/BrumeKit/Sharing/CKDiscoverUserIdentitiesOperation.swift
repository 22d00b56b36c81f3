/// Looks users up. CloudKit supports it no longer, and finds nobody; so does this.
@available(*, deprecated, message: "No longer supported")
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    private struct Parameters {
        var infos: [CKUserIdentity.LookupInfo] = []
        var found: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var completed: (((any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that looks the given users up.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        parameters.infos = userIdentityLookupInfos
    }

    /// The users.
    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] {
        get { parameters.infos }
        set { parameters.infos = newValue }
    }

    /// Called for each user that was found, which is none.
    public var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)? {
        get { parameters.found }
        set { parameters.found = newValue }
    }

    /// Called last.
    public var discoverUserIdentitiesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called last.
    public var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
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
