/// Why a zone's ring can't be used.
enum ZoneRingFailure: Error, Equatable, Sendable {
    /// The server shows another ring than this device knows.
    case forked
    /// The server shows the ring of an earlier life of the zone.
    case isOver
    /// This device has deleted the zone, and the server shows its ring again.
    case wasDeleted
    /// The zone was to be one tree, and has keys for records already.
    case isPerRecord
    /// The zone's files were to be encrypted and are not, or the other way round.
    case hasOtherFiles(areEncrypted: Bool)
    /// The account takes part in what is shared, and nobody has given it the keys yet.
    case isNoMember
    /// The next entry has to be made by somebody who may.
    case isDue
    /// The server shows other keys of a member than this device knows.
    case isStranger(String)
    /// A link is of another owner than the server shows.
    case isOfAnotherOwner
    /// Others kept changing it.
    case busy
    case newer
    /// It has no room for another entry.
    case full
    /// It is a tree's that is not there yet, and the zone's own has no room for a key made for it.
    case isFullOfTrees
    /// The server's answer is none; a sentence's part that says why.
    case malformed(String)
}

extension ZoneRingFailure {
    /// The error that a save gets.
    func error(_ ring: ZoneRingID) -> CKError {
        let isTree = !ring.root.isEmpty
        let zone =
            isTree
            ? "the encryption keys of the shared record \(ring.root.quotedName)"
            : "the encryption keys of zone \(ring.zone.quotedName)"
        let people = "CKDatabase.encryptionPeople(\(isTree ? "ofShared" : "of"):)"
        return switch self {
        case .forked:
            CKError.notEncrypted(
                .keysDiffer,
                "the server shows \(zone) otherwise than this device knows them, and nothing is encrypted with them: "
                    + "ask the server's operator what happened; if a backup was restored, "
                    + (ring.owner.isEmpty
                        ? "call CKDatabase.acceptEncryptionKeys(\(isTree ? "ofShared" : "of"):) to go on with what the "
                            + "server shows"
                        : "ask the share's owner for its newest link, and open the whole link; if that does not help, "
                            + "CKDatabase.acceptEncryptionKeys(\(isTree ? "ofShared" : "of"):) goes on with what the "
                            + "server shows"))
        case .isOver:
            CKError.notEncrypted(
                .keysDiffer,
                "the server shows \(zone) as they were before it was deleted and made anew, and nothing is encrypted "
                    + "with them: ask its operator what happened")
        case .wasDeleted:
            CKError.notEncrypted(
                .keysDiffer,
                "this device has deleted zone \(ring.zone.quotedName), and the server shows its encryption keys again; "
                    + "nothing is encrypted with them, since those have them with whom it was shared: another device of "
                    + "this account may have made the zone anew before it heard of that, or a backup may have been "
                    + "restored; CKDatabase.acceptEncryptionKeys(of:) goes on with the zone, and with them; else ask the "
                    + "server's operator what happened")
        case .isPerRecord:
            CKError(
                .invalidArguments,
                message:
                    "\(zone) are those of records (perRecord), and a zone's encryption scope is never changed; use "
                    + "another zone")
        case .hasOtherFiles(let areEncrypted):
            CKError(
                .invalidArguments,
                message:
                    "the files of zone \(ring.zone.quotedName) are \(areEncrypted ? "" : "not ")encrypted, and that "
                    + "is never changed; leave encryptsAssets nil, or use another zone")
        case .isNoMember:
            CKError.notEncrypted(
                .waitsForOwner,
                "this account does not have \(zone) yet: a device of its owner's hands them on the next time that it "
                    + "fetches what is shared; where the share was accepted without the whole link, open that, or ask the "
                    + "owner for the newest one, or to give this account the keys (CKDatabase.giveEncryptionKeys(to:))")
        case .isDue:
            CKError.notEncrypted(
                .waitsForOwner,
                "somebody left, or has new keys, since \(zone) were made, and this account may not make others: try "
                    + "again when its owner, or somebody who may change its records, has used it")
        case .isStranger(let user):
            CKError.notEncrypted(
                .personChanged,
                "the server shows other keys of user \(user) than this device knows, and nothing is encrypted with "
                    + "\(zone): they began anew, or the server lies; \(people) shows a safety "
                    + "number to compare with them, and CKContainer.trust(_:) takes the keys")
        case .isOfAnotherOwner:
            CKError(
                .permissionFailure,
                message: "the share's link is of another owner than the server shows for \(zone), or than this device "
                    + "knows, and nothing is read with them: ask who gave you the link; where the owner began anew, "
                    + "\(people) shows a safety number to compare with them, and "
                    + "CKContainer.trust(_:) takes their keys")
        case .busy:
            CKError(.zoneBusy, message: "\(zone) kept changing on other devices; try again", retryAfterSeconds: 1)
        case .newer:
            CKError(.incompatibleVersion, message: "\(zone) were made by a newer version of Brume; update this app")
        case .full:
            CKError(
                .limitExceeded,
                message: "\(zone) have as many members as they can, or were changed as often: remove somebody from the "
                    + "share, or use another zone")
        case .isFullOfTrees: ZoneRingFailure.full.error(ring.zones)
        case .malformed(let reason):
            CKError.notEncrypted(
                .keysDiffer,
                "the server's answer about \(zone) can't be used, and nothing is encrypted with it: \(reason); ask its "
                    + "operator what happened")
        }
    }
}
