/// Looking users up, to be added to a share.
///
/// Every address, number or record id gives a participant, pending and `privateUser`, who may read: so nobody learns
/// who has an account. The server is not asked. An invitation whose address or number no account has can be accepted
/// once an account has it. Calls throw `notAuthenticated` without an account.
extension CKContainer {
    /// A participant for the user of a mail address.
    ///
    /// - Throws: `invalidArguments` for what is no address.
    public func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
        try participant(for: .init(emailAddress: emailAddress)).get()
    }

    /// A participant for the user of a telephone number.
    ///
    /// - Throws: `invalidArguments` for a number without "+" and its country's code.
    public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
        try participant(for: .init(phoneNumber: phoneNumber)).get()
    }

    /// A participant for the user of a record id.
    ///
    /// - Throws: `invalidArguments` for a name that is not one of the server's for user records, and for that of
    ///   ``CKCurrentUserDefaultName``: the owner takes part anyway.
    public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
        try participant(for: .init(userRecordID: userRecordID)).get()
    }

    /// Participants for the users of mail addresses; `invalidArguments` for each that is none.
    public func shareParticipants(
        forEmailAddresses emailAddresses: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try participants(for: emailAddresses) { .init(emailAddress: $0) }
    }

    /// Participants for the users of telephone numbers; `invalidArguments` for each that is none.
    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try participants(for: phoneNumbers) { .init(phoneNumber: $0) }
    }

    /// Participants for the users of record ids; `invalidArguments` for each that is no user's.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        try participants(for: userRecordIDs) { .init(userRecordID: $0) }
    }

    /// Participants for the users of any lookup infos; `invalidArguments` for each that can be nobody's.
    public func shareParticipants(
        for lookupInfos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
        try participants(for: lookupInfos) { $0 }
    }

    private func participants<Key: Hashable>(
        for keys: [Key], _ lookupInfo: (Key) -> CKUserIdentity.LookupInfo
    ) throws(CKError) -> [Key: Result<CKShare.Participant, any Error>] {
        try checkAccount()
        var results: [Key: Result<CKShare.Participant, any Error>] = [:]
        for key in keys { results[key] = lookupInfo(key).participant.erased }
        return results
    }

    private func participant(
        for lookupInfo: CKUserIdentity.LookupInfo
    ) throws(CKError) -> Result<CKShare.Participant, CKError> {
        try checkAccount()
        return lookupInfo.participant
    }

    /// Throws without an account.
    func checkAccount() throws(CKError) {
        let configuration = core.configuration
        if configuration.token == nil { throw configuration.missingAccount }
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
}
