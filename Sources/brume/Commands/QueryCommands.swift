internal import BrumeKit
internal import BrumeModel
internal import Foundation

/// `brume records query` and `brume explain`: find records, and tell how the server finds them.
enum QueryCommands {
    private static let options =
        [
            OptionDefinition("type", "TYPE", "the record type; needed"),
            OptionDefinition("predicate", "FORMAT", "which records, as NSPredicate(format:) takes it (default: all)"),
            OptionDefinition(
                "sort", "KEY", "sort by a key; KEY:desc: downwards; KEY:LAT:LON: by the distance from there",
                repeats: true),
            OptionDefinition("zone", "ZONE", "the zone (default: all zones)"), CommandOptions.owner,
        ]

    static let query = CommandDefinition(
        ["records", "query"], "print the records that match",
        options: options + [
            OptionDefinition("keys", "KEY", "print these fields only", repeats: true),
            OptionDefinition("limit", "N", "the most records to print", fallback: "100"),
            OptionDefinition("all", nil, "print all that match"), CommandOptions.isPublic, CommandOptions.json,
        ] + CommandOptions.client,
        notes: [
            """
            A predicate compares fields, or recordID, creationDate, modificationDate, creatorUserRecordID, \
            lastModifiedUserRecordID and parent, with values: ==, !=, <, <=, >, >=, BETWEEN, BEGINSWITH, IN; lists have \
            CONTAINS and ANY; self CONTAINS searches texts for words; distanceToLocation:fromLocation: finds places; AND, OR, NOT.
            """,
            "With --json one record a line. When more match than are printed, a line on stderr says so.",
            CommandOptions.clientNote,
        ],
        examples: [
            "brume records query --type Note --predicate 'title BEGINSWITH \"A\" AND count > 3' --sort title",
            "brume records query --type Note --predicate 'ANY tags IN {\"red\", \"blue\"}' --sort creationDate:desc --limit 10",
        ], body: .asynchronous(runQuery))

    static let explain = CommandDefinition(
        ["explain"], "tell how the server runs a query: its plan, what it reads, the time",
        options: options + [
            OptionDefinition("limit", "N", "matches in the page that is looked for", fallback: "100"),
            CommandOptions.isPublic, CommandOptions.json,
        ] + CommandOptions.client,
        notes: [
            """
            The server does the query's work for one page and throws the page away. All that is printed comes from it: the query as it \
            ran, with its values (a long one is cut); the indexes that it chose; how many records they promised, and how many it read. \
            Time is what its loop worked; a slice is work without a pause for others.
            """, CommandOptions.clientNote,
        ],
        examples: ["brume explain --type Note --predicate 'title BEGINSWITH \"A\"'"],
        body: .asynchronous(runExplain))

    // MARK: Running

    private static func runQuery(_ invocation: Invocation) async throws -> ExitCode {
        let query = try query(invocation)
        let zoneID = try zoneID(invocation)
        let limit = try invocation.integer("limit", in: 1...Int(Int32.max)) ?? Limits.matchesPerPage
        let keys = invocation.texts("keys")
        let desiredKeys = keys.isEmpty ? nil : keys
        let printsAll = invocation.isOn("all")
        let database = try await ClientContext(invocation).database
        let style = Style.standardOutput(ProcessInfo.processInfo.environment)
        var count = 0
        // Pages of at most the server's size, so that no more is held than is printed at once.
        func pageLimit() -> Int {
            printsAll ? CKQueryOperation.maximumResults : min(limit - count, Limits.matchesPerPage)
        }
        var page = try await database.records(
            matching: query, inZoneWith: zoneID, desiredKeys: desiredKeys, resultsLimit: pageLimit())
        while true {
            for (_, result) in page.matchResults {
                let record = try result.get()
                Terminal.print(
                    invocation.isOn("json")
                        ? RecordText.json(record).line
                        : RecordText.text(record, style: style, showsZone: zoneID == nil))
            }
            count += page.matchResults.count
            guard let cursor = page.queryCursor else { break }
            guard printsAll || count < limit else {
                Terminal.printError("brume: there are more than these \(count); print them with --limit N or --all")
                break
            }
            page = try await database.records(
                continuingMatchFrom: cursor, desiredKeys: desiredKeys, resultsLimit: pageLimit())
        }
        if count == 0, !invocation.isOn("json") { Terminal.print("no record matches") }
        return .done
    }

    private static func runExplain(_ invocation: Invocation) async throws -> ExitCode {
        let query = try query(invocation)
        let zoneID = try zoneID(invocation)
        let limit = try invocation.integer("limit", in: 1...Int(Int32.max)) ?? Limits.matchesPerPage
        let database = try await ClientContext(invocation).database
        let plan = try await database.explain(query, inZoneWith: zoneID, resultsLimit: limit)
        Terminal.print(
            invocation.isOn("json")
                ? QueryPlanText.json(plan).line
                : QueryPlanText.text(plan, style: Style.standardOutput(ProcessInfo.processInfo.environment)))
        return .done
    }

    // MARK: Arguments

    private static func query(_ invocation: Invocation) throws -> CKQuery {
        guard let type = invocation.text("type") else {
            throw UsageError("\(invocation.command.name) needs --type TYPE", command: invocation.command)
        }
        if let problem = Names.problemWithRecordType(type) { throw CommandError(.usage, problem) }
        let predicate: BrumeKit.NSPredicate
        do throws(CKError) {
            predicate =
                try invocation.text("predicate").map { (text) throws(CKError) in
                    try BrumeKit.NSPredicate(validatingFormat: text)
                } ?? BrumeKit.NSPredicate(value: true)
        } catch {
            throw CommandError(.usage, error.localizedDescription)
        }
        let query = CKQuery(recordType: type, predicate: predicate)
        query.sortDescriptors = try invocation.texts("sort").map { try sortDescriptor($0, invocation) }
        // A query that the server doesn't support is a mistake in the command line, and is detected without a server.
        do throws(CKError) { _ = try query.translated() } catch {
            throw CommandError(.usage, error.localizedDescription)
        }
        return query
    }

    private static func sortDescriptor(_ text: String, _ invocation: Invocation) throws(UsageError)
        -> BrumeKit.NSSortDescriptor
    {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        if parts.count <= 2, ["asc", "desc"].contains(parts.count == 2 ? parts[1] : "asc") {
            return BrumeKit.NSSortDescriptor(key: parts[0], ascending: parts.last != "desc" || parts.count == 1)
        }
        guard parts.count == 3, let latitude = Double(parts[1]), let longitude = Double(parts[2]),
            (-90...90).contains(latitude), (-180...180).contains(longitude)
        else {
            throw UsageError(
                "--sort takes KEY, KEY:asc, KEY:desc or KEY:LATITUDE:LONGITUDE, not \"\(text)\"",
                command: invocation.command)
        }
        return CKLocationSortDescriptor(
            key: parts[0], relativeLocation: CLLocation(latitude: latitude, longitude: longitude))
    }

    private static func zoneID(_ invocation: Invocation) throws -> CKRecordZone.ID? {
        if let name = invocation.text("zone") { return try ClientContext.zoneID(name, invocation) }
        if invocation.text("owner") != nil {
            throw UsageError("--owner is the owner of a zone: name it with --zone", command: invocation.command)
        }
        return nil
    }
}
