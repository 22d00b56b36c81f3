internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// `brume records`: get, save and delete records.
enum RecordsCommands {
    private static let zone = ArgumentDefinition(
        "ZONE", "the zone's name; the word default stands for the default zone")

    static let definitions = [
        CommandDefinition(
            ["records", "get"], "print records",
            arguments: [zone, ArgumentDefinition("NAME", "the record's name", repeats: true)],
            options: [
                OptionDefinition("keys", "KEY", "print these fields only", repeats: true), CommandOptions.assetsFolder,
                CommandOptions.isPublic, CommandOptions.owner, CommandOptions.json,
            ] + CommandOptions.client,
            notes: [
                "With --json one record a line.",
                """
                Files of assets are named RECORD.KEY, in a list RECORD.KEY.1 and so on; none is overwritten. Without \
                --assets a record shows which it has.
                """, CommandOptions.clientNote,
            ],
            examples: ["brume records get Photos sea --assets ./photos"], body: .asynchronous(get)),
        CommandDefinition(
            ["records", "save"], "make a record, or change fields of one",
            arguments: [
                zone, ArgumentDefinition("NAME", "the record's name"),
                ArgumentDefinition("KEY=VALUE", "a field", isOptional: true, repeats: true),
            ],
            options: [
                OptionDefinition("type", "TYPE", "the record type; needed for a new record"),
                OptionDefinition("json-fields", "JSON", "fields as a JSON object"),
            ] + EncryptedArgument.options + [
                OptionDefinition("parent", "RECORD", "the record that it is below; an empty text: none any more"),
                OptionDefinition("new", nil, "fail when the record exists"), CommandOptions.isPublic,
                CommandOptions.owner, CommandOptions.json,
            ] + CommandOptions.client,
            notes: [
                """
                A field is key=text or key:type=value: key:int64=1, key:double=0.5, key:date=2026-01-02T03:04:05Z, \
                key:bytes=BASE64, key:location=52.52,13.40, key:reference=RECORD, key:list=["a","b"]. key= removes the field. \
                In JSON the types that it lacks are objects: {"date": "…"}, {"bytes": "…"}, {"location": [52.52, 13.40]}, \
                {"reference": "…"}, {"asset": "FILE"}.
                """,
                """
                key=@FILE, or key:asset=FILE, uploads a file as an asset; key:list=[{"asset": "FILE"}, …] several. \
                An upload that was interrupted goes on where it was when the command is given again.
                """,
                """
                Fields that are not named stay, and so does the parent. When somebody else changes the record \
                meanwhile: exit code 4. Whoever takes part in the share of a record makes new ones with a --parent \
                that is shared with them.
                """,
                EncryptedArgument.note, CommandOptions.clientNote,
            ],
            examples: [
                "brume records save Notes first --type Note title=Hello count:int64=1",
                "brume records save Photos sea --type Photo photo=@sea.jpg",
                "brume records save Notes first --json-fields '{\"tags\": [\"a\", \"b\"]}'",
                "brume records save Notes first --encrypted text='Buy milk' --encrypted pages:int64=2",
            ], body: .asynchronous(save)),
        CommandDefinition(
            ["records", "delete"], "delete records, and say which were not there; that is no error",
            arguments: [zone, ArgumentDefinition("NAME", "the record's name", repeats: true)],
            options: [CommandOptions.isPublic, CommandOptions.owner] + CommandOptions.client,
            notes: [CommandOptions.clientNote], body: .asynchronous(delete)),
    ]

    private static func get(_ invocation: Invocation) async throws -> ExitCode {
        let zoneID = try ClientContext.zoneID(invocation.arguments[0], invocation)
        let ids = try invocation.arguments.dropFirst().map { try ClientContext.recordID($0, zoneID: zoneID) }
        let keys = invocation.texts("keys")
        let assets = try invocation.text("assets").map { try AssetFolder($0) }
        let context = try await ClientContext(invocation)
        let style = Style.standardOutput(ProcessInfo.processInfo.environment)
        var failures: [(name: String, error: any Error)] = []
        for batch in stride(from: 0, to: ids.count, by: Limits.itemsPerRequest) {
            let part = Array(ids[batch..<min(ids.count, batch + Limits.itemsPerRequest)])
            let results = try await RecordTransfer.fetch(
                part, keys: keys.isEmpty ? nil : keys, showsProgress: assets != nil, in: context.database)
            for id in part {
                switch results[id] {
                case .success(let record)?:
                    var fields = RecordText.fields(of: record)
                    do { try assets?.take(&fields, of: id.recordName) } catch {
                        failures.append((id.recordName, error))
                        continue
                    }
                    Terminal.print(
                        invocation.isOn("json")
                            ? RecordText.json(record, fields).line : RecordText.text(record, fields, style: style))
                case .failure(let error)?: failures.append((id.recordName, error))
                case nil: failures.append((id.recordName, CommandError(.failed, "the server did not answer for it")))
                }
            }
        }
        return ClientContext.report(failures, scope: context.database.databaseScope)
    }

