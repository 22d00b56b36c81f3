internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

@Suite("Commands that share", .serialized)
struct ShareMessageTests {
    private let server: ServerProcess

    init() throws {
        server = try ServerProcess.dev(folder: TestFolder())
        #expect(try server.run("zones", "create", "Lists").status == 0)
        #expect(try server.run("records", "save", "Lists", "list", "--type", "List", "title=Groceries").status == 0)
    }

    private func user(_ account: String) throws -> String {
        let record = try server.run("records", "get", "default", "__defaultOwner__", "--json", account: account)
        return try #require(try record.json()["name"]?.text)
    }

    private func fails(_ code: ExitCode, _ sentence: String, _ words: String..., account: String = "a") throws {
        let run = try CommandRun(words, environment: server.environment(account: account), in: server.folder)
        #expect(run.status == code.rawValue && run.errors.contains(sentence), "\(words): \(run.output) \(run.errors)")
    }

    @Test("invite nobody to a share that whoever has its URL may come to")
    func publicShare() throws {
        #expect(try server.run("shares", "create", "Lists", "--public", "read").status == 0)
        let sentence = "whoever has the URL of this share may take part, so nobody is invited to it"
        try fails(.failed, sentence, "shares", "add", "Lists", "bob@example.com")
        try fails(.failed, "send them the URL: brume shares show Lists", "shares", "add", "Lists", "anybody")
        try fails(.conflict, "Lists is shared already", "shares", "create", "Lists")
        try fails(.conflict, "brume shares show Lists prints its URL", "shares", "create", "Lists")
    }

    @Test("say which zones are not shared, or not with the account")
    func notShared() throws {
        let user = try user("a")
        for words in [["show", "Lists"], ["delete", "Lists"], ["add", "Lists", "anybody"]] {
            let run = try CommandRun(["shares"] + words, environment: server.environment(), in: server.folder)
            #expect(run.status == ExitCode.notFound.rawValue)
            #expect(run.errors.contains("Lists is not shared as a whole"), "\(run.errors)")
            #expect(run.errors.contains("brume shares create Lists shares it"), "\(run.errors)")
        }
        let sentence = "the account takes part in no such zone"
        try fails(.notFound, sentence, "records", "get", "Lists", "list", "--owner", user, account: "b")
        try fails(.notFound, sentence, "changes", "Lists", "--owner", user, account: "b")
        try fails(.notFound, "brume zones list --shared", "shares", "show", "Lists", "--owner", user, account: "b")
        for words in [["changes", "Lists"], ["records", "get", "Lists", "list"], ["shares", "leave", "Lists"]] {
            let run = try CommandRun(
                words + ["--owner", user], environment: server.environment(), in: server.folder)
            #expect(run.status == ExitCode.usage.rawValue)
            #expect(run.errors.contains("that is you: leave --owner out"), "\(run.errors)")
        }
    }

