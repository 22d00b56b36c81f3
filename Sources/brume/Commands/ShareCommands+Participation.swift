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
                Prints the zone and its owner, whom other commands take as --owner. Accepting again changes nothing. Of a zone \
                from which a record is shared, that record and what is below it can be seen.
                """, CommandOptions.clientNote,
            ],
            body: .asynchronous(accept)),
        CommandDefinition(
            ["shares", "leave"], "leave all shares of a zone; its owner keeps it",
            arguments: [ArgumentDefinition("ZONE", "the zone's name")],
            options: [CommandOptions.owner] + CommandOptions.client,
            notes: [
                "brume zones list --shared prints the zones and their owners. Leaving what one is not in is no error.",
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
        let share = try await container.accept(metadata)
        if invocation.isOn("json") {
            Terminal.print(ShareText.acceptedJSON(share).line)
        } else {
            for line in ShareText.acceptedLines(share) { Terminal.print(line) }
        }
        return .done
    }

    private static func leave(_ invocation: Invocation) async throws -> ExitCode {
        _ = try invocation.required("owner")
        let zoneID = try ClientContext.zoneID(invocation.arguments[0], invocation)
        let database = try await ClientContext(invocation).database
        // A deletion does not tell whether there was anything to leave.
        let known = try await database.recordZones(for: [zoneID])[zoneID]
        try await database.deleteRecordZone(withID: zoneID)
        let wasThere = if case .success? = known { true } else { false }
        Terminal.print(wasThere ? "left \(zoneID.zoneName)" : "there was no shared zone \(zoneID.zoneName)")
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
