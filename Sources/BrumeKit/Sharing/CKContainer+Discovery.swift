/// Permissions, and the discovery of users, which CloudKit supports no longer. Here they answer as CloudKit does since:
/// permissions are denied, and nobody is found.
extension CKContainer {
    /// What an app asks the user for.
    @available(*, deprecated, message: "No longer supported")
    public struct ApplicationPermissions: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: UInt

        /// A set of the given bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// That others find the user by mail address.
        public static let userDiscoverability = ApplicationPermissions(rawValue: 1 << 0)
    }

    /// What the user said. Raw values are CloudKit's.
    @available(*, deprecated, message: "No longer supported")
    public enum ApplicationPermissionStatus: Int, Sendable {
        /// The user was not asked.
        case initialState = 0
        /// Something failed.
        case couldNotComplete = 1
        /// No.
        case denied = 2
        /// Yes.
        case granted = 3
    }

    /// `denied`.
    @available(*, deprecated, message: "No longer supported")
    public func applicationPermissionStatus(
        for permission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus { .denied }

    /// `denied`, for a completion handler.
    @available(*, deprecated, message: "No longer supported")
    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: ApplicationPermissions,
        completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
    ) {
        complete({ (_: Result<Void, any Error>) in completionHandler(.denied, nil) }, {})
    }

    /// `denied`; the user is not asked.
    @available(*, deprecated, message: "No longer supported")
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus { .denied }

    /// `denied`, for a completion handler; the user is not asked.
    @available(*, deprecated, message: "No longer supported")
    @preconcurrency
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions,
        completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
    ) {
        complete({ (_: Result<Void, any Error>) in completionHandler(.denied, nil) }, {})
    }

    /// Nobody.
    @available(*, deprecated, message: "No longer supported")
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] { [] }

    /// Nobody, for a completion handler.
    @available(*, deprecated, message: "No longer supported")
    @preconcurrency
    public func discoverAllIdentities(completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void)
    {
        complete(completionHandler) { [CKUserIdentity]() }
    }

    /// Nil.
    @available(*, deprecated, message: "No longer supported")
    public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? { nil }

    /// Nil.
    @available(*, deprecated, message: "No longer supported")
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? { nil }

    /// Nil.
    @available(*, deprecated, message: "No longer supported")
    public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? { nil }

    /// Nil, for a completion handler.
    @available(*, deprecated, message: "No longer supported")
    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        nobody(completionHandler)
    }

    /// Nil, for a completion handler.
    @available(*, deprecated, message: "No longer supported")
    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        nobody(completionHandler)
    }

    /// Nil, for a completion handler.
    @available(*, deprecated, message: "No longer supported")
    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        nobody(completionHandler)
    }

    /// Nobody.
    @available(*, deprecated, message: "No longer supported")
    public func userIdentities(forEmailAddresses emails: [String]) async throws -> [String: CKUserIdentity] { [:] }

    /// Nobody.
    @available(*, deprecated, message: "No longer supported")
    public func userIdentities(forPhoneNumbers numbers: [String]) async throws -> [String: CKUserIdentity] { [:] }

    /// Nobody.
    @available(*, deprecated, message: "No longer supported")
    public func userIdentities(
        forUserRecordIDs ids: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: CKUserIdentity] { [:] }

    /// Nobody, for a completion handler.
    @available(*, deprecated, message: "No longer supported")
    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        complete(completionHandler) { [:] }
    }

    /// Nobody, for a completion handler.
    @available(*, deprecated, message: "No longer supported")
    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers numbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        complete(completionHandler) { [:] }
    }

    /// Nobody, for a completion handler.
    @available(*, deprecated, message: "No longer supported")
    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs ids: [CKRecord.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        complete(completionHandler) { [:] }
    }

    private func nobody(_ completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void) {
        complete({ (_: Result<Void, any Error>) in completionHandler(nil, nil) }, {})
    }
}
