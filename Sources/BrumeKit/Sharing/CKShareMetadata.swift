public import Foundation

/// What a share's URL leads to, before the share is accepted: used as `CKShare.Metadata`.
///
/// Differs from CloudKit: a server that shares makes these, and there is none yet, so an app never gets one.
public class CKShareMetadata: NSObject, NSCopying, @unchecked Sendable {
    // Sendable: all is immutable.

    /// The container of the share.
    public let containerIdentifier: String
    /// The share.
    public let share: CKShare
    /// The root of what is shared; nil for a zone.
    public let hierarchicalRootRecordID: CKRecord.ID?
    /// The root record, where it was asked for.
    public let rootRecord: CKRecord?
    /// What the user would be in the share.
    public let participantRole: CKShare.ParticipantRole
    /// Whether the user takes part.
    public let participantStatus: CKShare.ParticipantAcceptanceStatus
    /// What the user may do.
    public let participantPermission: CKShare.ParticipantPermission
    /// Whose share it is.
    public let ownerIdentity: CKUserIdentity

    init(
        containerIdentifier: String, share: CKShare, hierarchicalRootRecordID: CKRecord.ID?, rootRecord: CKRecord?,
        participantRole: CKShare.ParticipantRole, participantStatus: CKShare.ParticipantAcceptanceStatus,
        participantPermission: CKShare.ParticipantPermission, ownerIdentity: CKUserIdentity
    ) {
        self.containerIdentifier = containerIdentifier
        self.share = share
        self.hierarchicalRootRecordID = hierarchicalRootRecordID
        self.rootRecord = rootRecord
        self.participantRole = participantRole
        self.participantStatus = participantStatus
        self.participantPermission = participantPermission
        self.ownerIdentity = ownerIdentity
    }

    /// The root of what is shared; the share itself for a zone.
    @available(*, deprecated, renamed: "hierarchicalRootRecordID")
    public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }
}
