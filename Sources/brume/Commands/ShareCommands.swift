internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// `brume shares`: share records and zones, see where the URL of a share leads, and take part.
enum ShareCommands {
    private static let zone = ArgumentDefinition("ZONE", "the zone's name")
    private static let record = ArgumentDefinition(
        "RECORD", "the name of the shared record; left out: the whole zone", isOptional: true)
    private static let users = ArgumentDefinition(
        "USER", "an e-mail address, a phone number, a user record name, or the word anybody", repeats: true)
    private static let shared = OptionDefinition(
        "record", "RECORD", "the shared record's name; left out: the whole zone is shared")

    static let definitions =
        [
            CommandDefinition(
                ["shares", "list"], "list the shares of zones",
                arguments: [
                    ArgumentDefinition("ZONE", "a zone's name; left out: all zones", isOptional: true, repeats: true)
                ],
                options: [CommandOptions.json] + CommandOptions.client, notes: [CommandOptions.clientNote],
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
                options: [shared] + CommandOptions.client, notes: [CommandOptions.clientNote],
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
        let database = try await ClientContext(invocation).database
        let named = try invocation.arguments.map { try ClientContext.zoneID($0) }
        let zones = named.isEmpty ? try await database.allRecordZones().map(\.zoneID).filter { $0 != .default } : named
        for zone in zones.sorted(by: { $0.zoneName < $1.zoneName }) {
            for share in try await SharesOfZone(of: zone, in: database).shares {
                Terminal.print(
                    invocation.isOn("json")
                        ? ShareText.json(share.share, root: share.root).line
                        : ShareText.line(share.share, root: share.root))
            }
        }
        return .done
    }

    private static func create(_ invocation: Invocation) async throws -> ExitCode {
        let (zoneID, root) = try place(invocation, root: invocation.arguments.dropFirst().first)
        let permission = try self.permission("public", invocation)
        let database = try await ClientContext(invocation).database
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
        share[CKShare.SystemFieldKey.title] = invocation.text("title")
        share.publicPermission = permission
        share.allowsAccessRequests = invocation.isOn("requests")
        let results = try await database.modifyRecords(saving: records + [share], deleting: []).saveResults
        // The share's own failure says more than that of the record beside it.
        _ = try results[share.recordID]?.get()
        Terminal.print(
            invocation.isOn("json")
                ? ShareText.json(share, root: root?.recordName).line : share.url?.absoluteString ?? "")
        return .done
    }

    private static func show(_ invocation: Invocation) async throws -> ExitCode {
        let place = try place(invocation, root: invocation.arguments.dropFirst().first)
        let share = try await share(at: place, in: ClientContext(invocation).database)
        if invocation.isOn("json") {
            Terminal.print(ShareText.json(share, root: place.root?.recordName).line)
        } else {
            for line in ShareText.lines(share) { Terminal.print(line) }
        }
        return .done
    }

    private static func add(_ invocation: Invocation) async throws -> ExitCode {
        let permission = try self.permission("permission", invocation)
        guard permission != .none else {
            throw UsageError(
                "--permission is read or write; brume shares remove takes users away", command: invocation.command)
        }
        return try await change(invocation) { share, user in
            let participant: CKShare.Participant
            if let known = share.participant(user) {
                participant = known
            } else if let info = user.lookupInfo {
                participant = try await user.container.shareParticipants(for: [info])[info]!.get()
            } else {
                participant = CKShare.Participant.oneTimeURLParticipant()
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
            guard let participant = share.participant(user) else {
                if requesters.isEmpty { throw CommandError(.failed, "\(user.text) takes no part and was not invited") }
                return
            }
            share.removeParticipant(participant)
        }
    }

    /// Changes a share for each of the users whom the command line names, and saves it once.
    private static func change(
        _ invocation: Invocation, _ body: (CKShare, NamedUser) async throws -> Void
    ) async throws -> ExitCode {
        let users = invocation.arguments.dropFirst()
        let place = try place(invocation, root: invocation.text("record"))
        let context = try await ClientContext(invocation)
        let share = try await share(at: place, in: context.database)
        for user in users { try await body(share, try NamedUser(user, container: context.container)) }
        try await context.database.save(share)
        for line in ShareText.lines(share) { Terminal.print(line) }
        return .done
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

    private static func place(
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
        var id = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: place.zoneID)
        if let root = place.root {
            guard let share = try await database.record(for: root).share else {
                throw CommandError(
                    .notFound, "\(root.recordName) is not shared",
                    hint: "brume shares create \(place.zoneID.zoneName) \(root.recordName) shares it")
            }
            id = share.recordID
        }
        guard let share = try await database.record(for: id) as? CKShare else {
            throw CommandError(.notFound, "\(id.recordName) is no share")
        }
        return share
    }

    private static func permission(
        _ option: String, _ invocation: Invocation
    ) throws(UsageError) -> CKShare.ParticipantPermission {
        switch invocation.text(option) {
        case "none"?: .none
        case "read"?: .readOnly
        case "write"?: .readWrite
        default: throw UsageError("--\(option) is none, read or write", command: invocation.command)
        }
    }
}
