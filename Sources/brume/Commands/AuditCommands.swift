internal import BrumeModel
internal import BrumeServer
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// `brume audit`: what operators did with a data folder.
enum AuditCommands {
    private static let actsMax = 100_000

    private static let note = """
        The log is in the folder audit of the data folder, readable by the server's user and root, and in each backup: \
        --data may name a backup that is a folder. It has what was done by these commands and to whom, who did it (a \
        process and its user, or the address of whoever had the operator's token) and how it ended; no tokens, addresses \
        or schemas. The newest 1 GiB is kept.
        """

    static let definitions = [
        CommandDefinition(
            ["audit", "list"], "list what operators did, the newest last",
            options: [
                OptionDefinition("limit", "N", "so many of the newest acts", fallback: "100"),
                OptionDefinition("since", "DATE", "acts from this day, or day and time, on, such as 2026-01-31"),
                CommandOptions.data, CommandOptions.json,
            ],
            notes: [note],
            examples: [
                "brume audit list --data ./brume-data",
                "brume audit list --since 2026-01-31T08:00:00Z --limit 1000 --json",
            ], body: .blocking(list)),
        CommandDefinition(
            ["audit", "verify"], "check that nothing of the audit log was changed, taken out or put in",
            options: [
                OptionDefinition(
                    "hash", "HASH", "the last entry's hash at an earlier time: it has to be in the log still"),
                CommandOptions.data, CommandOptions.json,
            ],
            notes: [
                """
                Each entry has the hash of the one before it. Whoever can write the folder can also write the whole log \
                anew, or cut its end: note the hash that this prints elsewhere, or send the server's log, which has that \
                of each act, to another machine, and give it with --hash later. What is wrong: exit code 7.
                """, note,
            ],
            examples: [
                "brume audit verify --data ./brume-data",
                "brume audit verify --hash 5b0b5377e8c60d185b0b5377e8c60d185b0b5377e8c60d185b0b5377e8c60d18",
            ], body: .blocking(verify)),
    ]

    /// What is known of an act.
    private struct Act {
        let number: UInt64
        let milliseconds: Int64
        let act, target, peer, request: String
        /// The number of the error that the operator got, 0 for an act that was done; nil where no end is noted.
        var error: Int?
    }

    // MARK: List

    private static func list(_ invocation: Invocation) throws -> ExitCode {
        let limit = try invocation.integer("limit", in: 1...actsMax)!
        let since = try since(invocation)
        var acts: [Act] = []
        let verification = try read(invocation) { entry, _ in
            switch entry.event {
            case .began(let act, let target, let peer, let request):
                guard entry.milliseconds >= since else { return }
                // Twice as many as are asked for at the most: none is moved more than once.
                if acts.count == 2 * limit { acts.removeFirst(limit) }
                acts.append(
                    Act(
                        number: entry.number, milliseconds: entry.milliseconds, act: act, target: target, peer: peer,
                        request: request))
            case .ended(let number, let error):
                guard let index = acts.lastIndex(where: { $0.number <= number }), acts[index].number == number else {
                    return
                }
                acts[index].error = error
            }
        }
        for act in acts.suffix(limit) { Terminal.print(invocation.isOn("json") ? json(act).line : text(act)) }
        if acts.isEmpty, !invocation.isOn("json") { Terminal.print("no act of an operator is noted") }
        if verification.problemCount > 0 {
            Terminal.printError("brume: the log is not what it was: brume audit verify says where")
        }
        return .done
    }

    private static func since(_ invocation: Invocation) throws -> Int64 {
        guard let text = invocation.text("since") else { return .min }
        guard let date = TypedValue.date(text), abs(date.timeIntervalSince1970) < 1e12 else {
            throw UsageError(
                "--since takes a day, or a day and a time, such as 2026-01-31 or 2026-01-31T08:00:00Z, not \"\(text)\"",
                command: invocation.command)
        }
        return Int64((date.timeIntervalSince1970 * 1000).rounded())
    }

