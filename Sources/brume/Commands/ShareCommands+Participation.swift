internal import BrumeKit
internal import Foundation

/// The commands of those whom a share is for.
extension ShareCommands {
    private static let url = ArgumentDefinition("URL", "the URL of a share")

    static let participation = [
        CommandDefinition(
            ["shares", "open"], "print what the URL of a share leads to", arguments: [url],
            options: [CommandOptions.json] + CommandOptions.client, notes: [CommandOptions.clientNote],
            body: .asynchronous(open)),
        CommandDefinition(
            ["shares", "accept"], "take part in a share", arguments: [url],
            options: [CommandOptions.json] + CommandOptions.client,
            notes: [
                """
                Prints the zone and its owner, whom other commands take as --owner. Accepting again changes nothing. \
                Where a record is shared, that record and what is below it can be seen.
                """, CommandOptions.clientNote,
            ],
            body: .asynchronous(accept)),
        CommandDefinition(
            ["shares", "leave"], "leave the share of a record, or all shares of a zone; the owner keeps what is shared",
            arguments: [
                ArgumentDefinition("ZONE", "the zone's name"),
                ArgumentDefinition(
                    "RECORD", "the name of the shared record; left out: all that is shared of the zone",
                    isOptional: true),
            ],
            options: [CommandOptions.owner] + CommandOptions.client,
            notes: [
                "brume shares list --shared prints zones, owners and records. Leaving what one is not in is no error.",
                CommandOptions.clientNote,
            ],
            body: .asynchronous(leave)),
        CommandDefinition(
            ["shares", "ask"], "ask the owner of a share for access", arguments: [url], options: CommandOptions.client,
            notes: ["It is not told whether there is such a share.", CommandOptions.clientNote],
            body: .asynchronous(ask)),
    ]

    private static func open(_ invocation: Invocation) async throws -> ExitCode {
        let url = try url(invocation)
        let context = try await ClientContext(invocation)
        let metadata = try await context.container.shareMetadata(for: url)
        if invocation.isOn("json") {
            Terminal.print(ShareText.json(metadata, ownName: try await context.ownName).line)
        } else {
            for line in ShareText.lines(metadata) { Terminal.print(line) }
        }
        return .done
    }

    private static func accept(_ invocation: Invocation) async throws -> ExitCode {
        let url = try url(invocation)
        let container = try await ClientContext(invocation).container
        let metadata = try await container.shareMetadata(for: url)
        guard metadata.containerIdentifier == container.containerIdentifier else {
            throw CommandError(
                .notFound, "the share is in another container",
                hint: "run it again with --container \(metadata.containerIdentifier)")
        }
        // A link with keys makes those of an account that has none.
        let hasNoKeys = try await url.fragment == nil ? false : container.encryptionStatus() == .notSetUp
        let share = try await container.accept(metadata)
        let root = metadata.hierarchicalRootRecordID?.recordName
        if invocation.isOn("json") {
            Terminal.print(ShareText.acceptedJSON(share, root: root).line)
        } else {
            for line in ShareText.acceptedLines(share, root: root) { Terminal.print(line) }
        }
        if !metadata.hasKeys, try await container.encryptionStatus() != .notSetUp {
            Terminal.printError(
                "brume: this URL has no encryption keys; where the share has some, its owner gives them to this account "
                    + "with brume key give")
        }
        if hasNoKeys, try await container.encryptionStatus() == .available {
            Terminal.printError("brume: \(KeyText.keysWereMade)")
        }
        return .done
    }

    private static func leave(_ invocation: Invocation) async throws -> ExitCode {
        _ = try invocation.required("owner")
        let place = try place(invocation, root: invocation.arguments.dropFirst().first)
        let database = try await ClientContext(invocation).database
        if let root = place.root { return try await leave(root, in: database) }
        let zoneID = place.zoneID
        // A deletion does not tell whether there was anything to leave.
        let known = try await database.recordZones(for: [zoneID])[zoneID]
        try await database.deleteRecordZone(withID: zoneID)
        let wasThere = if case .success? = known { true } else { false }
        Terminal.print(wasThere ? "left \(zoneID.zoneName)" : "there was no shared zone \(zoneID.zoneName)")
        return .done
    }

    /// Leaves the share of a record.
    private static func leave(_ root: CKRecord.ID, in database: CKDatabase) async throws -> ExitCode {
        let record: CKRecord?
        switch try await database.records(for: [root])[root] {
        case .success(let found)?: record = found
        case .failure(CKError.unknownItem)?, .failure(CKError.zoneNotFound)?, nil: record = nil
        case .failure(let error)?: throw error
        }
        guard let record else {
            Terminal.print("there was no shared record \(root.recordName)".printable())
            return .done
        }
        guard let share = record.share else {
            throw CommandError(
                .failed, "\(root.recordName) is not shared by itself, but with a record above it or with its zone",
                hint: "brume shares list --shared prints what is shared")
        }
        try await database.deleteRecord(withID: share.recordID)
        Terminal.print("left \(root.recordName)".printable())
        return .done
    }

    private static func ask(_ invocation: Invocation) async throws -> ExitCode {
        let url = try url(invocation)
        _ = try await ClientContext(invocation).container.requestShareAccess(for: [url])[url]?.get()
        Terminal.print("asked; the owner is told if there is such a share and it lets users ask")
        return .done
    }

    private static func url(_ invocation: Invocation) throws -> URL {
        if invocation.arguments[0].isEmpty { throw CommandError(.usage, "an empty text is no URL") }
        guard let url = URL(string: invocation.arguments[0]), url.scheme != nil else {
            throw CommandError(.usage, "\(invocation.arguments[0]) is no URL; it begins with https://")
        }
        return url
    }
}
