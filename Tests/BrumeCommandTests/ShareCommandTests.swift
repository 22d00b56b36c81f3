internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("The executable shares", .serialized)
struct ShareCommandTests {
    private let server: ServerProcess

    init() throws {
        server = try ServerProcess.dev(folder: TestFolder())
        #expect(try server.run("zones", "create", "Lists").status == 0)
        #expect(try server.run("records", "save", "Lists", "list", "--type", "List", "title=Groceries").status == 0)
    }

    private func fails(_ code: ExitCode, _ words: String..., account: String = "a") throws {
        let run = try CommandRun(words, environment: server.environment(account: account), in: server.folder)
        #expect(run.status == code.rawValue && !run.errors.isEmpty, "\(words): \(run.output) \(run.errors)")
    }

    @Test("a record, shows, changes and ends its share, and opens its URL as another user")
    func record() throws {
        let created = try server.run("shares", "create", "Lists", "list", "--title", "Our list")
        #expect(created.status == 0, "\(created.errors)")
        let url = try #require(created.output.first)
        #expect(url.hasPrefix("https://") && url.hasSuffix("#Our%20list"))
        try fails(.conflict, "shares", "create", "Lists", "list")
        try fails(.notFound, "shares", "open", url, account: "b")

        let user = try #require(
            try server.run("records", "get", "default", "__defaultOwner__", "--json", account: "b").json()["name"]?.text
        )
        let added = try server.run(
            "shares", "add", "Lists", user, "bob@example.com", "+49 30 1234567", "anybody", "--record", "list",
            "--permission", "write")
        #expect(added.status == 0, "\(added.errors)")
        let share = try server.run("shares", "show", "Lists", "list", "--json").json()
        #expect(share["participants"]?.array?.count == 5 && share["record"]?.text == "list")
        let oneTime = try #require(share["participants"]?.array?.last?["oneTimeURL"]?.text)
        for opened in [url, oneTime] {
            let seen = try server.run("shares", "open", opened, "--json", account: "b").json()
            #expect(seen["title"]?.text == "Our list" && seen["record"]?.text == "list")
            #expect(seen["permission"]?.text == "write" && seen["role"]?.text == "invited user")
        }
        let read = try server.run(
            "shares", "add", "Lists", "bob@example.com", "--record", "list", "--permission", "read")
        #expect(read.status == 0 && read.output.contains { $0.contains("bob@example.com, may read") }, "\(read.output)")
        let removed = try server.run("shares", "remove", "Lists", user, "+49 30 1234567", "--record", "list")
        #expect(removed.status == 0 && !removed.output.contains { $0.contains("+49") }, "\(removed.errors)")
        let line = try #require(try server.run("shares", "list").output.first)
        #expect(line.contains("Lists/list") && line.contains("\"Our list\"") && line.contains("2 participants"))

