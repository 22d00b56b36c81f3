internal import BrumeEncryption
internal import BrumeModel
internal import BrumeRecord
public import Foundation

/// What a share's URL leads to, for the user who asked: used as `CKShare.Metadata`.
///
/// ``CKContainer/shareMetadata(for:)`` and ``CKFetchShareMetadataOperation`` fetch it. Immutable, so it may be passed
/// between threads.
public class CKShareMetadata: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all is immutable.

    /// The container of the share, which need not be the one that was asked.
    public let containerIdentifier: String
    /// The share. A user who does not take part sees its title, type and picture, its owner and themselves.
    public let share: CKShare
    /// The root of what is shared; nil for a zone.
    public let hierarchicalRootRecordID: CKRecord.ID?
    /// The root record, where it was asked for.
    public let rootRecord: CKRecord?
    /// What the user is in the share, or would be.
    public let participantRole: CKShare.ParticipantRole
    /// Whether the user takes part: `accepted`, or `pending`.
    public let participantStatus: CKShare.ParticipantAcceptanceStatus
    /// What the user may do, or could do after accepting.
    public let participantPermission: CKShare.ParticipantPermission
    /// The user whose share it is.
    public let ownerIdentity: CKUserIdentity

    /// The keys that were in the URL. Only in memory: archives don't have them.
    let link: LinkFragment?

    /// Brume's addition: whether the URL that was asked about hands out the keys of what is encrypted in the share.
    ///
    /// A URL has them behind its `#`. Mail programs and forms cut that off, and nothing else of it tells: then whoever
    /// accepts the share reads what is encrypted only once the owner hands out the keys
    /// (``CKDatabase/giveEncryptionKeys(to:)``). Ask the person for the whole URL first. A share in which nothing is
    /// encrypted needs none. Archives of metadata have no keys.
    public var hasKeys: Bool { link != nil }

    init(
        containerIdentifier: String, share: CKShare, hierarchicalRootRecordID: CKRecord.ID?, rootRecord: CKRecord?,
        participantRole: CKShare.ParticipantRole, participantStatus: CKShare.ParticipantAcceptanceStatus,
        participantPermission: CKShare.ParticipantPermission, ownerIdentity: CKUserIdentity,
        link: LinkFragment? = nil
    ) {
        self.containerIdentifier = containerIdentifier
        self.share = share
        self.hierarchicalRootRecordID = hierarchicalRootRecordID
        self.rootRecord = rootRecord
        self.participantRole = participantRole
        self.participantStatus = participantStatus
        self.participantPermission = participantPermission
        self.ownerIdentity = ownerIdentity
        self.link = link
    }

    /// The earlier form of ``participantRole``.
    @available(*, deprecated, renamed: "participantRole")
    public var participantType: CKShare.ParticipantType { CKShare.ParticipantType(participantRole) }

    /// The root of what is shared; the share itself for a zone.
    @available(*, deprecated, renamed: "hierarchicalRootRecordID")
    public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the metadata into a keyed archive, with the share and the root record.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareMetadata.self)
        coder.encode(containerIdentifier as NSString, forKey: "ContainerIdentifier")
        coder.encode(share, forKey: "Share")
        if let hierarchicalRootRecordID { coder.encode(hierarchicalRootRecordID, forKey: "HierarchicalRootRecordID") }
        if let rootRecord { coder.encode(rootRecord, forKey: "RootRecord") }
        coder.encode(Int64(participantRole.rawValue), forKey: "ParticipantRole")
        coder.encode(Int64(participantStatus.rawValue), forKey: "ParticipantStatus")
        coder.encode(Int64(participantPermission.rawValue), forKey: "ParticipantPermission")
        coder.encode(ownerIdentity, forKey: "OwnerIdentity")
    }

    /// Reads archived metadata; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShareMetadata.self)
        func number(_ key: String) -> Int {
            coder.containsValue(forKey: key) ? Int(truncatingIfNeeded: coder.decodeInt64(forKey: key)) : 0
        }
        guard let containerIdentifier = coder.stringIfPresent(forKey: "ContainerIdentifier"),
            let share = coder.objectIfPresent(of: CKShare.self, forKey: "Share"),
            let role = CKShare.ParticipantRole(rawValue: number("ParticipantRole")),
            let status = CKShare.ParticipantAcceptanceStatus(rawValue: number("ParticipantStatus")),
            let permission = CKShare.ParticipantPermission(rawValue: number("ParticipantPermission")),
            let ownerIdentity = coder.objectIfPresent(of: CKUserIdentity.self, forKey: "OwnerIdentity")
        else { return nil }
        self.containerIdentifier = containerIdentifier
        self.share = share
        hierarchicalRootRecordID = coder.objectIfPresent(of: CKRecordID.self, forKey: "HierarchicalRootRecordID")
        rootRecord = coder.objectIfPresent(of: CKRecord.self, forKey: "RootRecord")
        participantRole = role
        participantStatus = status
        participantPermission = permission
        self.ownerIdentity = ownerIdentity
        link = nil
    }
}

extension CKShareMetadata {
    /// The metadata of an answer.
    ///
    /// User record names differ between containers, so the current user is the one that the answer names, not that of
    /// the container that asked.
    ///
    /// - Parameters:
    ///   - origin: See ``AnswerContext/origin``.
    ///   - link: The keys in the URL that was asked about.
    static func make(
        _ metadata: ShareMetadata<Record>, origin: String?, link: LinkFragment? = nil
    ) throws(CKError) -> CKShareMetadata {
        let context = AnswerContext(currentUser: metadata.user, origin: origin)
        guard [metadata.user, metadata.zone.owner].allSatisfy(Names.isUserRecordName),
            Names.problemWithContainer(metadata.container) == nil,
            metadata.root.isEmpty || CKRecord.ID.problem(withName: metadata.root) == nil,
            let zoneID = CKRecordZone.ID(metadata.zone, currentUser: metadata.user),
            let share = CKRecord.make(metadata.share, zoneID: zoneID, context: context) as? CKShare
        else { throw .malformedResponse("it names what no share's URL can lead to") }
        let rootRecord = metadata.rootRecord.map { record in
            record.system.name == metadata.root ? CKRecord.make(record, zoneID: zoneID, context: context) : nil
        }
        if case .some(nil) = rootRecord { throw .malformedResponse("a record is not the one that is shared") }
        return CKShareMetadata(
            containerIdentifier: metadata.container, share: share,
            hierarchicalRootRecordID: metadata.root.isEmpty
                ? nil : CKRecord.ID(recordName: metadata.root, zoneID: zoneID),
            rootRecord: rootRecord ?? nil, participantRole: CKShare.ParticipantRole(metadata.role),
            participantStatus: metadata.isAccepted ? .accepted : .pending,
            participantPermission: CKShare.ParticipantPermission(metadata.permission),
            ownerIdentity: share.owner.userIdentity, link: link)
    }
}
