public import BrumeKit

extension ServerLie {
    /// With what a lying server says that a user came by a share's link.
    public enum GuestProof: Sendable {
        /// With nothing: as somebody who opened the URL without its part behind `#`.
        case none
        /// With a proof by a link of the server's own.
        case forged
        /// With the proof by which somebody else was taken in.
        case ofMember
    }
}

/// Those who take part in a share.
extension ServerLie {
    /// A user who takes part in a zone has no keys.
    ///
    /// A guest is not taken in. A device that does not know a member reads nothing that the member can read (`noKeys`),
    /// and its saves of encrypted values fail with `accountTemporarilyUnavailable`. One that does goes on as ever.
    public static func hidesKeys(ofUser userRecordID: CKRecord.ID, in zoneID: CKRecordZone.ID) -> ServerLie {
        ServerLie(
            "keys of \(userRecordID.recordName) are hidden",
            .userKeys(.upTo(0), user: userRecordID.recordName, zone: zoneID))
    }

    /// A user who takes part in a zone has keys that the server made.
    ///
    /// Nothing is encrypted for them. A guest is not taken in, and a member whom the device knows has the keys that it
    /// knows. Of the owner they don't fit the share's URL: accepting the share fails with `permissionFailure`.
    public static func showsStrangersKeys(
        ofUser userRecordID: CKRecord.ID, in zoneID: CKRecordZone.ID
    ) -> ServerLie {
        ServerLie(
            "keys of \(userRecordID.recordName) are a stranger's",
            .userKeys(.strangers, user: userRecordID.recordName, zone: zoneID))
    }

    /// The server says that nobody can ask for the keys of what is shared.
    ///
    /// The device tries a few times, then accepting the share fails with `zoneBusy`. Until the app accepts it again
    /// encrypted values are `keyMissing`, and saves of them fail with `accountTemporarilyUnavailable`.
    public static func refusesToJoin(_ shared: Shared) -> ServerLie {
        ServerLie("nobody joins \(shared.text)", .joining(shared))
    }

    /// Nobody waits for the keys of what is shared. Guests go on waiting, with values that are `keyMissing`, until this
    /// device, or another one that may take them in, is told the truth and fetches the share.
    public static func hidesGuests(of shared: Shared) -> ServerLie {
        ServerLie("nobody waits for keys of \(shared.text)", .news(.hidesGuests, of: shared))
    }

    /// A user waits for the keys of what is shared, and may change records. Where the user has not asked for them the
    /// server makes up who they are. Nothing is encrypted for them, and saves go on.
    public static func showsGuest(
        _ userRecordID: CKRecord.ID, withProof proof: GuestProof, of shared: Shared
    ) -> ServerLie {
        ServerLie(
            "\(userRecordID.recordName) waits for keys of \(shared.text)",
            .news(.guest(userRecordID.recordName, proof), of: shared),
            .userKeys(.strangersForNone, user: userRecordID.recordName, zone: shared.zoneID))
    }

    /// Everybody who has the keys of what is shared takes part in it.
    ///
    /// Whom the app removes on this device has no key of what is saved afterwards. Of others who left the device does
    /// not know, and encrypts for them: the server refuses that as ever, so such saves fail with
    /// `accountTemporarilyUnavailable`.
    public static func hidesDepartures(of shared: Shared) -> ServerLie {
        ServerLie("nobody has left \(shared.text)", .news(.hidesDepartures, of: shared))
    }

    /// A user takes part in what is shared no more. The device believes it: what it encrypts from then on is
    /// `keyMissing` for the user, whose saves of encrypted values fail with `accountTemporarilyUnavailable` until they
    /// open the share's URL again, which is another one then.
    public static func saysMemberLeft(_ userRecordID: CKRecord.ID, of shared: Shared) -> ServerLie {
        ServerLie(
            "\(userRecordID.recordName) has left \(shared.text)",
            .news(.departed(userRecordID.recordName), of: shared))
    }

    /// A participant of a share is invited, and has not come yet: nobody knows which user it is. The device takes
    /// nobody's keys for that; whom the app removes has no key of what is saved afterwards.
    ///
    /// - Parameter share: The share's record.
    public static func showsAsInvited(_ userRecordID: CKRecord.ID, in share: CKRecord.ID) -> ServerLie {
        ServerLie(
            "\(userRecordID.recordName) has not come to \(share.recordName)",
            .invited(userRecordID.recordName, of: share))
    }

    /// A user has other keys than those for which values are encrypted. Where the user did not sign that, it is as with
    /// ``saysMemberLeft(_:of:)``.
    public static func saysMemberHasOtherKeys(_ userRecordID: CKRecord.ID, of shared: Shared) -> ServerLie {
        ServerLie(
            "\(userRecordID.recordName) has other keys than in \(shared.text)",
            .news(.renewed(userRecordID.recordName), of: shared))
    }

    /// A participant of a share is said to be another user.
    public static func showsParticipant(
        _ other: CKRecord.ID, as userRecordID: CKRecord.ID, in share: CKRecord.ID
    ) -> ServerLie {
        ServerLie(
            "\(other.recordName) is \(userRecordID.recordName) in \(share.recordName)",
            .participant(other.recordName, as: userRecordID.recordName, of: share))
    }
}