    private static func text(_ act: Act) -> String {
        let outcome =
            switch act.error {
            case 0?: "done"
            case let error?: "error \(error)"
            case nil: "no end is noted"
            }
        let words = [
            date(act.milliseconds), act.act, act.target.printable(), "by \(act.peer.printable())", outcome,
            act.request.isEmpty ? "" : "request \(act.request.printable())",
        ]
        return words.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    private static func json(_ act: Act) -> JSONValue {
        .object([
            ("number", .integer(Int64(clamping: act.number))), ("date", .string(date(act.milliseconds))),
            ("act", .string(act.act)), ("target", .string(act.target)), ("peer", .string(act.peer)),
            ("request", .string(act.request)), ("error", act.error.map { .integer(Int64($0)) } ?? .null),
        ])
    }

    private static func date(_ milliseconds: Int64) -> String {
        TypedValue.text(of: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
    }

    // MARK: Verify

    private static func verify(_ invocation: Invocation) throws -> ExitCode {
        var hash: [UInt8]?
        if let text = invocation.text("hash") {
            hash = [UInt8](hexadecimal: text.lowercased())
            guard hash?.count == AuditEntry.noHash.count else {
                throw UsageError("--hash takes 64 hexadecimal digits", command: invocation.command)
            }
        }
        let verification = try read(invocation, expecting: hash)
        let isThere = hash == nil || verification.hasExpectedHash
        let isSound = verification.problemCount == 0 && isThere
        if invocation.isOn("json") {
            Terminal.print(json(verification, isThere: hash == nil ? nil : isThere).line)
            return isSound ? .done : .damaged
        }
        for problem in verification.problems { Terminal.print("\(problem)") }
        for place in verification.unfinished {
            Terminal.print("\(place): a crash came before its act, or its end was cut off")
        }
        if verification.problemCount > verification.problems.count {
            Terminal.print("and \(verification.problemCount - verification.problems.count) more")
        }
        if !isThere { Terminal.print("no entry has the hash \(hash!.hexadecimal): the log was cut, or written anew") }
        guard let numbers = verification.numbers else {
            Terminal.print("the log is empty: no act of an operator is noted")
            return isSound ? .done : .damaged
        }
        let range = "entries \(numbers.lowerBound) to \(numbers.upperBound)"
        Terminal.print(
            verification.problemCount == 0 ? "\(range) are as they were written" : "\(range) are not as they were")
        Terminal.print("the last one has the hash \(verification.lastHash.hexadecimal)")
        return isSound ? .done : .damaged
    }

    private static func json(_ verification: AuditVerification, isThere: Bool?) -> JSONValue {
        .object([
            ("sound", .bool(verification.problemCount == 0 && isThere != false)),
            ("first", verification.numbers.map { .integer(Int64(clamping: $0.lowerBound)) } ?? .null),
            ("last", verification.numbers.map { .integer(Int64(clamping: $0.upperBound)) } ?? .null),
            ("hash", .string(verification.lastHash.hexadecimal)),
            ("hashFound", isThere.map { .bool($0) } ?? .null),
            ("problemCount", .integer(Int64(verification.problemCount))),
            ("unfinished", .array(verification.unfinished.map { .string("\($0)") })),
            ("problems", .array(verification.problems.map { .string("\($0)") })),
        ])
    }

    // MARK: Reading

    private static func read(
        _ invocation: Invocation, expecting hash: [UInt8]? = nil,
        visit: (AuditEntry, _ hash: [UInt8]) -> Void = { _, _ in }
    ) throws -> AuditVerification {
        let folder = try invocation.required("data")
        try DataFolder.require(folder)
        do throws(DiskError) {
            return try AuditVerification(of: RealDisk(folder: folder), expecting: hash, visit: visit)
        } catch {
            throw CommandError(
                isForbidden: error.isForbidden, "the audit log of \(folder) can't be read: \(error)")
        }
    }
}
