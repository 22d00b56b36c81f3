extension Method {
    /// The methods of this version of the protocol, with service and name as `proto/` has them.
    package static let names: [Method: String] = [
        .healthCheck: "Health.Check",
        .zonesModify: "Zones.Modify", .zonesFetch: "Zones.Fetch", .zonesList: "Zones.List",
        .recordsModify: "Records.Modify", .recordsFetch: "Records.Fetch", .recordsChanges: "Records.Changes",
        .recordsQuery: "Records.Query", .recordsExplain: "Records.Explain",
        .databasesChanges: "Databases.Changes",
        .subscriptionsModify: "Subscriptions.Modify", .subscriptionsFetch: "Subscriptions.Fetch",
        .subscriptionsList: "Subscriptions.List",
        .notificationsOpen: "Notifications.Open",
        .sharesMetadata: "Shares.Metadata", .sharesRequestAccess: "Shares.RequestAccess",
        .sharesAccept: "Shares.Accept",
        .assetsUpload: "Assets.Upload", .assetsDownload: "Assets.Download",
        .statementsAppend: "Statements.Append", .statementsFetch: "Statements.Fetch",
        .ringsAppend: "Rings.Append", .ringsFetch: "Rings.Fetch", .ringsJoin: "Rings.Join",
        .ringsFetchStatements: "Rings.FetchStatements", .ringsFindRoots: "Rings.FindRoots",
        .ringsListMisplaced: "Rings.ListMisplaced",
        .enrolmentsPost: "Enrolments.Post", .enrolmentsFetch: "Enrolments.Fetch", .enrolmentsEnd: "Enrolments.End",
        .adminAddAccount: "Admin.AddAccount", .adminListAccounts: "Admin.ListAccounts",
        .adminRemoveAccount: "Admin.RemoveAccount", .adminCreateToken: "Admin.CreateToken",
        .adminRevokeTokens: "Admin.RevokeTokens", .adminSnapshot: "Admin.Snapshot",
        .adminExportSchema: "Admin.ExportSchema", .adminImportSchema: "Admin.ImportSchema",
        .adminDeploySchema: "Admin.DeploySchema", .adminResetSchema: "Admin.ResetSchema",
        .adminSetRoleMember: "Admin.SetRoleMember", .adminListRoleMembers: "Admin.ListRoleMembers",
        .adminStats: "Admin.Stats", .adminQuota: "Admin.Quota",
        .adminListContainers: "Admin.ListContainers", .adminHandles: "Admin.Handles",
    ]

    /// Whether this version of the protocol has the method.
    package var isKnown: Bool { Self.names[self] != nil }

    /// Service and method, or the number of one that this version doesn't know.
    package var name: String { Self.names[self] ?? "method \(rawValue)" }
}
