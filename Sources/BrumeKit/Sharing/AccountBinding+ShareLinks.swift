internal import BrumeModel
internal import BrumeProtocol
internal import Foundation

/// Requests that name the URL of a share, whatever container and user it belongs to.
extension AccountBinding {
    /// Fetches what a share's URL leads to.
    ///
    /// - Parameters:
    ///   - wantsRoot: Whether the shared record is fetched as well.
    ///   - rootKeys: The fields of that record to fetch; nil for all.
    func shareMetadata(
        for url: URL, wantsRoot: Bool = false, rootKeys: [CKRecord.FieldKey]? = nil, _ options: CallOptions
    ) async throws(CKError) -> CKShareMetadata {
        let request = ShareMetadataRequest(
            url: try url.shareAddress(), wantsRoot: wantsRoot, rootKeys: wantsRoot ? rootKeys : nil)
        let answer = try await call(
            .sharesMetadata, options: options, encode: { coder in coder.encodeShareMetadataRequest(request) },
            decode: { (coder, bytes) throws(ServiceError) in try coder.decodeShareMetadataResponse(bytes) })
        return try CKShareMetadata.make(answer, origin: answerContext.origin)
    }

    /// Asks the owner of a share for access.
    func requestShareAccess(to url: URL, _ options: CallOptions) async throws(CKError) {
        let address = try url.shareAddress()
        // Sent again like a read when the connection breaks: a second request changes nothing.
        try await call(
            .sharesRequestAccess, effect: .none, options: options,
            encode: { coder in coder.encodeRequestAccessRequest(url: address) }, decode: { _, _ in })
    }

    /// Makes one call for each URL, a few at a time.
    ///
    /// - Returns: The outcomes of single URLs, and what failed all of them: an error that concerns the account or the
    ///   connection, after which no further call is made and those under way are cancelled.
    func shareLinkOutcomes<Answer: Sendable>(
        _ urls: [URL], _ request: @escaping @Sendable (URL) async throws(CKError) -> Answer
    ) async -> (results: [URL: Result<Answer, any Error>], failure: CKError?) {
        @Sendable func outcome(of url: URL) async -> (URL, Result<Answer, CKError>) {
            do throws(CKError) {
                return (url, .success(try await request(url)))
            } catch {
                return (url, .failure(error))
            }
        }
        return await withTaskGroup(of: (URL, Result<Answer, CKError>).self) { group in
            var waiting = withoutRepetitions(urls)[...]
            for url in waiting.prefix(ClientSessionLimits.shareLinkCallsMax) {
                group.addTask { await outcome(of: url) }
            }
            waiting = waiting.dropFirst(ClientSessionLimits.shareLinkCallsMax)
            var results: [URL: Result<Answer, any Error>] = [:]
            var failure: CKError?
            while let (url, result) = await group.next() {
                if case .failure(let error) = result, error.failsAllShareLinks {
                    failure = failure ?? error
                    group.cancelAll()
                } else {
                    results[url] = result.erased
                }
                if failure == nil, let next = waiting.popFirst() { group.addTask { await outcome(of: next) } }
            }
            return (results, failure)
        }
    }
}

extension CKError {
    /// Whether the error concerns the account or the connection, so that requests for other URLs would fail with it,
    /// too.
    fileprivate var failsAllShareLinks: Bool {
        switch code {
        case .notAuthenticated, .managedAccountRestricted, .accountTemporarilyUnavailable, .networkUnavailable,
            .networkFailure, .serverResponseLost, .serviceUnavailable, .incompatibleVersion, .badContainer,
            .operationCancelled:
            true
        default: false
        }
    }
}

extension URL {
    /// The URL as it is sent to the server: without its fragment, which RFC 3986 keeps on the client's side and which
    /// holds the share's title.
    ///
    /// - Throws: `invalidArguments` for a URL that can't be a share's. The error does not repeat the URL, which may be
    ///   all that somebody needs to take part.
    fileprivate func shareAddress() throws(CKError) -> String {
        let url = absoluteURL
        guard url.scheme != nil, url.host?.isEmpty == false, url.path(percentEncoded: true).hasPrefix("/share/")
        else {
            throw CKError(
                .invalidArguments,
                message: "the URL is not a share's; pass a whole one, such as https://example.com/share/TOKEN")
        }
        guard let address = String(url.absoluteString.utf8.prefix { $0 != UInt8(ascii: "#") }),
            address.utf8.count <= Limits.shareURLBytes
        else {
            throw CKError(
                .invalidArguments,
                message: "the URL is too long to be a share's: none has more than \(Limits.shareURLBytes) bytes")
        }
        return address
    }
}
