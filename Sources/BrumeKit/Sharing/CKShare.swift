internal import BrumeModel
public import Foundation

/// The name of the share of a whole zone.
public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

/// A record that says with whom a hierarchy of records, or a zone, is shared. May be used from several threads.
///
/// Save a new share together with its root record, in one request; after that it can be saved alone. A save sends only
/// what the app has changed since it got this version of the share: participants that were added, changed or removed,
/// permissions, and answers to requests. What the app changes while a save is on its way is sent with the next save.
///
/// Saving a share fails with
///
/// - `serverRecordChanged`, whatever the save policy, when the share has changed on the server, as it does when
///   somebody accepts: merge with ``CKRecord/merging(_:ancestor:policy:log:)`` and save again;
/// - `alreadyShared` when the root belongs to another share;
/// - `invalidArguments` when a new share's root is not in the same request, or when a participant has a role or a
///   permission that none can be given;
/// - `tooManyParticipants` above 100 participants beside the owner, pending ones included;
/// - `permissionFailure` when the current user is neither the owner nor an administrator, unless all that they changed
///   is that they removed themselves.
///
/// Deleting the share's record ends it for all participants; the shared records stay. Deleted in the
/// ``CKContainer/sharedCloudDatabase``, the user leaves it, and it stays for the others.
///
/// ## What participants see
///
/// Each participant finds the share's records in the owner's zone, in the ``CKContainer/sharedCloudDatabase``: with
/// ``init(recordZoneID:)`` all of that zone, with ``init(rootRecord:)`` the root without its own parent, everything
/// below it, and the share. Several shares of one owner's zone make one zone there.
///
/// Below a root a participant with write permission changes and deletes records, and makes new ones, whose
/// ``CKRecord/parent`` is in the share. To make a record without such a parent, to move a record out of the share, to
/// take its parent away, to give the root a parent or to delete the root fails with `permissionFailure`: all of this is
/// the owner's to do. Whatever else is in the zone is `unknownItem`.
///
/// What comes into a participant's sight and what leaves it, by another share of the zone or because records were
/// moved, comes as records and deletions of the zone's changes. The zone itself goes with the last of its shares.
public class CKShare: CKRecord, @unchecked Sendable {
    // Sendable: what a share has beyond a record is behind the lock.

