/// The names that these types had in earlier versions of CloudKit for Swift.
extension CKShareParticipant {
    /// See ``CKShare/ParticipantAcceptanceStatus``.
    @available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus

    /// See ``CKShare/ParticipantPermission``.
    @available(*, deprecated, renamed: "CKShare.ParticipantPermission")
    public typealias Permission = CKShare.ParticipantPermission

    /// See ``CKShare/ParticipantRole``.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias Role = CKShare.ParticipantRole

    /// See ``CKShare/ParticipantType``.
    @available(*, deprecated, renamed: "CKShare.ParticipantType")
    public typealias ParticipantType = CKShare.ParticipantType
}

extension CKContainer {
    /// The earlier home of the names of what an app may be permitted.
    public enum Application {
        /// See ``CKContainer/ApplicationPermissions``.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
        public typealias Permissions = CKContainer.ApplicationPermissions

        /// See ``CKContainer/ApplicationPermissionStatus``.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus

        /// What ``CKContainer/requestApplicationPermission(_:completionHandler:)`` tells.
        @available(*, deprecated, message: "write the closure's type")
        public typealias PermissionBlock = @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void
    }
}
