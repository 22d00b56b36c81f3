public import Foundation

/// The name of the share of a whole zone.
public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

/// A record that says with whom a hierarchy of records, or a zone, is shared. May be used from several threads.
///
/// Differs from CloudKit: the server has no sharing yet. A share, its participants and the reference to it in the
/// shared record work on this device, archives included; saving a share fails with `serverRejectedRequest`, and in an
/// atomic batch the records beside it fail with `batchRequestFailed`. ``url`` stays nil.
public class CKShare: CKRecord, @unchecked Sendable {
    // Sendable: what a share has beyond a record is behind the lock.

    private struct Details: Sendable {
        var publicPermission = ParticipantPermission.none
        var participants: [Participant]
        var allowsAccessRequests = false
        var requesters: [AccessRequester] = []
        var blockedIdentities: [BlockedIdentity] = []

        init() {
            let owner = CKUserIdentity(
                userRecordID: CKRecord.ID(recordName: CKCurrentUserDefaultName), hasiCloudAccount: true)
            participants = [
                Participant(
                    userIdentity: owner,
                    values: .init(role: .owner, permission: .readWrite, acceptanceStatus: .accepted))
            ]
        }
    }

    private let details = Guarded(Details())

    /// A share of a record and of those whose parents lead to it. Sets the record's ``CKRecord/share`` at once.
    public convenience init(rootRecord: CKRecord) {
        self.init(
            rootRecord: rootRecord,
            shareID: CKRecord.ID(recordName: "Share-\(GeneratedName.next)", zoneID: rootRecord.recordID.zoneID))
    }