        #expect(try server.run("shares", "delete", "Lists", "list").status == 0)
        #expect(try server.run("shares", "list").output.isEmpty)
        try fails(.notFound, "shares", "show", "Lists", "list")
        try fails(.notFound, "shares", "open", url)
    }

    @Test("and exports what is shared without the share")
    func export() throws {
        #expect(try server.run("shares", "create", "Lists", "list").status == 0)
        let file = server.folder.file("lists.jsonl")
        let exported = try server.run("export", file, "--zone", "Lists")
        #expect(
            exported.status == 0 && exported.output.contains { $0.hasPrefix("1 share left out") }, "\(exported.output)")
        let imported = try server.run("import", file, "--format", "brume", account: "b")
        #expect(imported.status == 0, "\(imported.errors)")
        let record = try server.run("records", "get", "Lists", "list", "--json", account: "b").json()
        #expect(record["fields"]?["title"]?.text == "Groceries")
    }

    @Test("a whole zone, and lets users ask")
    func zone() throws {
        let created = try server.run("shares", "create", "Lists", "--requests", "--json")
        #expect(created.status == 0, "\(created.errors)")
        let url = try #require(try created.json()["url"]?.text)
        let asked = try server.run("shares", "ask", url, account: "b")
        #expect(asked.status == 0, "\(asked.errors)")
        let share = try server.run("shares", "show", "Lists")
        #expect(share.output.contains { $0.hasPrefix("asks") }, "\(share.output)")
        #expect(try server.run("shares", "delete", "Lists").status == 0)
    }

    @Test("a whole zone, which another user accepts, changes and leaves")
    func participation() throws {
        let created = try server.run("shares", "create", "Lists", "--public", "write", "--json")
        let url = try #require(try created.json()["url"]?.text)
        try fails(.failed, "shares", "accept", url)
        let accepted = try server.run("shares", "accept", url, "--json", account: "b")
        #expect(accepted.status == 0, "\(accepted.errors)")
        let owner = try #require(try accepted.json()["owner"]?.text)
        #expect(try accepted.json()["zone"]?.text == "Lists" && accepted.json()["permission"]?.text == "write")
        let zones = try server.run("zones", "list", "--shared", account: "b").output
        #expect(zones.count == 1 && zones[0].hasPrefix("Lists  \(owner)"), "\(zones)")
        #expect(
            try server.run("changes", "--shared", account: "b").output.contains { $0.hasPrefix("+ Lists  \(owner)") })
        let saved = try server.run("records", "save", "Lists", "list", "title=Ours", "--owner", owner, account: "b")
        #expect(saved.status == 0, "\(saved.errors)")
        let seen = try server.run("records", "get", "Lists", "list", "--json").json()
        #expect(seen["fields"]?["title"]?.text == "Ours")
        let found = try server.run(
            "records", "query", "--type", "List", "--zone", "Lists", "--owner", owner, "--json", account: "b")
        #expect(try found.json()["owner"]?.text == owner, "\(found.errors)")
        let changes = try server.run("changes", "Lists", "--owner", owner, account: "b")
        #expect(changes.output.contains { $0.hasPrefix("+ list") }, "\(changes.errors)")
        for word in ["left Lists", "there was no shared zone Lists"] {
            let left = try server.run("shares", "leave", "Lists", "--owner", owner, account: "b")
            #expect(left.status == 0 && left.output == [word], "\(left.output) \(left.errors)")
        }
        #expect(try server.run("zones", "list", "--shared", account: "b").output.isEmpty)
        try fails(.notFound, "records", "get", "Lists", "list", "--owner", owner, account: "b")
        #expect(try server.run("records", "get", "Lists", "list").status == 0)
    }

    @Test("single records, which another user accepts, writes below and leaves one by one")
    func recordParticipation() throws {
        for words in [
            ["milk", "--type", "Item", "--parent", "list", "title=Milk"], ["books", "--type", "List", "title=Books"],
            ["atlas", "--type", "Item", "--parent", "books", "title=Atlas"], ["diary", "--type", "List", "title=Mine"],
        ] {
            let saved = try CommandRun(
                ["records", "save", "Lists"] + words, environment: server.environment(), in: server.folder)
            #expect(saved.status == 0, "\(saved.errors)")
        }
        var owner = ""
        for root in ["list", "books"] {
            let created = try server.run("shares", "create", "Lists", root, "--public", "write", "--title", root)
            let url = try #require(created.output.first)
            let accepted = try server.run("shares", "accept", url, "--json", account: "b")
            #expect(accepted.status == 0, "\(accepted.errors)")
            #expect(try accepted.json()["record"]?.text == root)
            owner = try #require(try accepted.json()["owner"]?.text)
            let again = try server.run("shares", "accept", url, account: "b")
            #expect(again.output.contains("record    \(root)"), "\(again.output)")
        }
        let listed = try server.run("shares", "list", "--shared", account: "b").output
        #expect(listed.count == 2 && listed[0].hasPrefix("Lists/books  \(owner)  \"books\""), "\(listed)")
        let named = try server.run("shares", "list", "Lists", "--owner", owner, "--json", account: "b").output
        #expect(named.count == 2 && named.allSatisfy { $0.contains("\"owner\":\"\(owner)\"") }, "\(named)")
        #expect(try server.run("zones", "list", "--shared", account: "b").output.count == 1)

        let changes = try server.run("changes", "Lists", "--owner", owner, "--all", account: "b").output
        let names = changes.filter { $0.hasPrefix("+ ") }.map { $0.split(separator: " ")[1] }
        #expect(Set(names).isSuperset(of: ["list", "milk", "books", "atlas"]) && names.count == 6, "\(changes)")
        let token = try #require(changes.last?.split(separator: " ").last.map(String.init))
        let seen = try server.run("records", "get", "Lists", "milk", "--owner", owner, "--json", account: "b")
        #expect(try seen.json()["parent"]?.text == "list", "\(seen.errors)")
        try fails(.notFound, "records", "get", "Lists", "diary", "--owner", owner, account: "b")
        let below = try server.run(
            "records", "save", "Lists", "tea", "--type", "Item", "--parent", "list", "title=Tea", "--owner", owner,
            account: "b")
        #expect(below.status == 0, "\(below.errors)")
        let stray = try server.run(
            "records", "save", "Lists", "stray", "--type", "Item", "--owner", owner, account: "b")
        #expect(stray.status == ExitCode.notPermitted.rawValue && stray.errors.contains("parent"), "\(stray.errors)")
        try fails(
            .notPermitted, "records", "save", "Lists", "milk", "--parent", "", "--owner", owner, account: "b")
        try fails(.notPermitted, "records", "delete", "Lists", "list", "--owner", owner, account: "b")
        let queried = try server.run(
            "records", "query", "--type", "List", "--zone", "Lists", "--owner", owner, "--json", account: "b"
        ).output
        #expect(queried.count == 2 && !queried.contains { $0.contains("diary") }, "\(queried)")

        try fails(.failed, "shares", "leave", "Lists", "milk", "--owner", owner, account: "b")
        let shown = try server.run("shares", "show", "Lists", "milk", "--owner", owner, account: "b")
        #expect(shown.errors.contains("milk is not shared by itself"), "\(shown.errors)")
        for words in ["left books", "there was no shared record books"] {
            let left = try server.run("shares", "leave", "Lists", "books", "--owner", owner, account: "b")
            #expect(left.status == 0 && left.output == [words], "\(left.output) \(left.errors)")
        }
        let gone = try server.run("changes", "Lists", "--owner", owner, "--since", token, account: "b")
        #expect(gone.status == 0 && gone.output.contains("- atlas  Item") && gone.output.contains("- books  List"))
        #expect(gone.output.contains { $0.hasPrefix("+ tea") }, "\(gone.output) \(gone.errors)")
        let before = try server.run("changes", "--shared", account: "b").output
        #expect(before.contains { $0.hasPrefix("+ Lists  \(owner)") }, "\(before)")
        let zones = try #require(before.last?.split(separator: " ").last.map(String.init))
        #expect(try server.run("shares", "leave", "Lists", "list", "--owner", owner, account: "b").status == 0)
        let after = try server.run("changes", "--shared", "--since", zones, account: "b").output
        #expect(after.contains("- Lists  \(owner)"), "\(after)")
        #expect(try server.run("shares", "list", "--shared", account: "b").output.isEmpty)
        #expect(try server.run("records", "get", "Lists", "list", "books", "tea").output.count >= 3)
    }

    @Test("what makes no sense is said to")
    func mistakes() throws {
        try fails(.usage, "shares", "create", "Lists", "list", "--public", "all")
        try fails(.notFound, "shares", "create", "Lists", "other")
        try fails(.usage, "shares", "open", "groceries")
        try fails(.notFound, "shares", "show", "Lists", "list")
        #expect(try server.run("shares", "create", "Lists", "list").status == 0)
        try fails(.usage, "shares", "add", "Lists", "bob", "--record", "list")
        try fails(.usage, "shares", "add", "Lists", "bob@example.com", "--record", "list", "--permission", "none")
        try fails(.failed, "shares", "remove", "Lists", "bob@example.com", "--record", "list")
    }
}
