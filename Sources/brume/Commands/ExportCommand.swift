internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// `brume export`: the zones of an account's private database as JSON lines that lose nothing.
enum ExportCommand {
    static let definition = CommandDefinition(
        ["export"], "write zones of the private database as JSON lines that lose nothing",
        arguments: [ArgumentDefinition("FILE", "the file to make; - is standard output")],
        options: [
            OptionDefinition("zone", "NAME", "this zone (default: every zone)", repeats: true),
            OptionDefinition(
                "assets", "DIR", "the folder to make for the files of assets (default: FILE.assets; with -: none)"),
            OptionDefinition(
                "decrypt", nil, "write encrypted values and files in the clear: the export holds secrets then"),
            CommandOptions.json,
        ] + CommandOptions.client,
        notes: [
            """
            Every field type is kept to the bit, with parents and, for information, change tags, users and dates. It is read by \
            brume import --format brume.
            """,
            """
            Records of custom zones that are saved or deleted meanwhile are told of: each zone is as it was at one moment before the \
            end. The default zone keeps no history: of what is changed there meanwhile, the export holds some.
            """,
            """
            The contents of assets are files of a folder beside FILE, each once, named by the SHA-256 of what is in \
            it. Standard output has no place beside it: name one with --assets, or they are left out, and import saves \
            none of their records. A content that the server does not give is told of (exit code 1).
            """,
            """
            Encrypted values and files are written as they are, and open only where they come from. With --decrypt \
            they are written in the clear: FILE and the folder of its assets hold secrets then. Both are readable by \
            this user alone; delete them when they are no longer needed. An import encrypts the values again, for the \
            account and zone that it saves them in. --decrypt needs a device that has the account's keys (brume key). \
            What does not open is written as it is and reported (exit code 1).
            """,
            "Shares are left out: whom they are for, and their URLs, are the server's that keeps them. A backup holds them.",
            CommandOptions.clientNote,
        ],
        examples: [
            "brume export notes.jsonl --zone Notes", "brume export - | zstd > everything.jsonl.zst",
            "brume export notes.jsonl --decrypt",
        ],
        body: .asynchronous(run))

    private static func run(_ invocation: Invocation) async throws -> ExitCode {
        let path = invocation.arguments[0]
        let wanted = invocation.texts("zone").map { $0 == "default" ? Names.defaultZone : $0 }
        for name in wanted {
            if name != Names.defaultZone, let problem = Names.problemWithZoneName(name) {
                throw CommandError(name: name, problem, example: "Notes")
            }
        }
        let context = try await ClientContext(invocation)
        let isDecrypted = invocation.isOn("decrypt")
        if isDecrypted { try await checkKeys(context) }
        let session = try ClientSession.unshared(ClientContext.configuration(invocation))
        let names: [String]
        if wanted.isEmpty {
            names = try await context.database.allRecordZones().map(\.zoneID.zoneName).sorted()
        } else {
            names = Array(Set(wanted)).sorted()
        }
        let folder = invocation.text("assets") ?? (path == "-" ? nil : ExportAssets.folder(of: path))
        let assets = try folder.map { try ExportAssets($0, from: context.database) }
        let opener = isDecrypted ? ExportOpener(context.database, assets) : nil
        let output = try ExportFile(path)
        do {
            let counts = try await write(names, of: session, to: output, assets, opener)
            // The folder first: a file that has its name has what it needs.
            try assets?.finish()
            try output.finish()
            return report(counts, assets, opener, path, invocation)
        } catch {
            output.discard()
            assets?.discard()
            throw error
        }
    }

    /// Fails on a device that lacks the account's keys. Where the account has none there is nothing that needs them.
    private static func checkKeys(_ context: ClientContext) async throws {
        let status = try await context.container.encryptionStatus()
        if status == .available || status == .notSetUp { return }
        let sentences = KeyText.sentences(status)
        throw CommandError(
            .failed, "nothing can be decrypted here: \(sentences.what)", hint: sentences.next)
    }

