internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// `brume shares`: share records and zones, see where the URL of a share leads, and take part.
enum ShareCommands {
    private static let zone = ArgumentDefinition("ZONE", "the zone's name")
    private static let record = ArgumentDefinition(
        "RECORD", "the name of the shared record; left out: the whole zone", isOptional: true)
    private static let users = ArgumentDefinition(
        "USER",
        "an e-mail address, a phone number, a user record name, the word anybody, or the URL of an invitation for anybody",
        repeats: true)
    private static let shared = OptionDefinition(
        "record", "RECORD", "the shared record's name; left out: the whole zone is shared")

    static let definitions =
        [
            CommandDefinition(
                ["shares", "list"], "list the shares of zones, or those in which the account takes part",
                arguments: [
                    ArgumentDefinition("ZONE", "a zone's name; left out: all zones", isOptional: true, repeats: true)
                ],
                options: [CommandOptions.owner, CommandOptions.isShared, CommandOptions.json] + CommandOptions.client,
                notes: [CommandOptions.clientNote],
                body: .asynchronous(list)),
            CommandDefinition(
                ["shares", "create"], "share a record with all that is below it, or a whole zone",
                arguments: [zone, record],
                options: [
                    OptionDefinition("title", "TEXT", "what those who are invited are shown"),
                    permission("public", "none"),
                    OptionDefinition("requests", nil, "let whoever has the URL ask for access"), CommandOptions.json,
                ] + CommandOptions.client,
                notes: [
                    "Prints the URL. What is below a record are those whose parents lead to it.",
                    "In production the type cloudkit.share has to be in the deployed schema.",
                    CommandOptions.clientNote,
                ],
                examples: ["brume shares create Lists groceries --title Groceries"], body: .asynchronous(create)),
            CommandDefinition(
                ["shares", "show"], "print a share: its URL, who takes part, who asks to", arguments: [zone, record],
                options: [CommandOptions.owner, CommandOptions.json] + CommandOptions.client,
                notes: [CommandOptions.clientNote],
                body: .asynchronous(show)),
            CommandDefinition(
                ["shares", "add"], "invite users, or change what participants may do", arguments: [zone, users],
                options: [shared, permission("permission", "read")] + CommandOptions.client,
                notes: [
                    """
                    Whoever is invited by an address or a number takes part once their account has it (brume account handles). \
                    anybody makes an invitation with a URL of its own, for whoever comes first.
                    """, CommandOptions.clientNote,
                ],
                examples: ["brume shares add Lists bob@example.com --record groceries --permission write"],
                body: .asynchronous(add)),
            CommandDefinition(
                ["shares", "remove"], "remove participants and invitations, and deny requests",
                arguments: [zone, users],
                options: [shared] + CommandOptions.client,
                notes: [
                    """
                    anybody takes back all invitations for whoever comes first that nobody has used yet; the URL of one takes \
                    back that one.
                    """, CommandOptions.clientNote,
                ],
                body: .asynchronous(remove)),
            CommandDefinition(
                ["shares", "delete"], "end a share; what was shared stays", arguments: [zone, record],
                options: CommandOptions.client, notes: [CommandOptions.clientNote], body: .asynchronous(delete)),
        ] + participation

    private static func permission(_ name: String, _ fallback: String) -> OptionDefinition {
        OptionDefinition(
            name, "WHAT",
            name == "public"
                ? "what whoever has the URL may do: none, read or write" : "what they may do: read or write",
            fallback: fallback)
    }

    // MARK: The owner's

