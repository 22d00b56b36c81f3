/// Fetches a token for CloudKit's web services.
///
/// Differs from CloudKit: Brume has no web services, so the operation fails with `serverRejectedRequest`.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Parameters {
        var apiToken: String?
        var ended: ((Result<String, any Error>) -> Void)?
        var completed: ((String?, (any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that fetches a token for the given one of an app.
    public convenience init(apiToken: String) {
        self.init()
        parameters.apiToken = apiToken
    }

    /// The app's token.
    public var apiToken: String? {
        get { parameters.apiToken }
        set { parameters.apiToken = newValue }
    }

    /// Called last.
    public var fetchWebAuthTokenResultBlock: ((_ result: Result<String, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called last.
    @available(*, deprecated, message: "Use fetchWebAuthTokenResultBlock")
    public var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)? {
        get { parameters.completed }
        set { parameters.completed = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let failure = await run.attempt { () throws(CKError) in
            throw CKError(
                .serverRejectedRequest,
                message: "this server has no web services, so there is no token for them; use the account's own token")
        }!
        if let block = parameters.ended { block(.failure(failure)) } else { parameters.completed?(nil, failure) }
    }
}
