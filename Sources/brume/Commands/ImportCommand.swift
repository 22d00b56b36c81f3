internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// `brume import`: a file of rows into a zone.
enum ImportCommand {
    /// The number of bad rows that are shown; the rest is counted. A wrong file would otherwise fill the screen.
    private static let problemsShown = 20

    static let definition = CommandDefinition(
        ["import"], "save the rows of a CSV, JSON or JSON lines file as records",
        arguments: [ArgumentDefinition("FILE", "the file; - is standard input")],
        options: [
            OptionDefinition("format", "FORMAT", "rows, or brume for what brume export made", fallback: "rows"),
            OptionDefinition("zone", "NAME", "the zone, made when missing (of an export: default: its own)"),
            OptionDefinition("type", "TYPE", "the record type of rows"),
            OptionDefinition("name-field", "KEY", "the field whose value names the record (default: row-1, row-2 …)"),
            OptionDefinition(
                "assets", "DIR", "the folder with the files of an export's assets (default: FILE.assets)"),
            OptionDefinition("all-text", nil, "take every column of a CSV file for text that carries no type"),
            CommandOptions.isPublic, CommandOptions.json,
        ] + CommandOptions.client,
        notes: [
            """
            A CSV file's first line names the columns; a column may carry a type, such as population:int64 or founded:date \
            (see brume records save --help). A column that carries none is looked at whole before anything is saved: if all of \
            its values are whole numbers, numbers, dates in ISO 8601 or true and false, it is of that type, and the command says \
            so. What begins with zeros (007, a postcode), what is too large for 64 bits, and the --name-field stay text; \
            empty cells are no values. No column is encrypted: brume records save --encrypted is for that.
            """,
            """
            JSON is an array of objects, or an object a line; numbers that are written whole are 64-bit integers.
            """,
            """
            Names are the same each time, and records are overwritten: an import that was interrupted is run again. Bad rows \
            are named by their line and left out (exit code 1).
            """,
            """
            A column photo:asset has paths of files, which become assets. --format brume makes the zones and records of \
            an export exactly as they were, with change tags and dates of their own. Records that it doesn't hold \
            stay.
            """,
            """
            An export that was made with --decrypt holds encrypted values in the clear, and its import encrypts them \
            again. That needs a device that has the account's keys; where the account has none, it makes them. \
            Elsewhere records with encrypted fields are not saved (exit code 1). Encrypted files are saved only in \
            zones whose files are encrypted.
            """,
            CommandOptions.clientNote,
        ],
        examples: [
            "brume import cities.csv --zone Cities --type City --name-field id",
            "brume import notes.jsonl --format brume --zone Copy",
        ],
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        switch try invocation.required("format") {
        case "rows": break
        case "brume": return try await importExport(invocation)
        case let format:
            throw UsageError("--format is rows or brume, not \(format)", command: invocation.command)
        }
        let path = invocation.arguments[0]
        // A public database has one zone.
        let zone = invocation.isOn("public") ? invocation.text("zone") ?? "default" : try invocation.required("zone")
        let zoneID = try ClientContext.zoneID(zone)
        let type = try invocation.required("type")
        try ClientContext.checkRecordType(type)
        let context = try await ClientContext(invocation)
        if path == "-", invocation.text("token-file") == "-" {
            throw UsageError(
                "the token and the rows can't both come from the standard input", command: invocation.command)
        }
        let data = try FileBytes.read(path)
        let source = try RowSource(
            data, nameField: invocation.text("name-field"), isAllText: invocation.isOn("all-text"))
        if zoneID.zoneName != Names.defaultZone { _ = try await context.database.save(CKRecordZone(zoneID: zoneID)) }
        if !invocation.isOn("json") { source.columnTypes.sentences.forEach { Terminal.print($0) } }
        let started = MonotonicClock.nowNanoseconds
        let reporter = ProgressReporter(title: "import", total: data.count, unit: "records")
        let importer = RecordImporter(database: context.database, zoneID: zoneID, recordType: type)
        let outcome = try await importer.run({ source.next() }) { reporter.advance(to: source.offset, count: $0) }
        reporter.finish()
        let seconds = Double(MonotonicClock.nowNanoseconds - started) / 1e9
        return report(outcome, source: source, seconds: seconds, invocation)
    }

    private static func importExport(_ invocation: Invocation) async throws -> ExitCode {
        for option in ["type", "name-field"] where invocation.text(option) != nil {
            throw UsageError("--\(option) is for rows; an export names its own", command: invocation.command)
        }
        if invocation.isOn("public") {
            throw CommandError(.usage, "an export holds custom zones, which the public database has none of")
        }
        let zone = invocation.text("zone")
        if let zone, let problem = Names.problemWithZoneName(zone) {
            throw CommandError(name: zone, problem, example: "Notes")
        }
        let path = invocation.arguments[0]
        // Fails soon when there is no server.
        let context = try await ClientContext(invocation)
        let configuration = try ClientContext.configuration(invocation)
        let session = try ClientSession.unshared(configuration)
        let data = try FileBytes.read(path)
        if zone != nil, try zoneCount(of: data) > 1 {
            throw CommandError(
                .usage, "the export holds several zones, whose names may collide in one",
                hint: "leave --zone out, or export one zone")
        }
        let reader = try ExportReader(data)
        let assets = ImportAssets(invocation.text("assets") ?? ExportAssets.folder(of: path), to: context.database)
        let status = try? await context.container.encryptionStatus()
        let makesKeys = reader.isDecrypted && status == .notSetUp
        let name = try CommandOptions.containerName(invocation)
        let encrypting = EncryptingImporter(assets) { encryptsAssets in
            var configuration = configuration
            configuration.encryptsAssets = encryptsAssets
            return CKContainer(identifier: name, configuration: configuration).privateCloudDatabase
        }
        var importer = ExportImporter(
            session: session, targetZone: zone, hasKeys: status == .available, assets: assets, encrypting: encrypting)
        let started = MonotonicClock.nowNanoseconds
        let reporter = ProgressReporter(title: "import", total: data.count, unit: "records")
        do {
            try await importer.run(reader) { offset, saved in reporter.advance(to: offset, count: saved) }
        } catch {
            // Nobody else would say so.
            if makesKeys { await tellOfKeys(context) }
            throw error
        }
        reporter.finish()
        if makesKeys { await tellOfKeys(context) }
        return report(
            saved: importer.saved, failed: importer.failureCount,
            problems: importer.failures.map { (line: $0.line, message: "\($0.name): \($0.message)") },
            code: .failed, types: nil, seconds: Double(MonotonicClock.nowNanoseconds - started) / 1e9, invocation)
    }

