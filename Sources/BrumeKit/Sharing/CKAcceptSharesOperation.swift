/// Takes part in shares.
///
/// Differs from CloudKit: other users' shares can't be accepted yet, so each item, and the operation, fails with
/// `serverRejectedRequest`.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
    private struct Parameters {
        var items: [CKShare.Metadata]?
        var each: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var oldEach: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
        var oldEnd: (((any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that takes part in the given shares.
    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init()
        parameters.items = shareMetadatas
    }

    /// What the operation is about.
    public var shareMetadatas: [CKShare.Metadata]? {
        get { parameters.items }
        set { parameters.items = newValue }
    }

    /// Called once for each item, with the failure.
    public var perShareResultBlock:
        ((_ shareMetadata: CKShare.Metadata, _ acceptShareResult: Result<CKShare, any Error>) -> Void)?
    {
        get { parameters.each }
        set { parameters.each = newValue }
    }

    /// Called last.
    public var acceptSharesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called once for each share.
    @available(*, deprecated, message: "Use perShareResultBlock")
    public var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? {
        get { parameters.oldEach }
        set { parameters.oldEach = newValue }
    }

    /// Called last.
    @available(*, deprecated, message: "Use acceptSharesResultBlock")
    public var acceptSharesCompletionBlock: (((any Error)?) -> Void)? {
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
