internal import BrumeKit
internal import BrumeModel

/// `brume zones`: the zones of the account's private database, and those that others share with it.
enum ZonesCommands {
    static let definitions = [
        CommandDefinition(
            ["zones", "list"], "list the account's zones",
            options: [CommandOptions.isShared, CommandOptions.json] + CommandOptions.client,
            notes: [
                """
                Each with its name, with --shared its owner, and CloudKit's capabilities: changes can be fetched since a token, saves can be atomic, \
                and its records could be shared.
                """, CommandOptions.clientNote,
            ], body: .asynchronous(list)),
        CommandDefinition(
            ["zones"], "list the account's zones",
            options: [CommandOptions.isShared, CommandOptions.json] + CommandOptions.client, isHidden: true,
            body: .asynchronous(list)),
        CommandDefinition(
            ["zones", "create"], "make zones; those that exist stay as they are",
            arguments: [ArgumentDefinition("NAME", "the zone's name", repeats: true)], options: CommandOptions.client,
            notes: [CommandOptions.clientNote], body: .asynchronous(create)),
        CommandDefinition(
            ["zones", "delete"],
            "delete zones with all that is in them, and say which were not there; that is no error",
            arguments: [ArgumentDefinition("NAME", "the zone's name", repeats: true)], options: CommandOptions.client,
            notes: [CommandOptions.clientNote], body: .asynchronous(delete)),
    ]

    private static func list(_ invocation: Invocation) async throws -> ExitCode {
        let context = try await ClientContext(invocation)
        let zones = try await context.database.allRecordZones()
        let ownName = try await context.ownName
        func order(_ zone: CKRecordZone) -> (String, String) { (zone.zoneID.zoneName, zone.zoneID.ownerName) }
        for zone in zones.sorted(by: { order($0) < order($1) }) {
            let capabilities = [
                (CKRecordZone.Capabilities.fetchChanges, "changes"), (.atomic, "atomic"), (.sharing, "sharing"),
            ].filter { zone.capabilities.contains($0.0) }.map(\.1)
            if invocation.isOn("json") {
                Terminal.print(
                    JSONValue.object([
                        ("name", .string(zone.zoneID.zoneName)), ("owner", .string(zone.zoneID.otherOwner ?? ownName)),
                        ("capabilities", .array(capabilities.map { .string($0) })),
                    ]).line)
            } else {
                let owner = zone.zoneID.otherOwner.map { [$0] } ?? []
                Terminal.print(([zone.zoneID.zoneName] + owner + capabilities).joined(separator: "  "))
            }
        }
        return .done
    }

    /// The zones that the command line names, each of them once.
    private static func zoneIDs(_ invocation: Invocation) throws -> [CKRecordZone.ID] {
        let ids = try invocation.arguments.map { try ClientContext.zoneID($0) }
        var seen: Set<CKRecordZone.ID> = []
        if let twice = ids.first(where: { !seen.insert($0).inserted }) {
            throw UsageError("the zone \(twice.zoneName) is named twice", command: invocation.command)
        }
        return ids
    }

    private static func create(_ invocation: Invocation) async throws -> ExitCode {
        let zones = try zoneIDs(invocation).map { CKRecordZone(zoneID: $0) }
        let database = try await ClientContext(invocation).database
        var failures: [(name: String, error: any Error)] = []
        for start in stride(from: 0, to: zones.count, by: Limits.itemsPerRequest) {
            let part = Array(zones[start..<min(zones.count, start + Limits.itemsPerRequest)])
            let results = try await database.modifyRecordZones(saving: part, deleting: [])
            for (zoneID, result) in results.saveResults.sorted(by: { $0.key.zoneName < $1.key.zoneName }) {
                switch result {
                case .success: Terminal.print("zone \(zoneID.zoneName) is there")
                case .failure(let error): failures.append((zoneID.zoneName, error))
                }
            }
        }
        return ClientContext.report(failures)
    }

    private static func delete(_ invocation: Invocation) async throws -> ExitCode {
        let zoneIDs = try zoneIDs(invocation)
        let database = try await ClientContext(invocation).database
        // A deletion does not tell whether there was anything to delete.
        let known = Set(try await database.allRecordZones().map(\.zoneID))
        var failures: [(name: String, error: any Error)] = []
        for start in stride(from: 0, to: zoneIDs.count, by: Limits.itemsPerRequest) {
            let part = Array(zoneIDs[start..<min(zoneIDs.count, start + Limits.itemsPerRequest)])
            let results = try await database.modifyRecordZones(saving: [], deleting: part)
            for (zoneID, result) in results.deleteResults.sorted(by: { $0.key.zoneName < $1.key.zoneName }) {
                switch result {
                case .success:
                    Terminal.print(
                        known.contains(zoneID)
                            ? "zone \(zoneID.zoneName) is deleted" : "there was no zone \(zoneID.zoneName)")
                case .failure(let error): failures.append((zoneID.zoneName, error))
                }
            }
        }
        return ClientContext.report(failures)
    }
}
