internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("The executable manages shares", .serialized)
struct ShareManagementCommandTests {
    private let server: ServerProcess
    private let url: String

    init() throws {
        server = try ServerProcess.dev(folder: TestFolder())
        #expect(try server.run("zones", "create", "Lists").status == 0)
        #expect(try server.run("records", "save", "Lists", "list", "--type", "List", "title=Groceries").status == 0)
        url = try #require(try server.run("shares", "create", "Lists", "list", "--title", "Our list").output.first)
    }

    private func user(_ account: String) throws -> String {
        try #require(
            try server.run("records", "get", "default", "__defaultOwner__", "--json", account: account)
                .json()["name"]?.text)
    }

    private func share(_ words: String..., account: String = "a", extra: [String: String] = [:]) throws -> CommandRun {
        let environment = try server.environment(account: account).merging(extra) { $1 }
        let run = try CommandRun(["shares"] + words, environment: environment, in: server.folder)
        #expect(run.status == 0, "\(words): \(run.errors)")
        return run
    }

    /// Fails with a code, and with words that help.
    private func fails(_ code: ExitCode, saying text: String, _ words: String..., account: String = "a") throws {
        let run = try CommandRun(
            ["shares"] + words, environment: server.environment(account: account), in: server.folder)
        #expect(run.status == code.rawValue && run.errors.contains(text), "\(words): \(run.output) \(run.errors)")
    }

    @Test("a change is of what is named alone, and shows the share")
    func change() throws {
        let requests = try share("change", "Lists", "list", "--requests", extra: ["BRUME_TITLE": "of another command"])
        #expect(requests.output.contains("title     Our list"), "\(requests.output)")
        #expect(requests.output.contains("requests  whoever has the URL may ask for access"))
        let titled = try share("change", "Lists", "list", "--title", "Shopping", "--json").json()
        #expect(titled["title"]?.text == "Shopping" && titled["allowsAccessRequests"] == .bool(true))
        #expect(titled["publicPermission"]?.text == "none" && titled["record"]?.text == "list")
        _ = try share("add", "Lists", "bob@example.com", "--record", "list")
        let open = try share("change", "Lists", "list", "--public", "read", "--no-requests", "--title", "").output
        #expect(open.contains("public    whoever has the URL may read"), "\(open)")
        #expect(!open.contains { $0.hasPrefix("title") || $0.hasPrefix("requests") || $0.contains("bob") }, "\(open)")
        let accepted = try share("accept", url, account: "b").output
        #expect(accepted.contains("you       may read"), "\(accepted)")
        // The share has one permission for all who came by its URL.
        let b = try user("b")
        try fails(
            .failed, saying: "brume shares change Lists list --public", "add", "Lists", b, "--record", "list",
            "--permission", "write")
        try fails(.failed, saying: "send them the URL", "add", "Lists", "c@example.com", "--record", "list")
        let closed = try share("change", "Lists", "list", "--public", "none").output
        #expect(closed.contains("public    only who is invited") && !closed.contains { $0.contains(b) }, "\(closed)")
    }

    @Test("a change that makes no sense is refused with what would")
    func mistakes() throws {
        try fails(.usage, saying: "name what to change", "change", "Lists", "list")
        try fails(.usage, saying: "not both", "change", "Lists", "list", "--requests", "--no-requests")
        try fails(.usage, saying: "none, read or write", "change", "Lists", "list", "--public", "all")
        try fails(.notFound, saying: "brume shares create Lists", "change", "Lists", "--title", "All")
        try fails(
            .usage, saying: "administrator or user", "add", "Lists", "x@example.com", "--record", "list", "--role",
            "owner")
        let b = try user("b")
        try fails(.failed, saying: "brume shares show Lists list", "block", "Lists", b, "--record", "list")
        try fails(.failed, saying: "is not blocked", "unblock", "Lists", b, "--record", "list")
        _ = try share("add", "Lists", b, "--record", "list")
        try fails(.failed, saying: "brume shares remove", "block", "Lists", b, "--record", "list")
    }

    @Test("an administrator changes the share of another user, and is a user again")
    func administrators() throws {
        let (a, b) = (try user("a"), try user("b"))
        let added = try share(
            "add", "Lists", b, "--record", "list", "--role", "administrator", "--permission", "write")
        #expect(added.output.contains("manages   \(b), may read and write, has not accepted"), "\(added.output)")
        try fails(
            .notFound, saying: "takes part in no such zone", "change", "Lists", "list", "--owner", a, "--title", "Mine",
            account: "b")
        _ = try share("accept", url, account: "b")
        let titled = try share("change", "Lists", "list", "--owner", a, "--title", "Ours", account: "b").output
        #expect(titled.contains("title     Ours"), "\(titled)")
        let invited = try share("add", "Lists", "c@example.com", "--record", "list", "--owner", a, account: "b").output
        #expect(invited.contains { $0.contains("c@example.com, may read, has not accepted") }, "\(invited)")
        // What is not named stays.
        let demoted = try share("add", "Lists", b, "--record", "list", "--role", "user").output
        #expect(demoted.contains { $0.hasPrefix("user      ") && $0.contains("may read and write") }, "\(demoted)")
        try fails(
            .notPermitted, saying: "only its owner and administrators", "change", "Lists", "list", "--owner", a,
            "--public", "write", account: "b")
        try fails(
            .notPermitted, saying: "only a share's owner and its administrators", "change", "Lists", "list", "--owner",
            a, "--title", "Mine", account: "b")
    }

    @Test("a user who asks is let in, or blocked until they are unblocked")
    func requests() throws {
        let b = try user("b")
        func asks() throws -> Bool {
            _ = try share("ask", url, account: "b")
            return try share("show", "Lists", "list").output.contains("asks      \(b)")
        }
        _ = try share("change", "Lists", "list", "--requests")
        #expect(try asks())
        let blocked = try share("block", "Lists", b, "--record", "list").output
        #expect(blocked.contains("blocked   \(b)") && !blocked.contains("asks      \(b)"), "\(blocked)")
        #expect(try share("block", "Lists", b, "--record", "list").output == blocked, "a second time changes nothing")
        #expect(try !asks())
        let unblocked = try share("unblock", "Lists", b, "--record", "list").output
        #expect(!unblocked.contains { $0.contains(b) }, "\(unblocked)")
        #expect(try asks())
        #expect(try !share("remove", "Lists", b, "--record", "list").output.contains { $0.contains(b) })
        #expect(try asks(), "who was denied once may ask again")
        let added = try share("add", "Lists", b, "--record", "list", "--permission", "write").output
        #expect(added.contains("user      \(b), may read and write, has not accepted"), "\(added)")
        #expect(!added.contains("asks      \(b)"))
        #expect(try share("accept", url, account: "b").output.contains("you       may read and write"))
    }

    @Test("the owner can't be invited, by whatever name")
    func owner() throws {
        for name in ["a@example.com", "A@Example.com", try user("a")] {
            try fails(
                .failed, saying: "a share's owner can't be invited", "add", "Lists", name, "--record", "list")
        }
        #expect(try share("show", "Lists", "list", "--json").json()["participants"]?.array?.count == 1)
    }
}
