public import Foundation

extension CKError {
    /// What everything fails with that takes a server that shares.
    static var noSharing: CKError {
        CKError(
            .serverRejectedRequest,
            message:
                "this server has no sharing; give users access through records of the public database, whose roles the "
                + "schema sets")
    }
}

/// Sharing, and looking users up for it.
///
/// Differs from CloudKit: the server has no sharing yet, so all of these fail with `serverRejectedRequest`, at once.
extension CKContainer {
    /// The user of a mail address, to be added to a share. Fails: there is no sharing yet.
    public func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
        throw CKError.noSharing
    }

    /// The user of a telephone number, to be added to a share. Fails: there is no sharing yet.
    public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
        throw CKError.noSharing
    }

    /// The user of a record id, to be added to a share. Fails: there is no sharing yet.
    public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
        throw CKError.noSharing
    }

    /// The users of mail addresses. Fails: there is no sharing yet.
    public func shareParticipants(
        forEmailAddresses emailAddresses: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        throw CKError.noSharing
    }

    /// The users of telephone numbers. Fails: there is no sharing yet.
    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        throw CKError.noSharing
    }

    /// The users of record ids. Fails: there is no sharing yet.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        throw CKError.noSharing
    }

    /// The users of any lookup infos. Fails: there is no sharing yet.
    public func shareParticipants(
        for lookupInfos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
        throw CKError.noSharing
    }

    /// Asks the owners of shares for access. Fails: there is no sharing yet.
    public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
        throw CKError.noSharing
    }

    /// What a share's URL leads to. Fails: there is no sharing yet.
    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        throw CKError.noSharing
    }

    /// What shares' URLs lead to. Fails: there is no sharing yet.
    public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        throw CKError.noSharing
    }

    /// Takes part in a share. Fails: there is no sharing yet.
    @discardableResult
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        throw CKError.noSharing
    }

    /// Takes part in shares. Fails: there is no sharing yet.
    public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        throw CKError.noSharing
    }

    // MARK: With completion handlers

    /// ``shareParticipant(forEmailAddress:)`` with a completion handler.
    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipant(forEmailAddress: emailAddress) }
    }

    /// ``shareParticipant(forPhoneNumber:)`` with a completion handler.
    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipant(forPhoneNumber: phoneNumber) }
    }

    /// ``shareParticipant(forUserRecordID:)`` with a completion handler.
    @preconcurrency
    public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipant(forUserRecordID: userRecordID) }
    }

    /// ``shareParticipants(forEmailAddresses:)`` with a completion handler.
    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emailAddresses: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipants(forEmailAddresses: emailAddresses) }
    }

    /// ``shareParticipants(forPhoneNumbers:)`` with a completion handler.
    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipants(forPhoneNumbers: phoneNumbers) }
    }

    /// ``shareParticipants(forUserRecordIDs:)`` with a completion handler.
    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        complete(completionHandler) { try await self.shareParticipants(forUserRecordIDs: userRecordIDs) }
    }

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
