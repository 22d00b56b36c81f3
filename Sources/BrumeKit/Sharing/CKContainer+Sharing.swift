public import Foundation

extension CKError {
    /// What everything fails with that takes part in other users' shares.
    static var noSharing: CKError {
        CKError(
            .serverRejectedRequest,
            message:
                "owners can share, but shares can't be found, accepted or asked for yet; until then, give users access "
                + "through records of the public database, whose roles the schema sets")
    }
}

/// Taking part in other users' shares.
///
/// Differs from CloudKit: other users' shares can't be accepted yet, so all of these fail with `serverRejectedRequest`,
/// at once.
extension CKContainer {
    /// Asks the owners of shares for access. Fails: see ``CKShare``.
    public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
        throw CKError.noSharing
    }

    /// What a share's URL leads to. Fails: see ``CKShare``.
    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        throw CKError.noSharing
    }

    /// What shares' URLs lead to. Fails: see ``CKShare``.
    public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        throw CKError.noSharing
    }

    /// Takes part in a share. Fails: see ``CKShare``.
    @discardableResult
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        throw CKError.noSharing
    }

    /// Takes part in shares. Fails: see ``CKShare``.
    public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        throw CKError.noSharing
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