    /// Locked before the record's own state where both are needed.
    let details = Guarded(CKShareState(root: ""))

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
        self.init(
            recordID: shareID, state: CKRecordState(), details: CKShareState(root: rootRecord.recordID.recordName))
        rootRecord.updateState { $0.setShare(shareID.recordName) }
    }

    /// A share of a whole zone.
    public convenience init(recordZoneID: CKRecordZone.ID) {
        self.init(
            recordID: CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID), state: CKRecordState(),
            details: CKShareState(root: ""))
    }

    convenience init(recordID: CKRecord.ID, state: CKRecordState, details: CKShareState) {
        self.init(recordType: CKRecord.SystemType.share, recordID: recordID, state: state)
        self.details.withLock { $0 = details }
    }

    /// A share is made of what it shares.
    @available(*, unavailable, message: "Use init(rootRecord:) or init(recordZoneID:)")
    public convenience init(recordType: CKRecord.RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        preconditionFailure("CKShare: use init(rootRecord:) or init(recordZoneID:)")
    }

    /// What everybody who has the URL may do; `none` unless set, which admits invited users alone.
    ///
    /// Setting another permission than `none` removes the pending participants; setting `none` removes those that came
    /// by the URL. Saving the share with `unknown` fails with `invalidArguments`.
    public var publicPermission: ParticipantPermission {
        get { details.publicPermission }
        set {
            details.withLock { details in
                details.publicPermission = newValue
                details.participants.removeAll { participant in
                    if participant.role == .owner { return false }
                    return newValue == .none
                        ? participant.role == .publicUser : participant.acceptanceStatus == .pending
                }
            }
        }
    }

    // MARK: Participants

    /// The participants, the owner first. Their roles and permissions can be set.
    ///
    /// The owner and administrators see all of them; other participants see those that have accepted. After a save,
    /// participants of the share are the same instances as before.
    public var participants: [Participant] { details.participants }

    /// The participant whose share it is.
    public var owner: Participant { details.participants[0] }

    /// The participant that the current user is; nil for a user who was not invited and may still accept, because of
    /// ``publicPermission``.
    public var currentUserParticipant: Participant? {
        details.participants.first {
            $0.userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName
        }
    }

    /// Adds a participant, or gives the one of the same identity its permission and role. Save the share afterwards.
    ///
    /// The owner takes part already: adding ``owner`` does nothing, and with a participant that was looked up by the
    /// owner's e-mail address, phone number or user record name, saving the share fails with `invalidArguments`. To an
    /// administrator the server does not tell whether an address or a number is the owner's: such an invitation stays
    /// pending.
    ///
    /// Traps unless ``publicPermission`` is `none`.
    public func addParticipant(_ participant: Participant) {
        details.withLock { details in
            precondition(
                details.publicPermission == .none,
                "CKShare.addParticipant: with a publicPermission everybody may come; set it to none to invite single users"
            )
            let known = details.participants.first { $0.isSame(as: participant) }
            switch known {
            case let known? where known.role != .owner: known.take(participant)
            case let owner? where owner.participantID == participant.participantID: break
            // An invitation of the owner is added too: the server says what is wrong with it.
            default: details.participants.append(participant)
            }
        }
    }

    /// Removes a participant; does nothing for the owner and for one that the share does not have. Save the share
    /// afterwards.
    public func removeParticipant(_ participant: Participant) {
        details.withLock { details in
            details.participants.removeAll { $0.role != .owner && $0.isSame(as: participant) }
        }
    }

    // MARK: Versions

    /// A share of its own with the same participants and values.
    public override func copy(with zone: NSZone? = nil) -> Any {
        let (state, details) = snapshots
        return CKShare(recordID: recordID, state: state, details: details.detached())
    }

    /// What the share holds now, as one version.
    var snapshots: (CKRecordState, CKShareState) { details.withLock { (snapshot, $0) } }

    func updateDetails(_ body: (inout CKShareState) -> Void) {
        details.withLock { body(&$0) }
    }

    /// Makes the changes that the app has made to another version of the share.
    ///
    /// - Parameter serverWins: Whether what this version changed, too, stays as it is here.
    func takeChanges(of client: CKShare, serverWins: Bool) {
        var merged = client.details.current.detached()
        updateDetails { details in
            guard let base = details.base else { return }
            merged.saved(as: base, sent: merged.baseContents, serverWins: serverWins)
            // What this version shows is no older.
            if details.links.forMany != nil { merged.links = details.links }
            details = merged
        }
    }

    // MARK: Archiving

    /// Writes the system fields into a keyed archive. A share's include its participants and permissions, unsaved
    /// changes to them as well.
    public override func encodeSystemFields(with coder: NSCoder) {
        let (state, details) = snapshots
        encodeSystemFields(of: state, with: coder)
        details.encode(with: coder)
    }

    /// Writes the whole share into a keyed archive.
    public override func encode(with coder: NSCoder) {
        let (state, details) = snapshots
        encodeSystemFields(of: state, with: coder)
        state.encodeFields(with: coder)
        details.encode(with: coder)
    }

    /// Reads an archived share; nil when the archive holds none.
    public required convenience init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKShare.self)
        guard let (type, id, state) = CKRecord.decode(coder), type == CKRecord.SystemType.share,
            let details = CKShareState(coder: coder)
        else { return nil }
        self.init(recordID: id, state: state, details: details)
    }
}

extension CKShareParticipant {
    /// Whether both are one participant, or two of one user.
    fileprivate func isSame(as other: CKShareParticipant) -> Bool {
        self === other || participantID == other.participantID
            || userIdentity.isSameUser(as: other.userIdentity)
    }
}