    /// The zones of an export, before anything of it is saved.
    private static func zoneCount(of data: Data) throws -> Int {
        let reader = try ExportReader(data)
        var count = 0
        while let line = try reader.next() {
            if case .zone = line { count += 1 }
        }
        return count
    }

    private static func tellOfKeys(_ context: ClientContext) async {
        guard (try? await context.container.encryptionStatus()) == .available else { return }
        Terminal.printError("brume: \(KeyText.keysWereMade)")
    }

    private static func report(
        _ outcome: RecordImporter.Outcome, source: RowSource, seconds: Double, _ invocation: Invocation
    ) -> ExitCode {
        var problems = source.problems.map { (line: $0.line, message: $0.message) }
        problems += outcome.failures.map { (line: $0.line, message: "\($0.name): \($0.message)") }
        return report(
            saved: outcome.saved, failed: source.problemCount + outcome.failures.count, problems: problems,
            code: outcome.failures.first?.code ?? .failed, types: source.columnTypes.types, seconds: seconds, invocation
        )
    }

    private static func report(
        saved: Int, failed: Int, problems: [(line: Int, message: String)], code: ExitCode,
        types: [String: String]?, seconds: Double, _ invocation: Invocation
    ) -> ExitCode {
        let path = invocation.arguments[0]
        let problems = problems.sorted { $0.line < $1.line }
        for problem in problems.prefix(problemsShown) {
            Terminal.printError("\(path):\(problem.line): \(problem.message.printable())")
        }
        if failed > min(problems.count, problemsShown) {
            Terminal.printError("… and \(failed - min(problems.count, problemsShown)) more")
        }
        let rate = seconds > 0 ? Int(Double(saved) / seconds) : 0
        if invocation.isOn("json") {
            let columns = types.map { types in
                types.sorted { $0.key < $1.key }.map { (key: $0.key, value: JSONValue.string($0.value)) }
            }
            Terminal.print(
                JSONValue.object(
                    (columns.map { [("columns", .object($0))] } ?? []) + [
                        ("saved", .integer(Int64(saved))), ("failed", .integer(Int64(failed))),
                        ("seconds", .number(seconds)), ("recordsPerSecond", .integer(Int64(rate))),
                        (
                            "problems",
                            .array(
                                problems.prefix(problemsShown).map {
                                    .object([("line", .integer(Int64($0.line))), ("message", .string($0.message))])
                                })
                        ),
                    ]
                ).line)
        } else {
            let time = (seconds * 100).rounded() / 100
            Terminal.print(
                "\(CountText.text(saved, "record")) saved in \(time) s (\(rate)/s), \(CountText.text(failed, "row")) failed"
            )
        }
        if failed == 0 { return .done }
        return saved == 0 ? code : .failed
    }
}

/// The rows of a file as items to save; bad rows are kept aside.
private final class RowSource {
    /// The number of bad rows that are kept; the rest is counted.
    private static let problemsLimit = 1_000

    private let data: Data
    private var reader: RowReader
    private var mapper: RowMapper
    private(set) var problems: [RowError] = []
    private(set) var problemCount = 0

    /// The types of a CSV file's columns whose header names none.
    let columnTypes: ColumnTypes

    init(_ data: Data, nameField: String?, isAllText: Bool) throws {
        // Contiguous and unchanged as long as this object keeps it.
        let bytes = NSData(data: data)
        self.data = bytes as Data
        storage = bytes
        let buffer = UnsafeRawBufferPointer(start: bytes.bytes, count: bytes.length)
        reader = try RowReader(buffer)
        if let nameField, let keys = reader.keys, !keys.contains(nameField) {
            let nearest = NearestName.find(nameField, among: keys).map { "did you mean --name-field \($0)?" } ?? ""
            throw CommandError(
                .usage,
                "no column is named \(nameField), to name the records by; there is \(keys.joined(separator: ", "))",
                hint: nearest)
        }
        columnTypes =
            reader.isCSV && !isAllText ? try ColumnTypes(buffer, nameField: nameField) : ColumnTypes()
        mapper = RowMapper(nameField: nameField, columnTypes: columnTypes.types)
    }

    private let storage: NSData

    var offset: Int { reader.offset }

    func next() -> RecordImporter.Item? {
        while true {
            do throws(RowError) {
                guard let row = try reader.next() else { return nil }
                let mapped = try mapper.map(row)
                return RecordImporter.Item(
                    line: mapped.line, name: mapped.name, fields: mapped.fields, estimatedBytes: mapped.estimatedBytes)
            } catch {
                problemCount += 1
                if problems.count < Self.problemsLimit { problems.append(error) }
            }
        }
    }
}