    /// The same under an id of the app's own, in the record's zone; another zone traps.
    public convenience init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        precondition(
            shareID.zoneID == rootRecord.recordID.zoneID,
            "CKShare: a share is in its root record's zone; make its id with the zone of rootRecord.recordID")
        self.init(recordType: CKRecord.SystemType.share, recordID: shareID, state: CKRecordState())
        rootRecord.updateState { $0.local.share = shareID.recordName }
    }

    /// A share of a whole zone.
    public convenience init(recordZoneID: CKRecordZone.ID) {
        self.init(
            recordType: CKRecord.SystemType.share,
            recordID: CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID), state: CKRecordState())
    }

    /// A share is made of what it shares.
    @available(*, unavailable, message: "Use init(rootRecord:) or init(recordZoneID:)")
    public convenience init(recordType: CKRecord.RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        preconditionFailure("CKShare: use init(rootRecord:) or init(recordZoneID:)")
    }

    /// What whoever has the URL may do; `none` unless set. Set to something else, the participants that were invited
    /// go; set to `none`, those that came by the URL do.
    public var publicPermission: ParticipantPermission {
        get { details.publicPermission }
        set {
            details.withLock { details in
                details.publicPermission = newValue
                details.participants.removeAll { participant in
                    newValue == .none
                        ? participant.role == .publicUser
                        : participant.role == .privateUser && participant.acceptanceStatus == .pending
                }
            }
        }
    }

    /// Where others find the share; nil until a server has saved it.
    public var url: URL? { nil }

    /// The participants, the owner first. Their roles and permissions can be set.
    public var participants: [Participant] { details.participants }

    /// Whose share it is.
    public var owner: Participant { details.participants[0] }

    /// The participant that the current user is.
    public var currentUserParticipant: Participant? {
        details.participants.first {
            $0.userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName
        }
    }

    /// Adds a participant, or gives the one of the same identity its permission and role.
    ///
    /// Takes ``publicPermission`` `none`; anything else traps.
    public func addParticipant(_ participant: Participant) {
        details.withLock { details in
            precondition(
                details.publicPermission == .none,
                "CKShare.addParticipant: with a publicPermission everybody may come; set it to none to invite single users"
            )
            let known = details.participants.first {
                $0 === participant || $0.userIdentity.isSameUser(as: participant.userIdentity)
            }
            guard let known else { return details.participants.append(participant) }
            if known.role != .owner {
                known.permission = participant.permission
                known.role = participant.role
            }
        }
    }

    /// Removes a participant, whom the share need not have. The owner stays.
    public func removeParticipant(_ participant: Participant) {
        details.withLock { details in
            details.participants.removeAll {
                $0.role != .owner
                    && ($0 === participant || $0.participantID == participant.participantID
                        || $0.userIdentity.isSameUser(as: participant.userIdentity))
            }
        }
    }

    /// The URL for a participant that nobody knows yet; nil until a server has saved the share.
    public func oneTimeURL(for participantID: Participant.ID) -> URL? { nil }

    /// Whether users who are no participants may ask to become some; false unless set.
    public var allowsAccessRequests: Bool {
        get { details.allowsAccessRequests }
        set { details.allowsAccessRequests = newValue }
    }

    /// Who asked to take part and was not answered yet. A server that shares fills it; there is none yet.
    public var requesters: [AccessRequester] { details.requesters }

    /// Whose requests are not heard any more.
    public var blockedIdentities: [BlockedIdentity] { details.blockedIdentities }

    /// Denies requests: they leave ``requesters``. Who asked may ask again. Save the share afterwards.
    ///
    /// Traps unless the current user is the owner or an administrator.
    public func denyRequesters(_ requesters: [AccessRequester]) {
        manageRequests { details in
            details.requesters.removeAll { known in requesters.contains { known.isSameUser(as: $0) } }
        }
    }

    /// Denies requests for good: who asked goes to ``blockedIdentities`` and is no participant any more. Save the share
    /// afterwards.
    ///
    /// Traps unless the current user is the owner or an administrator.
    public func blockRequesters(_ requesters: [AccessRequester]) {
        manageRequests { details in
            for requester in requesters {
                details.requesters.removeAll { $0.isSameUser(as: requester) }
                details.participants.removeAll {
                    $0.role != .owner && $0.userIdentity.isSameUser(as: requester.userIdentity)
                }
                let isKnown = details.blockedIdentities.contains {
                    $0.userIdentity.isSameUser(as: requester.userIdentity)
                }
                if !isKnown { details.blockedIdentities.append(BlockedIdentity(userIdentity: requester.userIdentity)) }
            }
        }
    }

    /// Takes users out of ``blockedIdentities``: they may ask again. Save the share afterwards.
    ///
    /// Traps unless the current user is the owner or an administrator.
    public func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {
        manageRequests { details in
            details.blockedIdentities.removeAll { known in
                blockedIdentities.contains { known == $0 || known.userIdentity.isSameUser(as: $0.userIdentity) }
            }
        }
    }

    private func manageRequests(_ change: (inout Details) -> Void) {
        let role = currentUserParticipant?.role
        precondition(
            role == .owner || role == .administrator,
            "CKShare: only the owner and administrators answer access requests; ask currentUserParticipant for the role first"
        )
        details.withLock { change(&$0) }
    }

    /// What a server that shares tells of who asked and who is blocked.
    func setAccessRequests(requesters: [AccessRequester], blockedIdentities: [BlockedIdentity]) {
        details.withLock { details in
            details.requesters = requesters
            details.blockedIdentities = blockedIdentities
        }
    }

    /// A share of its own with the same participants and values.
    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKShare(recordType: recordType, recordID: recordID, state: snapshot)
        let details = details.current
        copy.details.withLock { copied in
            copied = details
            copied.participants = details.participants.map { $0.copy() as! Participant }
        }
        return copy
    }

    // MARK: Archiving

    /// Writes the system fields, which a share's participants belong to, into a keyed archive.
    public override func encodeSystemFields(with coder: NSCoder) {
        super.encodeSystemFields(with: coder)
        encodeDetails(with: coder)
    }

    /// Writes the whole share into a keyed archive.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        encodeDetails(with: coder)
    }

    private func encodeDetails(with coder: NSCoder) {
        let details = details.current
        coder.encode(Int64(details.publicPermission.rawValue), forKey: "PublicPermission")
        coder.encode(details.allowsAccessRequests, forKey: "AllowsAccessRequests")
        coder.encode(details.participants as NSArray, forKey: "Participants")
        coder.encode(details.requesters as NSArray, forKey: "Requesters")
        coder.encode(details.blockedIdentities as NSArray, forKey: "BlockedIdentities")
    }

    /// Reads an archived share; nil when the archive holds none.
    public required convenience init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShare.self)
        guard let (type, id, state) = CKRecord.decode(coder), type == CKRecord.SystemType.share,
            coder.containsValue(forKey: "PublicPermission"), coder.containsValue(forKey: "Participants"),
            let permission = ParticipantPermission(
                rawValue: Int(truncatingIfNeeded: coder.decodeInt64(forKey: "PublicPermission"))),
            let participants = coder.decodeObject(
                of: [NSArray.self, CKShareParticipant.self], forKey: "Participants") as? [Participant],
            participants.first?.role == .owner
        else { return nil }
        self.init(recordType: type, recordID: id, state: state)
        let allowsAccessRequests =
            coder.containsValue(forKey: "AllowsAccessRequests") && coder.decodeBool(forKey: "AllowsAccessRequests")
        let requesters = coder.listIfPresent(of: CKShareAccessRequester.self, forKey: "Requesters")
        let blockedIdentities = coder.listIfPresent(of: CKShareBlockedIdentity.self, forKey: "BlockedIdentities")
        details.withLock { details in
            details.publicPermission = permission
            details.participants = participants
            details.allowsAccessRequests = allowsAccessRequests
            details.requesters = requesters ?? []
            details.blockedIdentities = blockedIdentities ?? []
        }
    }
}
