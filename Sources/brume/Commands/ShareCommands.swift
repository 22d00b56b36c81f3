internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// `brume shares`: share records and zones, see where the URL of a share leads, and take part.
enum ShareCommands {
    static let zone = ArgumentDefinition("ZONE", "the zone's name")
    static let record = ArgumentDefinition(
        "RECORD", "the name of the shared record; left out: the whole zone", isOptional: true)

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
                    publicPermission(fallback: "none"),
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
        ] + management + [
            CommandDefinition(
                ["shares", "delete"], "end a share; what was shared stays", arguments: [zone, record],
                options: CommandOptions.client, notes: [CommandOptions.clientNote], body: .asynchronous(delete))
        ] + participation

    /// The option for a share's public permission.
    static func publicPermission(fallback: String? = nil) -> OptionDefinition {
        OptionDefinition(
            "public", "WHAT", "what whoever has the URL may do: none, read or write", fallback: fallback)
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
        return try await print(share, root: place.root, invocation, context)
    }

    /// Prints a whole share.
    static func print(
        _ share: CKShare, root: CKRecord.ID?, _ invocation: Invocation, _ context: ClientContext
    ) async throws -> ExitCode {
        if invocation.isOn("json") {
            let ownName = try await context.ownName
            Terminal.print(ShareText.json(share, root: root?.recordName, ownName: ownName).line)
        } else {
            for line in ShareText.lines(share) { Terminal.print(line) }
        }
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

    /// - Parameter index: Which argument the zone's name is.
    static func place(
        _ invocation: Invocation, zoneAt index: Int = 0, root: String?
    ) throws -> (zoneID: CKRecordZone.ID, root: CKRecord.ID?) {
        let name = invocation.arguments[index]
        let takesOwner = invocation.command.option(named: "owner") != nil
        let zoneID = try takesOwner ? ClientContext.zoneID(name, invocation) : ClientContext.zoneID(name)
        return (zoneID, try root.map { try ClientContext.recordID($0, zoneID: zoneID) })
    }

    static func share(
        at place: (zoneID: CKRecordZone.ID, root: CKRecord.ID?), in database: CKDatabase
    ) async throws -> CKShare {
        let zone = place.zoneID.zoneName
        // A zone of another user is not the account's to share.
        let isOwn = place.zoneID.otherOwner == nil
        var id = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: place.zoneID)
        if let root = place.root {
            guard let share = try await database.record(for: root).share else {
                throw CommandError(
                    .notFound, "\(root.recordName) is not shared by itself",
                    hint: isOwn
                        ? "brume shares list \(zone) shows what is, brume shares create \(zone) \(root.recordName)"
                            + " shares it, unless a record above it is shared"
                        : "")
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

    /// The permission that an option names. Throws for a word that is none, and for an option that is not there.
    static func permission(
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
