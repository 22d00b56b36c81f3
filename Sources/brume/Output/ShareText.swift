internal import BrumeKit
internal import Foundation

/// Shares as the command line prints them.
///
/// Where the SDK has ``CKCurrentUserDefaultName``, text says "you", and JSON has `ownName`, the account's own user
/// record name.
enum ShareText {
    /// What is shared, in a sentence.
    static func place(_ place: (zoneID: CKRecordZone.ID, root: CKRecord.ID?)) -> String {
        let zone = "zone \"\(place.zoneID == .default ? "default" : place.zoneID.zoneName)\""
        return place.root.map { "record \"\($0.recordName)\" of \(zone)" } ?? zone
    }

    /// One line for a share in a list.
    static func line(_ share: CKShare, root: String?) -> String {
        let count = share.participants.count - 1
        let title = share[CKShare.SystemFieldKey.title] as? String
        return [
            "\(share.recordID.zoneID.zoneName)/\(root ?? "")", share.recordID.zoneID.otherOwner,
            title.map { "\"\($0.printable())\"" },
            count == 1 ? "1 participant" : "\(count) participants",
            share.publicPermission == .none ? nil : "whoever has the URL may \(words(share.publicPermission))",
            share.url?.absoluteString,
        ].compactMap(\.self).joined(separator: "  ")
    }

    static func lines(_ share: CKShare) -> [String] {
        var lines: [String] = []
        if let title = share[CKShare.SystemFieldKey.title] as? String {
            lines.append("title     \(title.printable())")
        }
        if let line = pictureLine(share) { lines.append(line) }
        if let url = share.url { lines.append("url       \(url.absoluteString)") }
        lines.append(
            "public    "
                + (share.publicPermission == .none
                    ? "only who is invited" : "whoever has the URL may \(words(share.publicPermission))"))
        if share.allowsAccessRequests { lines.append("requests  whoever has the URL may ask for access") }
        lines += share.participants.map { participant in
            let url = share.oneTimeURL(for: participant.participantID).map { "  \($0.absoluteString)" } ?? ""
            return "\(role(participant.role))\(text(participant.userIdentity)), \(state(participant))\(url)"
        }
        lines += share.requesters.map { "asks      \(text($0.userIdentity))" }
        lines += share.blockedIdentities.map { "blocked   \(text($0.userIdentity))" }
        return lines
    }

    private static func pictureLine(_ share: CKShare) -> String? {
        (share[CKShare.SystemFieldKey.thumbnailImageData] as? Data).map { "picture   \($0.count) bytes" }
    }

    static func lines(_ metadata: CKShare.Metadata) -> [String] {
        let title = metadata.share[CKShare.SystemFieldKey.title] as? String
        let id = metadata.share.recordID.zoneID
        return [
            title.map { "title     \($0)" },
            pictureLine(metadata.share),
            "container \(metadata.containerIdentifier)",
            "owner     \(text(metadata.ownerIdentity))",
            "zone      \(id.zoneName)",
            "record    \(metadata.hierarchicalRootRecordID?.recordName ?? "the whole zone")",
            "you       \(roleName(metadata.participantRole)), "
                + (metadata.participantStatus == .accepted ? "takes part" : "has not accepted")
                + ", may \(words(metadata.participantPermission))",
        ].compactMap { $0?.printable() }
    }

    /// A share that was accepted just now.
    static func acceptedLines(_ share: CKShare, root: String?) -> [String] {
        let zoneID = share.recordID.zoneID
        return [
            "zone      \(zoneID.zoneName)", "owner     \(zoneID.ownerName)", "record    \(root ?? "the whole zone")",
            "you       may \(words(share.currentUserParticipant?.permission ?? .unknown))",
        ].map { $0.printable() }
    }

    // MARK: JSON

    static func acceptedJSON(_ share: CKShare, root: String?) -> JSONValue {
        .object([
            ("zone", .string(share.recordID.zoneID.zoneName)), ("owner", .string(share.recordID.zoneID.ownerName)),
            ("record", root.map { .string($0) } ?? .null),
            ("permission", .string(verb(share.currentUserParticipant?.permission ?? .unknown))),
        ])
    }

