internal import BrumeKit
internal import Foundation

/// `brume changes`: what changed in a zone, or which zones changed.
enum ChangesCommand {
    static let definition = CommandDefinition(
        ["changes"], "print what changed in a zone since a token, or which zones changed",
        arguments: [ArgumentDefinition("ZONE", "the zone; without one: the database's changes", isOptional: true)],
        options: [
            OptionDefinition("since", "TOKEN", "the change token where the last fetch ended"),
            OptionDefinition("all", nil, "fetch page after page up to the head"),
            OptionDefinition("limit", "N", "changes in a page"), CommandOptions.owner, CommandOptions.isShared,
            CommandOptions.json,
        ] + CommandOptions.client,
        notes: [
            """
            Ends with the token to give to --since next time. With --json one change a line, and the token in the last one. \
            When a token has expired (exit code 1), fetch without one and drop what is not in the answer.
            """,
            CommandOptions.clientNote,
        ],
        examples: ["brume changes Notes --all", "brume changes Notes --since \"$TOKEN\" --json", "brume changes"],
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let zoneID = try invocation.arguments.first.map { try ClientContext.zoneID($0, invocation) }
        if (zoneID != nil) == (invocation.text("owner") == nil), try ClientContext.scope(invocation) == .shared {
            throw UsageError(
                "name a shared zone with its --owner; --shared alone is for which zones changed",
                command: invocation.command)
        }
        let database = try await ClientContext(invocation).database
        let limit = try invocation.integer("limit", in: 1...400)
        var token = try invocation.text("since").map { (text) throws(UsageError) in
            guard let data = Data(base64Encoded: text), !data.isEmpty else {
                throw UsageError("--since takes a token that changes printed", command: invocation.command)
            }
            return CKServerChangeToken(bytes: [UInt8](data))
        }
        var moreComing: Bool
        repeat {
            if let zoneID {
                let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token, resultsLimit: limit)
                // CloudKit's dictionary loses the page's order: sort by age, oldest first.
                let records = try page.modificationResultsByID.values.map { try $0.get().record }
                for record in records.sorted(by: isOlder) { print(record, invocation) }
                for deletion in page.deletions { print(deletion, invocation) }
                (token, moreComing) = (page.changeToken, page.moreComing)
            } else {
                let page = try await database.databaseChanges(since: token, resultsLimit: limit)
                // Deletions first: another zone may have the name already.
                for deletion in page.deletions { print("deleted", deletion.zoneID, invocation) }
                for modification in page.modifications { print("changed", modification.zoneID, invocation) }
                (token, moreComing) = (page.changeToken, page.moreComing)
            }
        } while moreComing && invocation.isOn("all")
        let text = Data(token?.bytes ?? []).base64EncodedString()
        if invocation.isOn("json") {
            Terminal.print(JSONValue.object([("token", .string(text)), ("moreComing", .bool(moreComing))]).line)
        } else {
            if moreComing { Terminal.print("more is coming: fetch it from the token, or give --all") }
            Terminal.print("token \(text)")
        }
        return .done
    }

    private static func isOlder(_ left: CKRecord, _ right: CKRecord) -> Bool {
        let (leftDate, rightDate) = (left.modificationDate ?? .distantPast, right.modificationDate ?? .distantPast)
        return (leftDate, left.recordID.recordName) < (rightDate, right.recordID.recordName)
    }

    private static func print(_ record: CKRecord, _ invocation: Invocation) {
        if invocation.isOn("json") {
            Terminal.print(JSONValue.object([("change", .string("saved")), ("record", RecordText.json(record))]).line)
        } else {
            Terminal.print(
                "+ \(record.recordID.recordName)  \(record.recordType)  tag \(record.recordChangeTag ?? "")".printable()
            )
        }
    }

    private static func print(_ deletion: CKDatabase.RecordZoneChange.Deletion, _ invocation: Invocation) {
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("change", .string("deleted")), ("name", .string(deletion.recordID.recordName)),
                    ("type", .string(deletion.recordType)),
                ]).line)
        } else {
            Terminal.print("- \(deletion.recordID.recordName)  \(deletion.recordType)".printable())
        }
    }

    private static func print(_ change: String, _ zoneID: CKRecordZone.ID, _ invocation: Invocation) {
        if invocation.isOn("json") {
            var members: [(key: String, value: JSONValue)] = [
                ("change", .string(change)), ("zone", .string(zoneID.zoneName)),
            ]
            if let owner = zoneID.otherOwner { members.append(("owner", .string(owner))) }
            Terminal.print(JSONValue.object(members).line)
        } else {
            let owner = zoneID.otherOwner.map { "  \($0)" } ?? ""
            Terminal.print("\(change == "deleted" ? "-" : "+") \(zoneID.zoneName)\(owner)".printable())
        }
    }
}
