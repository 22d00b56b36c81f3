package import BrumeModel

extension CallStatus {
    /// A failure with a sentence that says what was wrong and what to do.
    package init(_ code: ErrorCode, _ message: String, retryAfterMilliseconds: UInt32 = 0) {
        self.init(code: code.rawValue, message: message, retryAfterMilliseconds: retryAfterMilliseconds)
    }
}

extension Method {
    /// The methods of this version of the protocol.
    private static let known: Set<Method> = [
        .healthCheck, .zonesModify, .zonesFetch, .zonesList, .recordsModify, .recordsFetch, .recordsChanges,
        .recordsQuery, .recordsExplain, .databasesChanges, .subscriptionsModify, .subscriptionsFetch,
        .subscriptionsList, .notificationsOpen,
        .adminAddAccount, .adminListAccounts, .adminRemoveAccount, .adminCreateToken, .adminRevokeTokens,
        .adminSnapshot, .adminExportSchema, .adminImportSchema, .adminDeploySchema, .adminResetSchema,
        .adminSetRoleMember, .adminListRoleMembers,
    ]

    /// Whether this version of the protocol has the method.
    package var isKnown: Bool { Self.known.contains(self) }
}
