public import Foundation

/// Fetches what shares' URLs lead to, with one request to the server for each.
///
/// ``CKContainer/shareMetadata(for:)`` as an operation, with the same errors for single URLs. What concerns the account
/// or the connection fails the operation, and each URL that has no result yet.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    private struct Parameters {
        var items: [URL]?
        var fetchesRoot = false
        var rootKeys: [CKRecord.FieldKey]?
        var each: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var oldEach: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?
        var oldEnd: (((any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that fetches what the given URLs lead to.
    public convenience init(shareURLs: [URL]) {
        self.init()
        parameters.items = shareURLs
    }

    /// The shares' URLs.
    public var shareURLs: [URL]? {
        get { parameters.items }
        set { parameters.items = newValue }
    }

    /// Whether the root records are fetched as well; false unless set. The share of a whole zone has none.
    public var shouldFetchRootRecord: Bool {
        get { parameters.fetchesRoot }
        set { parameters.fetchesRoot = newValue }
    }

    /// The fields of the root records to fetch; nil for all. Without ``shouldFetchRootRecord`` it has no effect.
    public var rootRecordDesiredKeys: [CKRecord.FieldKey]? {
        get { parameters.rootKeys }
        set { parameters.rootKeys = newValue }
    }

    /// Called once for each URL.
    public var perShareMetadataResultBlock:
        ((_ shareURL: URL, _ shareMetadataResult: Result<CKShare.Metadata, any Error>) -> Void)?
    {
        get { parameters.each }
        set { parameters.each = newValue }
    }

    /// Called last.
    public var fetchShareMetadataResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called once for each URL.
    @available(*, deprecated, message: "Use perShareMetadataResultBlock")
    public var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? {
        get { parameters.oldEach }
        set { parameters.oldEach = newValue }
    }

    /// Called last.
    @available(*, deprecated, message: "Use fetchShareMetadataResultBlock")
    public var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? {
        get { parameters.oldEnd }
        set { parameters.oldEnd = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let urls = withoutRepetitions(parameters.items ?? [])
        let (fetchesRoot, rootKeys) = (parameters.fetchesRoot, parameters.rootKeys)
        var results: [URL: Result<CKShare.Metadata, any Error>] = [:]
        let failure = await run.attempt { () throws(CKError) in
            try run.container.checkAccount()
            let account = run.container.core.account
            let outcomes = await account.shareLinkOutcomes(urls) { (url) throws(CKError) in
                try await account.shareMetadata(for: url, wantsRoot: fetchesRoot, rootKeys: rootKeys, run.options)
            }
            results = outcomes.results
            if let failure = outcomes.failure { throw failure }
        }
        var outcomes = ItemOutcomes<URL>(failure: failure)
        for url in urls {
            let result = outcomes.outcome(results[url], of: url)
            if let block = parameters.each {
                block(url, result)
            } else {
                parameters.oldEach?(url, try? result.get(), result.error)
            }
        }
        if let block = parameters.ended {
            block(outcomes.result)
        } else {
            parameters.oldEnd?(outcomes.error)
        }
    }
}