    private static func list(_ invocation: Invocation) async throws -> ExitCode {
        let named = try invocation.arguments.map { try ClientContext.zoneID($0, invocation) }
        if named.isEmpty == (invocation.text("owner") != nil), try ClientContext.scope(invocation) == .shared {
            throw UsageError(
                "name a shared zone with its --owner; --shared alone is for all of them", command: invocation.command)
        }
        let context = try await ClientContext(invocation)
        let (database, ownName) = (context.database, try await context.ownName)
        let zones = named.isEmpty ? try await database.allRecordZones().map(\.zoneID).filter { $0 != .default } : named
        func order(_ zone: CKRecordZone.ID) -> (String, String) { (zone.zoneName, zone.ownerName) }
        for zone in zones.sorted(by: { order($0) < order($1) }) {
            for share in try await SharesOfZone(of: zone, in: database).shares {
                Terminal.print(
                    invocation.isOn("json")
                        ? ShareText.json(share.share, root: share.root, ownName: ownName).line
                        : ShareText.line(share.share, root: share.root))
            }
        }
        return .done
    }

    private static func create(_ invocation: Invocation) async throws -> ExitCode {
        let (zoneID, root) = try place(invocation, root: invocation.arguments.dropFirst().first)
        let permission = try self.permission("public", invocation)
        let context = try await ClientContext(invocation)
        let database = context.database
        let share: CKShare
        var records: [CKRecord] = []
        if let root {
            let record = try await database.record(for: root)
            if let known = record.share {
                throw CommandError(
                    .conflict, "\(root.recordName) is shared already, by \(known.recordID.recordName)",
                    hint: "brume shares show \(zoneID.zoneName) \(root.recordName) prints its URL")
            }
            share = CKShare(rootRecord: record)
            records = [record]
        } else {
            share = CKShare(recordZoneID: zoneID)
        }
        if let title = invocation.text("title"), !title.isEmpty { share[CKShare.SystemFieldKey.title] = title }
        share.publicPermission = permission
        share.allowsAccessRequests = invocation.isOn("requests")
        let results = try await database.modifyRecords(saving: records + [share], deleting: []).saveResults
        // The share's own failure says more than that of the record beside it.
        do {
            _ = try results[share.recordID]?.get()
        } catch CKError.serverRecordChanged where root == nil {
            throw CommandError(
                .conflict, "\(zoneID.zoneName) is shared already",
                hint: "brume shares show \(zoneID.zoneName) prints its URL")
        }
        if invocation.isOn("json") {
            let ownName = try await context.ownName
            Terminal.print(ShareText.json(share, root: root?.recordName, ownName: ownName).line)
        } else {
            Terminal.print(share.url?.absoluteString ?? "")
        }
        return .done
    }

    private static func show(_ invocation: Invocation) async throws -> ExitCode {
        let place = try place(invocation, root: invocation.arguments.dropFirst().first)
        let context = try await ClientContext(invocation)
        let share = try await share(at: place, in: context.database)
        if invocation.isOn("json") {
            let ownName = try await context.ownName
            Terminal.print(ShareText.json(share, root: place.root?.recordName, ownName: ownName).line)
        } else {
            for line in ShareText.lines(share) { Terminal.print(line) }
        }
        return .done
    }

    private static func add(_ invocation: Invocation) async throws -> ExitCode {
        let permission = try self.permission("permission", invocation)
        return try await change(invocation) { share, user in
            guard share.publicPermission == .none else {
                let root = invocation.text("record").map { " \($0)" } ?? ""
                throw CommandError(
                    .failed, "whoever has the URL of this share may take part, so nobody is invited to it",
                    hint: "send them the URL: brume shares show \(share.recordID.zoneID.zoneName)\(root)")
            }
            let isNobodyYet = user.lookupInfo == nil && !user.isURL
            let participant: CKShare.Participant
            if !isNobodyYet, let known = share.participants(user).first {
                participant = known
            } else if let info = user.lookupInfo {
                participant = try await user.container.shareParticipants(for: [info])[info]!.get()
            } else if isNobodyYet {
                participant = CKShare.Participant.oneTimeURLParticipant()
            } else {
                throw noParticipant
            }
            participant.permission = permission
            share.addParticipant(participant)
        }
    }