    static func json(_ share: CKShare, root: String?, ownName: String) -> JSONValue {
        .object([
            ("name", .string(share.recordID.recordName)), ("zone", .string(share.recordID.zoneID.zoneName)),
            ("owner", .string(share.recordID.zoneID.otherOwner ?? ownName)),
            ("record", root.map { .string($0) } ?? .null),
            ("title", (share[CKShare.SystemFieldKey.title] as? String).map { .string($0) } ?? .null),
            ("url", share.url.map { .string($0.absoluteString) } ?? .null),
            ("publicPermission", .string(verb(share.publicPermission))),
            ("allowsAccessRequests", .bool(share.allowsAccessRequests)),
            ("participants", .array(share.participants.map { json($0, of: share, ownName: ownName) })),
            ("requesters", .array(share.requesters.map { .string(name($0.userIdentity, ownName: ownName)) })),
            ("blocked", .array(share.blockedIdentities.map { .string(name($0.userIdentity, ownName: ownName)) })),
        ])
    }

    private static func json(
        _ participant: CKShare.Participant, of share: CKShare, ownName: String
    ) -> JSONValue {
        let identity = participant.userIdentity
        func value(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
        return .object([
            ("id", .string(participant.participantID)), ("user", .string(name(identity, ownName: ownName))),
            ("email", value(identity.lookupInfo?.emailAddress)), ("phone", value(identity.lookupInfo?.phoneNumber)),
            ("userRecordName", value(recordName(identity, ownName: ownName))),
            ("role", .string(roleName(participant.role))), ("permission", .string(verb(participant.permission))),
            ("accepted", .bool(participant.acceptanceStatus == .accepted)),
            (
                "oneTimeURL",
                share.oneTimeURL(for: participant.participantID).map { .string($0.absoluteString) } ?? .null
            ),
        ])
    }

    static func json(_ metadata: CKShare.Metadata, ownName: String) -> JSONValue {
        .object([
            ("container", .string(metadata.containerIdentifier)),
            ("owner", .string(name(metadata.ownerIdentity, ownName: ownName))),
            ("zone", .string(metadata.share.recordID.zoneID.zoneName)),
            ("record", metadata.hierarchicalRootRecordID.map { .string($0.recordName) } ?? .null),
            ("title", (metadata.share[CKShare.SystemFieldKey.title] as? String).map { .string($0) } ?? .null),
            ("role", .string(roleName(metadata.participantRole))),
            ("permission", .string(verb(metadata.participantPermission))),
            ("accepted", .bool(metadata.participantStatus == .accepted)),
        ])
    }

    // MARK: Words

    private static let unknownUser = "whoever comes first"

    /// An address or a number that the user was invited by.
    private static func handle(_ identity: CKUserIdentity) -> String? {
        identity.lookupInfo?.emailAddress ?? identity.lookupInfo?.phoneNumber
    }

    private static func recordName(_ identity: CKUserIdentity, ownName: String) -> String? {
        let name = identity.userRecordID?.recordName
        return name == CKCurrentUserDefaultName ? ownName : name
    }

    private static func name(_ identity: CKUserIdentity, ownName: String) -> String {
        handle(identity) ?? recordName(identity, ownName: ownName) ?? unknownUser
    }

    private static func text(_ identity: CKUserIdentity) -> String {
        let recordName = recordName(identity, ownName: "you")
        guard let handle = handle(identity)?.printable() else { return recordName ?? unknownUser }
        return recordName.map { "\(handle) (\($0))" } ?? handle
    }

    private static func state(_ participant: CKShare.Participant) -> String {
        let may = "may \(words(participant.permission))"
        return participant.acceptanceStatus == .accepted ? may : "\(may), has not accepted"
    }

    private static func role(_ role: CKShare.ParticipantRole) -> String {
        role == .owner ? "owner     " : role == .administrator ? "manages   " : "user      "
    }

    private static func roleName(_ role: CKShare.ParticipantRole) -> String {
        switch role {
        case .owner: "owner"
        case .administrator: "administrator"
        case .privateUser: "invited user"
        case .publicUser: "public user"
        case .unknown: "unknown"
        }
    }

    private static func words(_ permission: CKShare.ParticipantPermission) -> String {
        switch permission {
        case .readOnly: "read"
        case .readWrite: "read and write"
        case .none, .unknown: "do nothing"
        }
    }

    /// The word that options take for it, and that JSON has.
    private static func verb(_ permission: CKShare.ParticipantPermission) -> String {
        switch permission {
        case .readOnly: "read"
        case .readWrite: "write"
        case .none, .unknown: "none"
        }
    }
}