    @Test("take invitations for anybody back, all or by their URLs")
    func anybody() throws {
        #expect(try server.run("shares", "create", "Lists").status == 0)
        #expect(
            try server.run("shares", "add", "Lists", "anybody", "anybody", "anybody", "bob@example.com").status == 0)
        func urls() throws -> [String] {
            let participants = try server.run("shares", "show", "Lists", "--json").json()["participants"]?.array ?? []
            return participants.compactMap { $0["oneTimeURL"]?.text }
        }
        let first = try #require(try urls().first)
        let changed = try server.run("shares", "add", "Lists", first, "--permission", "write")
        #expect(
            changed.output.contains { $0.contains("may read and write") && $0.contains(first) }, "\(changed.errors)")
        #expect(try server.run("shares", "remove", "Lists", first).status == 0)
        #expect(try urls().count == 2 && !urls().contains(first))
        try fails(.failed, "no participant of that name", "shares", "remove", "Lists", first)
        try fails(.failed, "no participant of that name", "shares", "add", "Lists", first)
        let removed = try server.run("shares", "remove", "Lists", "anybody")
        #expect(removed.status == 0 && removed.output.contains { $0.contains("bob@example.com") }, "\(removed.errors)")
        #expect(try urls().isEmpty)
        try fails(.failed, "no invitation for whoever comes first", "shares", "remove", "Lists", "anybody")
        try fails(
            .failed, "name them as `brume shares show` prints them", "shares", "remove", "Lists", "ada@example.com")
    }

    @Test("name users by their addresses and record names, and the account itself by its own")
    func names() throws {
        let (ownName, bob) = (try user("a"), try user("b"))
        let created = try server.run("shares", "create", "Lists", "--title", "", "--json")
        #expect(try created.json()["title"] == .null, "\(created.output) \(created.errors)")
        #expect(created.errors.isEmpty)
        let url = try #require(try created.json()["url"]?.text)
        let owner = try #require(try created.json()["participants"]?.array?.first)
        #expect(owner["user"]?.text == ownName && owner["userRecordName"]?.text == ownName && owner["email"] == .null)
        #expect(try server.run("shares", "open", url, "--json").json()["owner"]?.text == ownName)
        #expect(try server.run("shares", "add", "Lists", bob, "+49 30 1234567").status == 0)
        let shown = try server.run("shares", "show", "Lists")
        #expect(shown.output.contains("owner     you, may read and write"), "\(shown.output)")
        let json = try server.run("shares", "list", "--json").json()
        let participants = try #require(json["participants"]?.array)
        #expect(participants.contains { $0["user"]?.text == bob && $0["userRecordName"]?.text == bob })
        #expect(participants.contains { $0["phone"]?.text == "+49301234567" && $0["userRecordName"] == .null })
        #expect(try server.run("shares", "remove", "Lists", bob).status == 0)
        let email = try #require(server.ready["accounts"]?["b"]?["email"]?.text)
        #expect(try server.run("shares", "add", "Lists", email).status == 0)
        #expect(try server.run("shares", "accept", url, account: "b").status == 0)
        let accepted = try server.run("shares", "show", "Lists").output
        #expect(accepted.contains { $0.hasSuffix("\(email) (\(bob)), may read") }, "\(accepted)")
        let seen = try server.run("shares", "show", "Lists", "--owner", ownName, account: "b").output
        #expect(seen.contains { $0.hasSuffix("\(email) (you), may read") }, "\(seen)")
        #expect(try server.run("shares", "remove", "Lists", bob).status == 0)
        let zones = try server.run("zones", "list", "--json").json()
        #expect(zones["owner"]?.text == ownName)
    }

    @Test("make each change once others have made theirs")
    func atOnce() async throws {
        #expect(try server.run("shares", "create", "Lists").status == 0)
        // One of those who save at once succeeds, so that nobody needs more tries than there are users.
        let users = (0..<4).map { "user\($0)@example.com" }
        let (environment, folder) = (try server.environment(), server.folder)
        let runs = try await withThrowingTaskGroup(of: CommandRun.self) { group in
            for user in users {
                let environment = environment.merging(["BRUME_STATE": folder.file("state-\(user)")]) { $1 }
                group.addTask {
                    try CommandRun(["shares", "add", "Lists", user], environment: environment, in: folder)
                }
            }
            return try await group.reduce(into: [CommandRun]()) { $0.append($1) }
        }
        for run in runs { #expect(run.status == 0, "\(run.errors)") }
        let participants = try server.run("shares", "show", "Lists", "--json").json()["participants"]?.array ?? []
        #expect(Set(participants.compactMap { $0["email"]?.text }) == Set(users))
    }

    @Test("say what is no URL or permission")
    func sentences() throws {
        let created = try server.run("shares", "create", "Lists", "list")
        #expect(created.status == 0 && created.output.count == 1 && created.errors.isEmpty)
        try fails(.usage, "an empty text is no URL", "shares", "accept", "")
        try fails(.usage, "--permission is read or write", "shares", "add", "Lists", "anybody", "--permission", "all")
        try fails(.usage, "--public is none, read or write", "shares", "create", "Lists", "--public", "all")
        #expect(try server.run("shares", "leave", "--help").output.joined(separator: " ").contains("is no error"))
        #expect(try server.run("shares", "create", "--help").output.joined().contains("cloudkit.share"))
    }
}