    private static func remove(_ invocation: Invocation) async throws -> ExitCode {
        try await change(invocation) { share, user in
            let requesters = share.requesters.filter {
                $0.userIdentity.userRecordID?.recordName == user.text && !user.text.isEmpty
            }
            if !requesters.isEmpty { share.denyRequesters(requesters) }
            let participants = share.participants(user)
            if participants.isEmpty, requesters.isEmpty {
                if user.lookupInfo == nil, !user.isURL {
                    throw CommandError(.failed, "no invitation for whoever comes first waits to be used")
                }
                throw noParticipant
            }
            for participant in participants { share.removeParticipant(participant) }
        }
    }

    private static let noParticipant = CommandError(
        .failed, "no participant of that name; name them as `brume shares show` prints them")

    /// How often a change is tried on a share that others change meanwhile.
    private static let changeAttempts = 5

    /// Changes a share for each of the users whom the command line names, and saves it once. Where somebody else has
    /// changed it meanwhile, the change is made to what the share is then.
    private static func change(
        _ invocation: Invocation, _ body: (CKShare, NamedUser) async throws -> Void
    ) async throws -> ExitCode {
        let users = invocation.arguments.dropFirst()
        let place = try place(invocation, root: invocation.text("record"))
        let context = try await ClientContext(invocation)
        let named = try users.map { try NamedUser($0, container: context.container) }
        var attempt = 1
        while true {
            let share = try await share(at: place, in: context.database)
            for user in named { try await body(share, user) }
            do {
                try await context.database.save(share)
                for line in ShareText.lines(share) { Terminal.print(line) }
                return .done
            } catch CKError.serverRecordChanged where attempt < changeAttempts {
                attempt += 1
            }
        }
    }

    private static func delete(_ invocation: Invocation) async throws -> ExitCode {
        let place = try place(invocation, root: invocation.arguments.dropFirst().first)
        let database = try await ClientContext(invocation).database
        let share = try await share(at: place, in: database)
        try await database.deleteRecord(withID: share.recordID)
        Terminal.print("the share of \(place.root?.recordName ?? place.zoneID.zoneName) has ended")
        return .done
    }

    // MARK: What the command line names

    static func place(
        _ invocation: Invocation, root: String?
    ) throws -> (zoneID: CKRecordZone.ID, root: CKRecord.ID?) {
        let name = invocation.arguments[0]
        let takesOwner = invocation.command.option(named: "owner") != nil
        let zoneID = try takesOwner ? ClientContext.zoneID(name, invocation) : ClientContext.zoneID(name)
        return (zoneID, try root.map { try ClientContext.recordID($0, zoneID: zoneID) })
    }

    private static func share(
        at place: (zoneID: CKRecordZone.ID, root: CKRecord.ID?), in database: CKDatabase
    ) async throws -> CKShare {
        let zone = place.zoneID.zoneName
        // A zone of another user is not the account's to share.
        let isOwn = place.zoneID.otherOwner == nil
        var id = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: place.zoneID)
        if let root = place.root {
            guard let share = try await database.record(for: root).share else {
                throw CommandError(
                    .notFound, "\(root.recordName) is not shared\(isOwn ? "" : " by itself")",
                    hint: isOwn ? "brume shares create \(zone) \(root.recordName) shares it" : "")
            }
            id = share.recordID
        }
        do {
            guard let share = try await database.record(for: id) as? CKShare else {
                throw CommandError(.notFound, "\(id.recordName) is no share")
            }
            return share
        } catch CKError.unknownItem where place.root == nil {
            throw CommandError(
                .notFound, "\(zone) is not shared as a whole",
                hint: isOwn
                    ? "brume shares create \(zone) shares it, brume shares list \(zone) shows shares of its records"
                    : "")
        }
    }

    private static func permission(
        _ option: String, _ invocation: Invocation
    ) throws(UsageError) -> CKShare.ParticipantPermission {
        switch invocation.text(option) {
        case "none"? where option == "public": .none
        case "read"?: .readOnly
        case "write"?: .readWrite
        case "none"?:
            throw UsageError(
                "--\(option) is read or write; brume shares remove takes users away", command: invocation.command)
        default:
            throw UsageError(
                "--\(option) is \(option == "public" ? "none, " : "")read or write", command: invocation.command)
        }
    }
}
