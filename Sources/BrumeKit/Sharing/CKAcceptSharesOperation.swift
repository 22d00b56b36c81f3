internal import Foundation

/// Takes part in shares, with one request to the server for each.
///
/// ``CKContainer/accept(_:)-(CKShare.Metadata)`` as an operation, with the same errors for single shares. What concerns
/// the account or the connection fails the operation, and each share that has no result yet.
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

    /// What the shares' URLs lead to, as a fetch of their metadata gave it.
    public var shareMetadatas: [CKShare.Metadata]? {
        get { parameters.items }
        set { parameters.items = newValue }
    }

    /// Called once for each share, with the share as the user sees it now.
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
        let metadatas = withoutRepetitions(parameters.items ?? [])
        var results: [CKShare.Metadata: Result<CKShare, any Error>] = [:]
        let failure = await run.attempt { () throws(CKError) in
            try run.container.checkAccount()
            let outcomes = await run.container.core.account.accept(metadatas, run.options)
            results = outcomes.results
            if let failure = outcomes.failure { throw failure }
        }
        var outcomes = ItemOutcomes<AnyHashable>(failure: failure)
        for metadata in metadatas {
            // A partial failure has the errors under the shares' URLs.
            let id = metadata.share.url.map { AnyHashable($0) } ?? AnyHashable(metadata)
            let result = outcomes.outcome(results[metadata], of: id)
            if let block = parameters.each {
                block(metadata, result)
            } else {
                parameters.oldEach?(metadata, try? result.get(), result.error)
            }
        }
        if let block = parameters.ended {
            block(outcomes.result)
        } else {
            parameters.oldEnd?(outcomes.error)
        }
    }
}
