internal import BrumeKit
internal import Foundation

/// Shares as the command line prints them.
enum ShareText {
    /// One line for a share in a list.
    static func line(_ share: CKShare, root: String?) -> String {
        let count = share.participants.count - 1
        let title = share[CKShare.SystemFieldKey.title] as? String
        return [
            "\(share.recordID.zoneID.zoneName)/\(root ?? "")", title.map { "\"\($0)\"" },
            count == 1 ? "1 participant" : "\(count) participants",
            share.publicPermission == .none ? nil : "whoever has the URL may \(verb(share.publicPermission))",
            share.url?.absoluteString,
        ].compactMap(\.self).joined(separator: "  ")
    }

    static func lines(_ share: CKShare) -> [String] {
        var lines: [String] = []
        if let title = share[CKShare.SystemFieldKey.title] as? String { lines.append("title     \(title)") }
        if let url = share.url { lines.append("url       \(url.absoluteString)") }
        lines.append(
            "public    "
                + (share.publicPermission == .none
                    ? "only who is invited" : "whoever has the URL may \(verb(share.publicPermission))"))
        lines += share.participants.map { participant in
            let url = share.oneTimeURL(for: participant.participantID).map { "  \($0.absoluteString)" } ?? ""
            return "\(role(participant.role))\(name(participant.userIdentity)), \(state(participant))\(url)"
        }
        lines += share.requesters.map { "asks      \(name($0.userIdentity))" }
        lines += share.blockedIdentities.map { "blocked   \(name($0.userIdentity))" }
        return lines
    }

    static func lines(_ metadata: CKShare.Metadata) -> [String] {
        let title = metadata.share[CKShare.SystemFieldKey.title] as? String
        let id = metadata.share.recordID.zoneID
        return [
            title.map { "title     \($0)" },
            "container \(metadata.containerIdentifier)",
            "owner     \(name(metadata.ownerIdentity))",
            "zone      \(id.zoneName)",
            metadata.hierarchicalRootRecordID.map { "record    \($0.recordName)" } ?? "record    the whole zone",
            "you       \(roleName(metadata.participantRole)), "
                + (metadata.participantStatus == .accepted ? "takes part" : "has not accepted")
                + ", may \(verb(metadata.participantPermission))",
        ].compactMap(\.self)
    }

    /// A share that was accepted just now.
    static func acceptedLines(_ share: CKShare) -> [String] {
        let zoneID = share.recordID.zoneID
        return [
            "zone      \(zoneID.zoneName)", "owner     \(zoneID.ownerName)",
            "you       may \(verb(share.currentUserParticipant?.permission ?? .unknown))",
        ]
    }

    // MARK: JSON

    static func acceptedJSON(_ share: CKShare) -> JSONValue {
        .object([
            ("zone", .string(share.recordID.zoneID.zoneName)), ("owner", .string(share.recordID.zoneID.ownerName)),
            ("permission", .string(verb(share.currentUserParticipant?.permission ?? .unknown))),
        ])
    }

    static func json(_ share: CKShare, root: String?) -> JSONValue {
        .object([
            ("name", .string(share.recordID.recordName)), ("zone", .string(share.recordID.zoneID.zoneName)),
            ("record", root.map { .string($0) } ?? .null),
            ("title", (share[CKShare.SystemFieldKey.title] as? String).map { .string($0) } ?? .null),
            ("url", share.url.map { .string($0.absoluteString) } ?? .null),
            ("publicPermission", .string(verb(share.publicPermission))),
            ("allowsAccessRequests", .bool(share.allowsAccessRequests)),
            ("participants", .array(share.participants.map { json($0, of: share) })),
            ("requesters", .array(share.requesters.map { .string(name($0.userIdentity)) })),
            ("blocked", .array(share.blockedIdentities.map { .string(name($0.userIdentity)) })),
        ])
    }

    private static func json(_ participant: CKShare.Participant, of share: CKShare) -> JSONValue {
        .object([
            ("id", .string(participant.participantID)), ("user", .string(name(participant.userIdentity))),
            ("role", .string(roleName(participant.role))), ("permission", .string(verb(participant.permission))),
            ("accepted", .bool(participant.acceptanceStatus == .accepted)),
            (
                "oneTimeURL",
                share.oneTimeURL(for: participant.participantID).map { .string($0.absoluteString) } ?? .null
            ),
        ])
    }

    static func json(_ metadata: CKShare.Metadata) -> JSONValue {
        .object([
            ("container", .string(metadata.containerIdentifier)), ("owner", .string(name(metadata.ownerIdentity))),
            ("zone", .string(metadata.share.recordID.zoneID.zoneName)),
            ("record", metadata.hierarchicalRootRecordID.map { .string($0.recordName) } ?? .null),
            ("title", (metadata.share[CKShare.SystemFieldKey.title] as? String).map { .string($0) } ?? .null),
            ("role", .string(roleName(metadata.participantRole))),
            ("permission", .string(verb(metadata.participantPermission))),
            ("accepted", .bool(metadata.participantStatus == .accepted)),
        ])
    }

    // MARK: Words

    private static func name(_ identity: CKUserIdentity) -> String {
        identity.lookupInfo?.emailAddress ?? identity.lookupInfo?.phoneNumber ?? identity.userRecordID?.recordName
            ?? "whoever comes first"
    }

    private static func state(_ participant: CKShare.Participant) -> String {
        let may = "may \(verb(participant.permission))"
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

    private static func verb(_ permission: CKShare.ParticipantPermission) -> String {
        switch permission {
        case .readOnly: "read"
        case .readWrite: "write"
        case .none, .unknown: "none"
        }
    }
}
