internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Watching queries on the command line", .timeLimit(.minutes(3)))
struct WatchCommandTests {
    /// `brume watch`, which has begun.
    ///
    /// - Parameter mayDumpCore: Whether whoever starts it lets it write what it has in memory when it fails.
    private func watch(
        _ server: ServerProcess, account: String = "a", mayDumpCore: Bool = false, _ arguments: String...
    ) throws -> ChildProcess {
        let command = [CommandRun.executable, "watch", "--json"] + arguments
        let shell = ["/bin/sh", "-c", "ulimit -c $(ulimit -H -c) && exec \"$@\"", "sh"]
        let all = mayDumpCore ? shell + command : command
        let process = try ChildProcess(
            executable: all[0], arguments: Array(all.dropFirst()),
            environment: CommandRun.clean(server.environment(account: account)),
            errors: .file(server.folder.path + "/watch-\(UUID().uuidString).log"))
        let ready = process.output.readLine(timeoutMilliseconds: CommandRun.timeoutMilliseconds)
        #expect(ready == "{\"notification\":\"ready\"}")
        return process
    }

    private func next(_ watch: ChildProcess) throws -> JSONValue {
        try JSONParser.value(of: #require(watch.output.readLine(timeoutMilliseconds: CommandRun.timeoutMilliseconds)))
    }

    private func save(
        _ server: ServerProcess, _ name: String, _ fields: String..., account: String = "a", isPublic: Bool = false
    )
        throws
    {
        let run = try CommandRun(
            ["records", "save", "default", name, "--type", "Note"] + fields + (isPublic ? ["--public"] : []),
            environment: server.environment(account: account), in: server.folder)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("records that match are printed with the fields that were asked for, others are not")
    func predicate() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let watch = try watch(
            server, "--type", "Note", "--where", "pages > 10", "--fields", "title,pages", "--count", "2")
        try save(server, "thin", "title=thin", "pages:int64=3", "other=x")
        try save(server, "thick", "title=thick", "pages:int64=30", "other=x")
        let deleted = try server.run("records", "delete", "default", "thin", "thick")
        #expect(deleted.status == 0, "\(deleted.errors)")
        let created = try next(watch)
        #expect(created["notification"] == .string("recordCreated") && created["record"] == .string("thick"))
        #expect(created["zone"] == .string("_defaultZone") && created["database"] == .string("private"))
        #expect(created["subscription"] == .string("brume-watch-type-Note"))
        #expect(created["fields"] == .object([("pages", .integer(30)), ("title", .string("thick"))]), "\(created)")
        let gone = try next(watch)
        #expect(gone["notification"] == .string("recordDeleted") && gone["record"] == .string("thick"))
        #expect(gone["fields"] == nil)
        #expect(watch.wait() == 0)
    }

    @Test("another account's records of the public database are printed with --public")
    func publicDatabase() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let watch = try watch(
            server, "--public", "--type", "Note", "--where", "title BEGINSWITH 'news'", "--fields", "title", "--count",
            "1")
        try save(server, "private", "title=news of a", account: "b")
        try save(server, "dull", "title=dull", account: "b", isPublic: true)
        try save(server, "fresh", "title=news", account: "b", isPublic: true)
        let event = try next(watch)
        #expect(event["record"] == .string("fresh") && event["database"] == .string("public"), "\(event)")
        #expect(event["fields"] == .object([("title", .string("news"))]))
        #expect(watch.wait() == 0)
    }

    @Test("a command that may hold an account's keys leaves no core, whatever its shell allows")
    func coreDumps() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let watch = try watch(server, mayDumpCore: true, "--type", "Note", "--count", "1")
        let limits = try String(contentsOfFile: "/proc/\(watch.pid)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(line.split(separator: " ").dropFirst(4).first == "0", "\(line)")
        try save(server, "a")
        #expect(try next(watch)["record"] == .string("a") && watch.wait() == 0)
    }

    @Test("what an earlier command subscribed to is not printed")
    func ownSubscription() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        let first = try watch(server, "--type", "Note", "--count", "1")
        try save(server, "a")
        #expect(try next(first)["record"] == .string("a") && first.wait() == 0)
        try save(server, "b")
        let second = try watch(server, "--type", "Other", "--count", "1")
        try save(server, "c")
        let saved = try server.run("records", "save", "default", "other", "--type", "Other")
        #expect(saved.status == 0, "\(saved.errors)")
        #expect(try next(second)["record"] == .string("other"))
        #expect(second.wait() == 0)
    }

    @Test("a command is another device than an app with the same state folder, which hears of what it does")
    func device() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        try save(server, "a")
        let folder = server.folder.path + "/state-a"
        #expect(FileManager.default.fileExists(atPath: folder + "/commands/device-id"))
        #expect(!FileManager.default.fileExists(atPath: folder + "/device-id"))
    }

    @Test("what can't be watched is said before anything is watched, with what to do")
    func mistakes() throws {
        let server = try ServerProcess.dev(folder: TestFolder(), arguments: ["--strict"])
        func errors(_ arguments: String..., code: ExitCode = .usage) throws -> String {
            let run = try CommandRun(["watch"] + arguments, environment: server.environment(), in: server.folder)
            #expect(run.status == code.rawValue, "\(arguments): \(run.errors)")
            return run.errors
        }
        #expect(try errors("--where", "a = 1").contains("need --type"))
        #expect(try errors("--fields", "a").contains("need --type"))
        #expect(try errors("--type", "Note", "--where", "a = = 1").contains("--where can't be read"))
        #expect(try errors("--type", "1x", "--where", "a = 1").contains("record type"))
        #expect(try errors("--type", "Note", "--where", "a LIKE 'x*'").contains("LIKE"))
        #expect(try errors("--type", "Note", "--fields", "a,b,c,d").contains("limit is 3"))
        #expect(try errors("--type", "Note", "--fields", "a b").contains("a b"))
        #expect(try errors("--public").contains("--type"))
        #expect(try errors("--public", "--zone", "Notes").contains("--type"))
        #expect(try errors("--type", "Note", "--where", "a = 1 OR a = 2", code: .failed).contains("OR"))
    }

    @Test("that earlier changes are not kept is printed without a date, and counts as no change")
    func fetchFromToken() throws {
        let event = NotificationEvent(
            position: [], notificationID: "", subscriptionID: "", notificationInfo: nil,
            kind: .fetchFromToken(.private),
            committedMilliseconds: 0)
        #expect(!WatchCommand.isChange(event))
        #expect(WatchCommand.line(of: event, isJSON: true) == "{\"notification\":\"fetchFromToken\"}")
        #expect(WatchCommand.line(of: event, isJSON: false).hasPrefix("fetchFromToken  "))
        var change = event
        change.kind = .databaseChanged(.private)
        change.committedMilliseconds = 1_767_225_600_000
        #expect(WatchCommand.isChange(change))
        #expect(WatchCommand.line(of: change, isJSON: false).hasPrefix("2026-01-01T00:00:00"))
    }
}