    private static func write(
        _ names: [String], of session: ClientSession, to output: ExportFile, _ assets: ExportAssets?,
        _ opener: ExportOpener?
    ) async throws -> Counts {
        try output.write(.header(isDecrypted: opener != nil))
        let reporter = ProgressReporter(title: "export", total: names.count, unit: "records")
        var records = 0
        var shares = 0
        var unfetched = 0
        for (index, name) in names.enumerated() {
            let policies = try await opener?.begin(name)
            try output.write(
                .zone(name, encryptsAssets: policies?.encryptsAssets, isPerZone: policies?.isPerZone ?? false))
            if name == Names.defaultZone {
                let counts = try await writeDefaultZone(of: session, to: output, assets, opener)
                records += counts.records
                unfetched += counts.unfetched
                continue
            }
            var token: [UInt8] = []
            while true {
                let page = try await session.zoneChanges(
                    ZoneChangesRequest(database: .private, zone: ZoneID(name: name), token: token))
                let written = page.records.filter { $0.system.type != Names.shareType }
                unfetched += try await write(written, in: name, to: output, assets, opener)
                records += written.count
                shares += page.records.count { $0.system.type == Names.shareType }
                for deletion in page.deletions {
                    assets?.forget(deletion.name, in: name)
                    opener?.forget(deletion.name, in: name)
                    try output.write(.deletion(zone: name, name: deletion.name))
                }
                token = page.token
                reporter.advance(to: index, count: records)
                if !page.moreComing { break }
            }
        }
        reporter.advance(to: names.count, count: records)
        reporter.finish()
        try output.write(.end(zones: names.count, records: records))
        return Counts(zones: names.count, records: records, shares: shares, unfetched: unfetched)
    }

    /// Writes records of a zone, with what their assets hold.
    ///
    /// - Returns: How many have assets that have no place.
    private static func write(
        _ records: [Record], in zone: String, to output: ExportFile, _ assets: ExportAssets?, _ opener: ExportOpener?
    ) async throws -> Int {
        for (record, opened) in try await opener?.open(records, in: zone) ?? records.map({ ($0, [:]) }) {
            try await assets?.take(record, in: zone)
            try output.write(.record(zone: zone, record, opened: opened))
        }
        return assets == nil ? records.count(where: \.holdsAssets) : 0
    }

    /// What was written, and how many shares were not: whom they are for, and their URLs, are their server's alone.
    private struct Counts {
        let zones: Int
        let records: Int
        let shares: Int
        /// Records whose assets have no place.
        let unfetched: Int
    }

    /// Writes a zone without a feed: its records in the order of their creation.
    private static func writeDefaultZone(
        of session: ClientSession, to output: ExportFile, _ assets: ExportAssets?, _ opener: ExportOpener?
    ) async throws -> (records: Int, unfetched: Int) {
        var records = 0
        var unfetched = 0
        var request = QueryRequest(
            database: .private, zone: .defaultZone, query: .everything, resultsLimit: Limits.matchesPerPageMax)
        repeat {
            let page = try await session.queryRecords(request)
            // The server makes a user record for each account; one without the app's fields holds no information.
            let written = page.matches.map(\.record).filter {
                $0.system.type != Names.userRecordType || !$0.fields.isEmpty
            }
            unfetched += try await write(written, in: Names.defaultZone, to: output, assets, opener)
            records += written.count
            request.cursor = page.cursor
        } while !request.cursor.isEmpty
        return (records, unfetched)
    }

    private static func report(
        _ counts: Counts, _ assets: ExportAssets?, _ opener: ExportOpener?, _ path: String, _ invocation: Invocation
    ) -> ExitCode {
        let problems = (opener?.problems ?? []) + (assets?.problems ?? [])
        for problem in problems { Terminal.printError("brume: \(problem)") }
        let code = problems.isEmpty ? ExitCode.done : .failed
        if counts.unfetched > 0 {
            Terminal.printError(
                """
                brume: the files of the assets of \(CountText.text(counts.unfetched, "record")) are left out; \
                --assets DIR gives them a place
                """)
        }
        if opener != nil {
            let place = path == "-" ? "the output" : path
            let files = assets.map { $0.fileCount > 0 ? " and the files beside it" : "" } ?? ""
            Terminal.printError(
                "brume: \(place)\(files) may hold secrets in the clear: keep them from others, and delete them when "
                    + "they are no longer needed")
        }
        // The standard output is the export itself.
        if path == "-" { return code }
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("zones", .integer(Int64(counts.zones))), ("records", .integer(Int64(counts.records))),
                    ("sharesLeftOut", .integer(Int64(counts.shares))),
                    ("assets", .integer(Int64(assets?.fileCount ?? 0))),
                    ("assetBytes", .integer(Int64(assets?.byteCount ?? 0))),
                ]).line)
            return code
        }
        Terminal.print(
            "\(CountText.text(counts.records, "record")) of \(CountText.text(counts.zones, "zone")) written to \(path)"
        )
        if let assets, assets.fileCount > 0 {
            Terminal.print(
                "\(CountText.text(assets.fileCount, "asset")) of \(ByteSize(bytes: assets.byteCount).rounded) beside it"
            )
        }
        if counts.shares > 0 {
            Terminal.print("\(CountText.text(counts.shares, "share")) left out: share again what you import")
        }
        return code
    }
}