    private static func save(_ invocation: Invocation) async throws -> ExitCode {
        let zoneID = try ClientContext.zoneID(invocation.arguments[0], invocation)
        let id = try ClientContext.recordID(invocation.arguments[1], zoneID: zoneID)
        let fields = try fields(invocation)
        let encrypted = try encryptedFields(invocation)
        if let (key, _) = encrypted.first(where: { encrypted in fields.contains { $0.key == encrypted.key } }) {
            throw UsageError(
                "\(key) is given as a field to encrypt and as one that is not; give one of them",
                command: invocation.command)
        }
        let parent = invocation.text("parent")
        let context = try await ClientContext(invocation)
        let record = try await record(id, invocation, database: context.database)
        for (key, value) in fields { record[key] = value?.recordValue(in: zoneID) }
        for (key, value) in encrypted { record.encryptedValues[key] = value?.recordValue(in: zoneID) }
        var makesKeys = false
        if !encrypted.isEmpty { makesKeys = try await context.container.encryptionStatus() == .notSetUp }
        if let parent {
            record.parent =
                parent.isEmpty
                ? nil
                : CKRecord.Reference(
                    recordID: try ClientContext.recordID(parent, zoneID: zoneID), action: .none)
        }
        let saved = try await RecordTransfer.save(record, fields.compactMap(\.value), in: context.database)
        if invocation.isOn("json") {
            Terminal.print(RecordText.json(saved).line)
        } else {
            Terminal.print("saved \(saved.recordID.recordName), tag \(saved.recordChangeTag ?? "")".printable())
        }
        if makesKeys {
            Terminal.printError("brume: \(KeyText.keysWereMade)")
        }
        return .done
    }

    /// The record as the server has it, or a new one.
    private static func record(
        _ id: CKRecord.ID, _ invocation: Invocation, database: CKDatabase
    ) async throws -> CKRecord {
        let type = invocation.text("type")
        if !invocation.isOn("new") {
            do {
                let record = try await database.record(for: id)
                if let type, type != record.recordType {
                    throw CommandError(
                        .failed, "\(id.recordName) is a \(record.recordType); a record's type can't be changed")
                }
                return record
            } catch CKError.unknownItem {}
        }
        guard let type else {
            throw UsageError("a new record needs --type TYPE", command: invocation.command)
        }
        try ClientContext.checkRecordType(type)
        return CKRecord(recordType: type, recordID: id)
    }

    private static func fields(_ invocation: Invocation) throws -> [(key: String, value: TypedValue?)] {
        var fields: [(key: String, value: TypedValue?)] = []
        if let text = invocation.text("json-fields") {
            let json: JSONValue
            do { json = try JSONParser.value(of: text) } catch {
                throw UsageError("--json-fields: \(error.message)", command: invocation.command)
            }
            guard case .object(let members) = json else {
                throw UsageError("--json-fields takes a JSON object", command: invocation.command)
            }
            for (key, value) in members {
                do { fields.append((key, value == .null ? nil : try TypedValue(json: value))) } catch {
                    throw ValueError(message: "\(key): \(error.message)")
                }
            }
        }
        for word in invocation.arguments.dropFirst(2) {
            let field = try FieldArgument(word)
            fields.append((field.key, field.value))
        }
        try checkKeys(fields)
        return fields
    }

    private static func checkKeys(_ fields: [(key: String, value: TypedValue?)]) throws(CommandError) {
        for (key, _) in fields {
            if let problem = Names.problemWithFieldKey(key) { throw CommandError(name: key, problem, example: "title") }
        }
    }

    /// The fields to encrypt, which only a record of the account's own zones can have.
    private static func encryptedFields(_ invocation: Invocation) throws -> [(key: String, value: TypedValue?)] {
        var fields: [(key: String, value: TypedValue?)] = []
        if let path = invocation.text("encrypted-file") {
            if path == "-", invocation.text("token-file") == "-" {
                throw UsageError(
                    "the standard input holds the token or the fields, not both",
                    hint: "name files with --token-file or --encrypted-file")
            }
            let text = String(decoding: try FileBytes.read(path), as: UTF8.self)
            let json: JSONValue
            do { json = try JSONParser.value(of: text) } catch {
                throw CommandError(
                    .usage, "--encrypted-file: line \(error.line) is not JSON",
                    hint: "write an object: {\"key\": \"value\"}")
            }
            fields = try EncryptedArgument.fields(json: json)
        }
        fields += try invocation.texts("encrypted").map { try EncryptedArgument.field($0) }
        try checkKeys(fields)
        guard !fields.isEmpty else { return [] }
        let scope = try ClientContext.scope(invocation)
        if scope == .public {
            throw UsageError(
                "a public database has no encrypted values: leave --public or the encrypted fields out",
                command: invocation.command)
        }
        return fields
    }

    private static func delete(_ invocation: Invocation) async throws -> ExitCode {
        let zoneID = try ClientContext.zoneID(invocation.arguments[0], invocation)
        // A name that is given twice is deleted once.
        let ids = try invocation.arguments.dropFirst().reduce(into: [CKRecord.ID]()) { ids, name in
            let id = try ClientContext.recordID(name, zoneID: zoneID)
            if !ids.contains(id) { ids.append(id) }
        }
        let context = try await ClientContext(invocation)
        var failures: [(name: String, error: any Error)] = []
        for batch in stride(from: 0, to: ids.count, by: Limits.itemsPerRequest) {
            let part = Array(ids[batch..<min(ids.count, batch + Limits.itemsPerRequest)])
            // A deletion does not tell whether there was anything to delete.
            let known = try await context.database.records(for: part, desiredKeys: [])
            let results = try await context.database.modifyRecords(saving: [], deleting: part, atomically: false)
            for id in part {
                switch results.deleteResults[id] {
                case .success?:
                    let wasThere = if case .success? = known[id] { true } else { false }
                    Terminal.print(wasThere ? "deleted \(id.recordName)" : "there was no \(id.recordName)")
                case .failure(let error)?: failures.append((id.recordName, error))
                case nil: failures.append((id.recordName, CommandError(.failed, "the server did not answer for it")))
                }
            }
        }
        return ClientContext.report(failures, scope: context.database.databaseScope)
    }
}
