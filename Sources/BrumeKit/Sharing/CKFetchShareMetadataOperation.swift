public import Foundation

/// Fetches what shares' URLs lead to.
///
/// Differs from CloudKit: other users' shares can't be accepted yet, so each item, and the operation, fails with
/// `serverRejectedRequest`.
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

    /// What the operation is about.
    public var shareURLs: [URL]? {
        get { parameters.items }
        set { parameters.items = newValue }
    }

    /// Whether the root records are fetched as well; false unless set.
    public var shouldFetchRootRecord: Bool {
        get { parameters.fetchesRoot }
        set { parameters.fetchesRoot = newValue }
    }

    /// The fields of the root records to fetch; nil for all.
    public var rootRecordDesiredKeys: [CKRecord.FieldKey]? {
        get { parameters.rootKeys }
        set { parameters.rootKeys = newValue }
    }

    /// Called once for each item, with the failure.
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
        let failure = await run.attempt { () throws(CKError) in throw CKError.noSharing }!
        for item in parameters.items ?? [] {
            if let block = parameters.each {
                block(item, .failure(failure))
            } else {
                parameters.oldEach?(item, nil, failure)
            }
        }
        if let block = parameters.ended {
            block(.failure(failure))
        } else {
            parameters.oldEnd?(failure)
        }
    }
}
