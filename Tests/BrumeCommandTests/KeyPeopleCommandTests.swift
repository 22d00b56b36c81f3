internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// The real executable as the devices of two accounts, a and b.
@Suite("Who has the keys of a share, on the command line", .serialized)
struct KeyPeopleCommandTests {
    private let server: ServerProcess
    private let owner: String
    private let guest: String

    /// a shares an encrypted record, and b has accepted without the keys in the URL.
    init() throws {
        let server = try ServerProcess.dev(folder: TestFolder())
        func user(_ account: String) throws -> String {
            let record = try server.run("records", "get", "default", "__defaultOwner__", "--json", account: account)
            return try #require(try record.json()["name"]?.text)
        }
        (self.server, owner, guest) = (server, try user("a"), try user("b"))
        for words in [
            ["zones", "create", "Lists"],
            ["records", "save", "Lists", "list", "--type", "List", "--encrypted", "text=secret"],
        ] { #expect(try run("a", words).status == 0) }
        let created = try run("a", ["shares", "create", "Lists", "list", "--public", "write"])
        let url = try #require(created.output.first)
        #expect(url.contains("#1."))
        for words in [["key", "code"], ["shares", "accept", String(url.prefix { $0 != "#" })]] {
            #expect(try run("b", words).status == 0)
        }
    }

    private func run(_ account: String, _ words: [String]) throws -> CommandRun {
        try CommandRun(words, environment: server.environment(account: account), in: server.folder)
    }

    private func fails(_ code: ExitCode, _ text: String, _ account: String, _ words: String...) throws {
        let run = try run(account, words)
        #expect(run.status == code.rawValue && run.errors.contains(text), "\(words): \(run.output) \(run.errors)")
        #expect(!run.errors.contains("CKContainer") && !run.errors.contains("CKDatabase"), "\(run.errors)")
    }

    @Test("is listed, and whoever waits without the whole URL gets the keys when a person says so")
    func give() throws {
        let listed = try run("a", ["key", "people", "Lists", "list"])
        #expect(listed.output.first == "\(guest)  waits, not seen before", "\(listed.output) \(listed.errors)")
        try fails(.usage, "--yes", "a", "key", "give", guest, "Lists", "list")
        try fails(.notFound, "key code", "a", "key", "give", "_nobody", "Lists", "list")
        let given = try run("a", ["key", "give", guest, "Lists", "list", "--yes"])
        #expect(given.status == 0 && given.output.first?.hasSuffix("now") == true, "\(given.errors)")
        #expect(try run("a", ["key", "give", guest, "Lists", "list"]).output.first?.contains("has the keys") == true)
        let record = try run("b", ["records", "get", "Lists", "list", "--owner", owner, "--json"]).json()
        #expect(record.line.contains("secret"), "\(record.line)")
        let after = try run("a", ["key", "people", "Lists", "list", "--json"]).json()
        #expect(after["waits"]?.line == "false" && after["standing"]?.text == "seen")
        let nobody = try run("a", ["key", "people", "Lists"])
        #expect(nobody.output.first?.hasPrefix("nobody:") == true, "\(nobody.output) \(nobody.errors)")
    }

    @Test("is compared by the number that both devices show")
    func compare() throws {
        let (ours, theirs) = (
            try run("a", ["key", "people", "Lists", "list", "--json"]).json(),
            try run("b", ["key", "people", "Lists", "list", "--owner", owner, "--json"]).json()
        )
        let number = try #require(theirs["safetyNumber"]?.text)
        #expect(ours["safetyNumber"]?.text == number && theirs["userRecordName"]?.text == owner)
        let wrong = String(number.reversed())
        try fails(.usage, "sixty digits", "a", "key", "compare", guest, "Lists", "list", "--number", "12345")
        try fails(.usage, "--number", "a", "key", "compare", guest, "Lists", "list")
        try fails(.failed, "another one here", "a", "key", "compare", guest, "Lists", "list", "--number", wrong)
        let compared = try run("a", ["key", "compare", guest, "Lists", "list", "--number", number])
        #expect(compared.status == 0, "\(compared.errors)")
        let after = try run("a", ["key", "people", "Lists", "list", "--json"]).json()
        #expect(after["standing"]?.text == "compared" && after["waits"]?.line == "true")
        // What b began anew is another user's until the new number is compared.
        #expect(try run("b", ["key", "reset", "--yes"]).status == 0)
        _ = try run("b", ["records", "get", "Lists", "list", "--owner", owner])
        let changed = try run("a", ["key", "people", "Lists", "list", "--json"]).json()
        #expect(changed["standing"]?.text == "changed", "\(changed.line)")
        try fails(.notPermitted, "brume key compare", "a", "key", "give", guest, "Lists", "list", "--yes")
        let next = try #require(changed["safetyNumber"]?.text)
        #expect(next != number)
        #expect(try run("a", ["key", "compare", guest, "Lists", "list", "--number", next]).status == 0)
        let given = try run("a", ["key", "give", guest, "Lists", "list", "--yes"])
        #expect(given.status == 0, "\(given.errors)")
    }

    @Test("is for the owner to decide, and of what is there")
    func refusals() throws {
        try fails(.notFound, "zone", "b", "key", "people", "Lists", "list")
        try fails(.notFound, "zone", "a", "key", "people", "Nowhere", "list")
        #expect(try run("a", ["key", "trust", "Lists", "list", "--yes"]).output.first?.hasPrefix("nothing") == true)
        let other = try run("b", ["key", "people", "Lists", "list", "--owner", owner])
        #expect(other.output.first?.hasPrefix(owner) == true, "\(other.output)")
        let guests = try run("b", ["key", "trust", "Lists", "list", "--owner", owner, "--yes", "--json"]).json()
        #expect(guests["owner"]?.text == owner && guests["accepted"]?.line == "false", "\(guests.line)")
    }

    @Test("read what is below a record that moves into a share once it was encrypted anew")
    func reencryption() throws {
        for words in [
            ["records", "save", "Lists", "board", "--type", "List", "--encrypted", "text=board"],
            ["records", "save", "Lists", "card", "--type", "List", "--parent", "board", "--encrypted", "text=card"],
            ["key", "give", guest, "Lists", "list", "--yes"],
            ["records", "save", "Lists", "board", "--parent", "list"],
        ] {
            let done = try run("a", words)
            #expect(done.status == 0, "\(words): \(done.errors)")
        }
        let first = try run("a", ["key", "reencrypt", "Lists", "--json"])
        #expect(
            first.status == 0 && first.output.first?.contains("\"left\":[]") == true, "\(first.output) \(first.errors)")
        let record = try run("b", ["records", "get", "Lists", "card", "--owner", owner, "--json"]).json()
        #expect(record.line.contains("card\"") && !record.line.contains("unreadable"), "\(record.line)")
        let second = try run("a", ["key", "reencrypt", "Lists"])
        #expect(second.output.first?.hasPrefix("nothing to do") == true, "\(second.output) \(second.errors)")
        try fails(.notFound, "zone", "a", "key", "reencrypt", "Nowhere")
        try fails(.usage, "ZONE", "a", "key", "reencrypt")
    }
}
