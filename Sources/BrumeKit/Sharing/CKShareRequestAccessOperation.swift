public import Foundation

/// Asks the owners of shares for access, with one request to the server for each URL.
///
/// ``CKContainer/requestShareAccess(for:)`` as an operation, with the same errors for single URLs. What concerns the
/// account or the connection fails the operation, and each URL that has no result yet.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    private struct Parameters {
        var shareURLs: [URL]?
        var each: ((URL, Result<Void, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that asks for access to what the given URLs lead to.
    public convenience init(shareURLs: [URL]) {
        self.init()
        parameters.shareURLs = shareURLs
    }

    /// The shares' URLs.
    public var shareURLs: [URL]? {
        get { parameters.shareURLs }
        set { parameters.shareURLs = newValue }
    }

    /// Called once for each URL.
    public var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)? {
        get { parameters.each }
        set { parameters.each = newValue }
    }

    /// Called last.
    public var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let urls = withoutRepetitions(parameters.shareURLs ?? [])
        var results: [URL: Result<Void, any Error>] = [:]
        let failure = await run.attempt { () throws(CKError) in
            try run.container.checkAccount()
            let account = run.container.core.account
            let outcomes = await account.shareLinkOutcomes(urls) { (url) throws(CKError) in
                try await account.requestShareAccess(to: url, run.options)
            }
            results = outcomes.results
            if let failure = outcomes.failure { throw failure }
        }
        var outcomes = ItemOutcomes<URL>(failure: failure)
        for url in urls {
            let result = outcomes.outcome(results[url], of: url)
            parameters.each?(url, result)
        }
        parameters.ended?(outcomes.result)
    }
}
