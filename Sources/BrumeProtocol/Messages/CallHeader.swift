package import BrumeModel
internal import BrumeRecord

/// What a call asks for: raw values of `brume.v1.Method`. An open set, since a client may be newer.
package struct Method: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let healthCheck = Method(rawValue: 1)
    package static let zonesModify = Method(rawValue: 16)
    package static let zonesFetch = Method(rawValue: 17)
    package static let zonesList = Method(rawValue: 18)
    package static let recordsModify = Method(rawValue: 32)
    package static let recordsFetch = Method(rawValue: 33)
    package static let recordsChanges = Method(rawValue: 34)
    package static let recordsQuery = Method(rawValue: 35)
    package static let recordsExplain = Method(rawValue: 36)
    package static let databasesChanges = Method(rawValue: 48)
    package static let subscriptionsModify = Method(rawValue: 64)
    package static let subscriptionsFetch = Method(rawValue: 65)
    package static let subscriptionsList = Method(rawValue: 66)
    package static let notificationsOpen = Method(rawValue: 80)
    package static let sharesMetadata = Method(rawValue: 96)
    package static let sharesRequestAccess = Method(rawValue: 97)
    package static let sharesAccept = Method(rawValue: 98)
    package static let assetsUpload = Method(rawValue: 112)
    package static let assetsDownload = Method(rawValue: 113)
    package static let statementsAppend = Method(rawValue: 128)
    package static let statementsFetch = Method(rawValue: 129)
    package static let ringsAppend = Method(rawValue: 144)
    package static let ringsFetch = Method(rawValue: 145)
    package static let ringsJoin = Method(rawValue: 146)
    package static let ringsFetchStatements = Method(rawValue: 147)
    package static let ringsFindRoots = Method(rawValue: 148)
    package static let ringsListMisplaced = Method(rawValue: 149)
    package static let enrolmentsPost = Method(rawValue: 160)
    package static let enrolmentsFetch = Method(rawValue: 161)
    package static let enrolmentsEnd = Method(rawValue: 162)
    package static let adminAddAccount = Method(rawValue: 256)
    package static let adminListAccounts = Method(rawValue: 257)
    package static let adminRemoveAccount = Method(rawValue: 258)
    package static let adminCreateToken = Method(rawValue: 259)
    package static let adminRevokeTokens = Method(rawValue: 260)
    package static let adminSnapshot = Method(rawValue: 261)
    package static let adminExportSchema = Method(rawValue: 262)
    package static let adminImportSchema = Method(rawValue: 263)
    package static let adminDeploySchema = Method(rawValue: 264)
    package static let adminResetSchema = Method(rawValue: 265)
    package static let adminSetRoleMember = Method(rawValue: 266)
    package static let adminListRoleMembers = Method(rawValue: 267)
    package static let adminStats = Method(rawValue: 268)
    package static let adminQuota = Method(rawValue: 272)
    package static let adminListContainers = Method(rawValue: 273)
    package static let adminHandles = Method(rawValue: 274)

    /// Whether it belongs to the Admin service, whose numbers begin at 256.
    package var isOfOperator: Bool { rawValue >= Self.adminAddAccount.rawValue }
}

/// Opens a call.
package struct CallHeader: Equatable, Sendable {
    package var method: Method
    /// The time after which an unanswered call fails with `networkFailure`; 0 means the server's default.
    package var timeoutMilliseconds: UInt32
    /// Any text up to 64 bytes, for the server's log.
    package var requestID: String
    /// The operation group's name, up to 255 bytes, for the server's log.
    package var operationGroup: String
    /// Where the client's trace stands, for the server's log.
    package var traceParent: TraceParent?
    /// What is wrong with the two texts of a header that was received; the call fails with it.
    package var problem: ServiceError?

    package init(
        method: Method, timeoutMilliseconds: UInt32 = 0, requestID: String = "", operationGroup: String = "",
        traceParent: TraceParent? = nil
    ) {
        self.method = method
        self.timeoutMilliseconds = timeoutMilliseconds
        self.requestID = requestID
        self.operationGroup = operationGroup
        self.traceParent = traceParent
    }
}
