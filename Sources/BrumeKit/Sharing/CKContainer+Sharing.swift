public import Foundation

/// Finding other users' shares by their URLs, and taking part in them.
///
/// The account of the container asks, and the share may be in any container of the server; the share's own container
/// accepts. Calls throw `notAuthenticated` without an account.
extension CKContainer {
    /// Asks the owners of shares for access, with one request to the server for each URL.
    ///
    /// The user then stands in the share's ``CKShare/requesters``, where its owner allows requests. Asking again
    /// changes nothing. A request succeeds whether or not the URL is one of this server, and the share exists, allows
    /// requests or has blocked the user, so that nobody learns about other users' shares.
    ///
    /// - Returns: What became of each URL's request: `participantAlreadyInvited` for a share in which the user takes
    ///   part or to which they were invited, `invalidArguments` for what can't be a share's URL, `requestRateLimited`
    ///   after 60 requests within a minute.
    /// - Throws: What concerns the account or the connection; other requests may have reached the server by then.
    public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
        try checkAccount()
        let (account, options) = (core.account, callOptions)
        let (results, failure) = await account.shareLinkOutcomes(urls) { (url) throws(CKError) in
            try await account.requestShareAccess(to: url, options)
        }
        if let failure { throw failure }
        return results
    }

    /// Fetches what a share's URL leads to, without the shared record; ``CKFetchShareMetadataOperation`` can fetch that
    /// as well.
    ///
    /// The server looks neither at the URL's host nor at its fragment.
    ///
    /// - Throws: `unknownItem` where the URL leads to no share that the user may see: this server did not make it, the
    ///   share has ended, or it is for other users. `participantMayNeedVerification` where users were invited by an
    ///   e-mail address or a phone number that may be the user's and that the server does not know. `invalidArguments`
    ///   for a URL that can't be a share's. `requestRateLimited` after 60 URLs within a minute that led nowhere.
    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try checkAccount()
        return try await core.account.shareMetadata(for: url, callOptions)
    }

    /// Fetches what shares' URLs lead to, with one request to the server for each; see ``shareMetadata(for:)``.
    ///
    /// - Returns: What became of each URL.
    /// - Throws: What concerns the account or the connection.
    public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try checkAccount()
        let (account, options) = (core.account, callOptions)
        let (results, failure) = await account.shareLinkOutcomes(urls) { (url) throws(CKError) in
            try await account.shareMetadata(for: url, options)
        }
        if let failure { throw failure }
        return results
    }

    /// Takes part in a share. From then on its zone is in ``sharedCloudDatabase``.
    ///
    /// Accepting again succeeds, and is what a guest does with the share's newest link where saves of encrypted values
    /// fail with `accountTemporarilyUnavailable` after the server was restored from a backup. The container is that of
    /// the share: see ``CKShareMetadata/containerIdentifier``. On Linux nothing hands the app a metadata: fetch it with
    /// ``shareMetadata(for:)``.
    ///
    /// - Returns: The share as the user sees it. The user is its ``CKShare/currentUserParticipant``, and its zone has
    ///   the owner's user record name.
    /// - Throws: `unknownItem` and `participantMayNeedVerification` as ``shareMetadata(for:)`` does; `invalidArguments`
    ///   for the user's own share; `permissionFailure` where the link is of another owner than the server shows, or
    ///   than this device knows; `badContainer` for another container's; `tooManyParticipants` when the share is
    ///   full; `limitExceeded` when the user has too many shared zones.
    @discardableResult
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        try checkAccount()
        return try await core.account.accept(metadata, callOptions)
    }

    /// Takes part in shares, with one request to the server for each; see ``accept(_:)-(CKShare.Metadata)``.
    ///
    /// On Linux nothing hands the app the metadata: fetch it with ``shareMetadatas(for:)``.
    ///
    /// - Returns: What became of each share.
    /// - Throws: What concerns the account or the connection; other shares may have been accepted by then.
    public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        try checkAccount()
        let (results, failure) = await core.account.accept(metadatas, callOptions)
        if let failure { throw failure }
        return results
    }

    // MARK: With completion handlers

    /// ``shareMetadata(for:)`` with a completion handler.
    @preconcurrency
    public func fetchShareMetadata(
        with url: URL, completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.shareMetadata(for: url) }
    }

    /// ``shareMetadatas(for:)`` with a completion handler.
    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler:
            @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.shareMetadatas(for: urls) }
    }

    /// ``accept(_:)-(CKShare.Metadata)`` with a completion handler.
    @preconcurrency
    public func accept(
        _ metadata: CKShare.Metadata, completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.accept(metadata) }
    }

    /// ``accept(_:)-([CKShare.Metadata])`` with a completion handler.
    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler:
            @escaping @Sendable (Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.accept(metadatas) }
    }
}
