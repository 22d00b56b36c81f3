public import Foundation

/// Asks the owners of shares for access.
///
/// Differs from CloudKit: users can't ask to take part yet, so each URL, and the operation, fails with
/// `serverRejectedRequest`.
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

    /// Called once for each URL, with the failure.
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
        let failure = await run.attempt { () throws(CKError) in throw CKError.noSharing }!
        for url in parameters.shareURLs ?? [] { parameters.each?(url, .failure(failure)) }
        parameters.ended?(.failure(failure))
    }
}
