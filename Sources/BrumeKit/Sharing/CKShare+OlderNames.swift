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
    /// What ``CKContainer/requestApplicationPermission(_:completionHandler:)`` calls with the answer.
    @available(*, deprecated, message: "No longer supported")
    public typealias ApplicationPermissionBlock = @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void

    /// The earlier home of the names of what an app may be permitted.
    public enum Application {
        /// See ``CKContainer/ApplicationPermissions``.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
        public typealias Permissions = CKContainer.ApplicationPermissions

        /// See ``CKContainer/ApplicationPermissionStatus``.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus

        /// See ``CKContainer/ApplicationPermissionBlock``.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }
}

// MARK: At top level, as Swift 4.2 had them for a while

/// See ``CKContainer/ApplicationPermissionBlock``.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock

/// See ``CKContainer/ApplicationPermissionStatus``.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus

/// See ``CKContainer/ApplicationPermissions``.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions

/// See ``CKRecord/ReferenceAction``.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction

/// See ``CKShare/ParticipantAcceptanceStatus``.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus

/// See ``CKShare/ParticipantPermission``.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission

/// See ``CKShare/ParticipantRole``.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole
